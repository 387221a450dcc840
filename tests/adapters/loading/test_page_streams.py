"""Parts of a page that come behind it are read where they belong."""

from app.adapters.loading.page_streams import with_streams_in_place
from app.adapters.loading.web_page import read_page

PAGE = (
    "<main><h1>Guide</h1><p>Read on.</p>"
    '<!--$?--><template id="B:0"></template><p>Loading</p><!--/$--><p>The end.</p></main>'
)
SEGMENT = '<div hidden id="S:0"><p>Late words.</p></div><script>$RC("B:0","S:0")</script>'
NESTED = (
    '<div hidden id="S:0"><!--$--><p>Late</p><template id="P:1"></template><p>Last.</p>'
    '<!--/$--></div><script>$RC=function(b){if(0<b)b()};$RC("B:0","S:0")</script>'
    '<div hidden id="S:1"><div>words.</div></div><script>$RS("S:1","P:1")</script>'
)


def markdown(page: str) -> str:
    return read_page(page, "https://example.org/").markdown


def test_what_react_streams_stands_where_its_script_puts_it():
    assert markdown(PAGE + SEGMENT) == "# Guide\n\nRead on.\n\nLate words.\n\nThe end."


def test_what_is_streamed_into_what_was_streamed_is_read_too():
    assert markdown(PAGE + NESTED) == "# Guide\n\nRead on.\n\nLate\n\nwords.\n\nLast.\n\nThe end."


def test_a_stream_without_its_script_or_its_place_changes_nothing():
    for page in (
        PAGE + '<div hidden id="S:0"><p>Late words.</p></div>',
        PAGE + SEGMENT.replace("B:0", "B:1"),
        f"<main><p>No place.</p></main>{SEGMENT}",
        SEGMENT.replace("<p>", '<template id="B:0"></template><p>'),
    ):
        assert with_streams_in_place(page) == page


def test_of_many_streams_none_is_lost():
    many = "".join(SEGMENT.replace(":0", f":{n:x}") for n in range(3000))
    places = "".join(f'<template id="B:{n:x}"></template>' for n in range(3000))
    filled = with_streams_in_place(places + many)
    assert filled.count("Late words.") == 3000
    unfinished = '<div hidden id="S:0">' * 200_000
    assert with_streams_in_place(unfinished) == unfinished
