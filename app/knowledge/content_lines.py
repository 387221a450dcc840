r"""Finds the lines of a stored text as chunks count them: \n, \r\n and \r end a line."""

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str) -> list[str]:
    """The lines in order, each with its line break; joined, they are the text again."""
    return _LINE.findall(text)


def count_line_ends(text: str) -> int:
    """How many lines end within the text."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def without_line_break(text: str) -> str:
    """The text without the line break at its end, if it has one."""
    return text.removesuffix("\n").removesuffix("\r")


def line_start(text: str, position: int) -> int:
    """Where the line begins that holds the character at the position."""
    if text[position - 1 : position + 1] == "\r\n":
        position -= 1  # both end the same line
    after_feed = text.rfind("\n", 0, position) + 1
    return max(after_feed, text.rfind("\r", after_feed, position) + 1)


def line_end(text: str, position: int) -> int:
    """Where the line ends, before its line break, that holds the character at the position."""
    if position > 0 and text[position - 1 : position + 1] == "\r\n":
        return position - 1
    feed = text.find("\n", position)
    limit = len(text) if feed < 0 else feed
    carriage_return = text.find("\r", position, limit)
    return limit if carriage_return < 0 else carriage_return
