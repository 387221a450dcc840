"""Knows the lines of Markdown that are HTML as it stands: comments, preformatted text, scripts."""

import re

_OPENING = re.compile(r" {0,3}<(?:!--|(?:pre|script|style|textarea)(?=[ \t>]|$))", re.IGNORECASE)
_CLOSING_TAG = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_COMMENT_OPENING = "<!--"
COMMENT_CLOSING = re.compile("-->")


def html_closing(line: str) -> re.Pattern[str] | None:
    """What ends the HTML that begins with this line, on it or below; None when none begins.

    CommonMark's HTML blocks of the kinds 1 and 2: whatever stands in them, blank lines and what
    looks like headings or fences, is text. One that nothing closes reaches to the text's end there,
    and here if it is a comment: a `<script>` that nothing closes is a sentence about scripts.
    """
    opening = _OPENING.match(line)
    if opening is None:
        return None
    return COMMENT_CLOSING if opening[0].endswith(_COMMENT_OPENING) else _CLOSING_TAG
