"""Marks of emphasis are not written where they would look like what is written beside them."""

import time

import pytest

from app.adapters.loading.web_page import read_page
from tests.processor_speed import is_within


def markdown(body):
    return read_page(f"<body>{body}</body>", "http://h/x").markdown


SIGNATURE = """<dl class="py"><dt class="sig sig-object py" id="run"><em class="property"><span
class="k">class</span><span class="w"> </span></em><span class="sig-name">run</span><span
class="sig-paren">(</span><em class="sig-param"><span class="o">*</span><span
class="n">args</span></em>, <em class="sig-param">key='a_b'</em>, <em class="sig-param">**kwargs</em
><span class="sig-paren">)</span> → int</dt><dd>Runs <em>all</em>.</dd></dl>"""


def test_a_signature_is_written_as_code_has_it():
    read = markdown(SIGNATURE)
    assert read == "class run(*args, key='a_b', **kwargs) → int\n:   Runs *all*."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<em>*args</em> and <strong>**kw</strong>", "*args and **kw"),
        ("<b>Name*</b> <i>a <b>2 * 3</b></i>", "Name* a 2 * 3"),
        ("<strong><span>*</span>x</strong>", "*x"),
        ("<b>bold <i>and more</i></b>", "**bold *and more***"),
        ("<del>a * b</del> <code>*args</code>", "~~a * b~~ `*args`"),
    ],
    ids=["arguments", "nested", "in parts", "without", "other marks"],
)
def test_emphasis_of_a_text_with_an_asterisk_has_no_marks(body, expected):
    assert markdown(f"<p>{body}</p>") == expected


@pytest.mark.parametrize("inner", ["<b>*</b>", "<hr>", "<b class=sig>x</b>"])
def test_emphasis_around_very_many_elements_is_read_in_good_time(inner):
    page = "<i class=sig><b>" * 45 + inner * 5_000
    started = time.process_time()
    markdown(page)
    assert is_within(2, started)  # not where each looks at all that is in it
