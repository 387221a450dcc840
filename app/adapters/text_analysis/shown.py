"""What a reader sees of a text with markup, where a phrase in quotes counts as well.

Markup within a line parts words that stand side by side for a reader: the address of a link, the
tags of HTML, the roles of reStructuredText and MyST. The words themselves are looked for as they
are written.
"""

import re

from app.adapters.splitting.markup import Markup, suffixes_of
from app.adapters.splitting.plain_headings import plain_heading
from app.adapters.text_analysis.symbols import FENCED_SUFFIXES

REST_SUFFIXES = suffixes_of(Markup.RESTRUCTUREDTEXT)
EITHER_SUFFIXES = suffixes_of(Markup.UNTOLD)
"""Of plain text, which may be Markdown or reStructuredText: it is read as both."""

MOST_CHARACTERS = 4_000
"""Of a paragraph: some of the expressions take quadratic time. A longer one is as it is written."""

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_MARKUP = re.compile(r"\][(\[_]|\[\[[^\[\]|\n]+\||\[\^|</?[A-Za-z]|&#?\w+;|`[_:]|[:}]`|\w\*+\w")
"""What begins, or ends, whatever is left out or glued together. To look for it takes little."""


def shown_paragraphs(text: str, path: str) -> list[str]:
    """The paragraphs that a reader sees otherwise than they are written, each on one line.

    `path` is the key of the document, which tells how it is marked up. Code has none.
    """
    is_rest = path.lower().endswith(REST_SUFFIXES)
    if not (is_rest or "://" in path or path.lower().endswith(FENCED_SUFFIXES)):
        return []
    readings = (False, True) if path.lower().endswith(EITHER_SUFFIXES) else (is_rest,)
    return [
        shown
        for paragraph in _PARAGRAPH_END.split(text)
        if len(paragraph) <= MOST_CHARACTERS and _MARKUP.search(paragraph)
        for shown in dict.fromkeys(plain_heading(paragraph, is_rest=way) for way in readings)
    ]
