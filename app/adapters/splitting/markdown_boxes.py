"""Recognises where Markdown opens a note or the like, which may begin with a heading of its own."""

import re

from app.adapters.splitting.html_headings import names_a_box

_MOST_CHARACTERS = 300
_OPENING = re.compile(
    r"[ \t]*(?:"
    r":{3,}[ \t]*(?:\{[ \t]*(?:#[^\s{}]+[ \t]+)?\.?)?"
    r"|/{3}[ \t]+"
    r"|\{%-?[ \t]*(?=[^%{}]*%\}[ \t]*$)"
    r"|<(?=[\w-]+[\s>])(?=[^<>]*(?<!/)>[ \t]*$)"
    r")(?P<name>[A-Za-z][\w-]*)"
)
"""Between colons as Pandoc, Quarto, MyST, Docusaurus and VitePress write boxes, between slashes as
PyMdown does, as a tag of GitBook, or as a component of MDX; with nothing behind it on its line. An
address between the angle brackets, as in `<info@example.com>`, is no component."""
_MORE_NAMES = {"aside", "danger", "hint", "info", "success"}


def opens_box(line: str) -> bool:
    """Whether a note begins with this line and goes on below it: its title heads nothing else."""
    opening = _OPENING.match(line) if len(line) <= _MOST_CHARACTERS else None
    if opening is None:
        return False
    return opening["name"].lower() in _MORE_NAMES or names_a_box(opening["name"])
