"""Puts parts of a page that React sends behind it where its scripts would move them."""

import re

MOST_SEGMENTS = 1000
"""What is moved of one page; the rest stays where it is, hidden."""

MOST_OF_STAND_IN = 20_000
"""How many characters of what is shown meanwhile are taken out."""

SEGMENT = re.compile(r'<div hidden(?:="")? id="(?P<name>[\w:-]{0,40}S:[0-9a-f]{1,8})">')
PLACE = re.compile(r'<template id="(?P<name>[\w:-]{0,40}[BP]:[0-9a-f]{1,8})"></template>')
BOUNDARY_END = "<!--/$-->"
BOUNDARY_START = "<!--$"


def with_streams_in_place(page: str) -> str:
    """The page as it is once its scripts have run; what stood there meanwhile is gone.

    React writes `<template id="B:0"></template>` where something is still to come, later the
    something in `<div hidden id="S:0">`, and then a script that calls `$RC("B:0","S:0")`.
    """
    if not SEGMENT.search(page):
        return page
    places = {found["name"] for found in PLACE.finditer(page)}
    contents: dict[str, str] = {}
    rest: list[str] = []
    at = 0
    while len(contents) < MOST_SEGMENTS and (segment := SEGMENT.search(page, at)):
        call = _call_for(segment["name"]).search(page, segment.end())
        if call is None:
            break  # nor is a later one looked for to the end of the page
        script = page.rfind("<script", segment.end(), call.start())
        end = page.rfind("</div>", segment.end(), script) if script >= 0 else -1
        place = call["boundary"] or call["place"]
        if end < 0 or place not in places:
            rest.append(page[at : call.end()])
        else:
            places.remove(place)
            contents[place] = page[segment.end() : end]
            rest += [page[at : segment.start()], page[end:script].removeprefix("</div>")]
            rest.append(page[script : call.end()])
        at = call.end()
    filled = _filled("".join(rest) + page[at:], contents)
    return page if contents else filled  # some stand only in themselves


def _call_for(segment: str) -> re.Pattern[str]:
    name = re.escape(segment)
    return re.compile(
        rf'\$RC\("(?P<boundary>[^"<>]{{1,60}})","{name}"|\$RS\("{name}","(?P<place>[^"<>]{{1,60}})"'
    )


def _filled(page: str, contents: dict[str, str]) -> str:
    """The page with each content in its place, in which there may be places, too.

    What has found its place is no longer among `contents`.
    """
    written: list[str] = []
    waiting = [(page, 0)]
    while waiting:
        text, at = waiting.pop()
        place = PLACE.search(text, at)
        if place is None:
            written.append(text[at:])
            continue
        written.append(text[at : place.start()])
        content = contents.pop(place["name"], None)
        if content is None:
            written.append(place[0])
            waiting.append((text, place.end()))
            continue
        waiting += [(text, _end_of_stand_in(text, place)), (content, 0)]
    return "".join(written)


def _end_of_stand_in(text: str, place: re.Match[str]) -> int:
    """Where that ends which is shown until the content is there, if it is nothing but that."""
    start = place.end()
    end = text.find(BOUNDARY_END, start, start + MOST_OF_STAND_IN)
    is_boundary = "B:" in place["name"] and end >= 0
    return end if is_boundary and text.find(BOUNDARY_START, start, end) < 0 else start
