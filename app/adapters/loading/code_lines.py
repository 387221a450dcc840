"""Counts the lines of code while it is read, and tells the numbers that stand before them."""

import re

LINE_ELEMENTS = {"div", "li", "tr"}
"""Of which each is a line, if it is in code."""

NUMBER_AT_END = re.compile(r"(?:.*[^0-9])?(?P<number>[0-9]{1,7})", re.DOTALL)
"""Of an address within the page: `#12`, `#L12`, `#line-12`."""

LONGEST_ADDRESS = 100


class CodeLines:
    """The lines of one piece of code, counted from its first text."""

    def __init__(self) -> None:
        self._line = 1
        self._has_text = False
        """Whether there is any on this line."""
        self._is_begun = False
        self._expected: str | None = ""
        """The number that is being read; None for any."""

    def break_line(self) -> None:
        """An element ends the line."""
        self._line += self._is_begun
        self._has_text = False

    def begins(self, tag: str) -> None:
        """An element begins in the code."""
        if tag in LINE_ELEMENTS and self._has_text:
            self.break_line()

    def take(self, text: str) -> None:
        """Text follows in the code."""
        if not self._is_begun:
            text = text.lstrip()
        if text:
            self._is_begun = True
            self._line += text.count("\n")
            last = text.rpartition("\n")
            self._has_text = bool(last[2].strip()) or (self._has_text and not last[1])

    def may_be_number(self, tag: str, given: dict[str, str]) -> bool:
        """Whether the element that begins here says that it holds the number of its line.

        That is a link or an anchor to this line, or what is not to be quoted, as rustdoc has it.
        """
        if self._has_text:
            return False
        number = str(self._line)
        is_linked = tag == "a" and number in {
            _number(given.get(name, "")) for name in ("id", "href")
        }
        is_unquoted = "data-nosnippet" in given
        self._expected = None if is_unquoted else number
        return is_unquoted or is_linked or given.get("id") == number

    def is_number(self, text: str) -> bool:
        """Whether all the text of such an element is the number of its line, and left out."""
        shown = text.strip()
        is_number = shown == self._expected or (self._expected is None and shown.isdigit())
        if is_number:
            self._has_text = False
        return is_number


def _number(address: str) -> str | None:
    found = NUMBER_AT_END.fullmatch(address[-LONGEST_ADDRESS:])
    return found["number"] if found else None
