"""Tells from a document's name in which markup language its text is written."""

from enum import Enum, auto
from pathlib import PurePosixPath


class TextLanguage(Enum):
    """What the marks in a text mean."""

    MARKDOWN = auto()
    RESTRUCTUREDTEXT = auto()
    NONE = auto()
    """There are none: the text is code."""
    UNTOLD = auto()
    """One of these, or AsciiDoc: the text itself has to tell."""


CODE_NAMES = {"cmakelists.txt"}
"""Of files that are code though they are named as plain text is."""


def language_of(name: str) -> TextLanguage:
    """The language of a document of this path or address; Markdown where that says nothing.

    Plain text may be any of them. So may a page whose address ends like such a file's: it is the
    file, or what a host shows of it, which was made Markdown.
    """
    path = PurePosixPath(name.lower())
    is_address = "://" in name
    if path.name in CODE_NAMES and not is_address:
        return TextLanguage.NONE
    if path.suffix == ".rst" and not is_address:
        return TextLanguage.RESTRUCTUREDTEXT
    return TextLanguage.UNTOLD if path.suffix in {".rst", ".txt"} else TextLanguage.MARKDOWN
