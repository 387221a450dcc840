"""Tells from a document's name in which markup language its text is written."""

from enum import Enum, auto
from pathlib import PurePosixPath


class TextLanguage(Enum):
    """What the marks in a text mean."""

    MARKDOWN = auto()
    RESTRUCTUREDTEXT = auto()
    UNTOLD = auto()
    """One of these, or AsciiDoc: the text itself has to tell."""


def language_of(name: str) -> TextLanguage:
    """The language of a document of this path or address; Markdown where that says nothing.

    Plain text may be any of them. So may a page whose address ends like such a file's: it is the
    file, or what a host shows of it, which was made Markdown.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".rst" and "://" not in name:
        return TextLanguage.RESTRUCTUREDTEXT
    return TextLanguage.UNTOLD if suffix in {".rst", ".txt"} else TextLanguage.MARKDOWN
