"""The lines of a text that are not blank, cut out of it only when they are looked at."""

from array import array

import numpy as np
import numpy.typing as npt

from app.adapters.splitting.boundaries import LineMap


class Lines:
    """Lines that are not blank, counted from 0; what lies between two of them is blank."""

    def __init__(self, text: str, lines: LineMap) -> None:
        self._text = text
        numbers: npt.NDArray[np.int64] = np.flatnonzero(~lines.blank_lines)
        self._starts = lines.line_starts[numbers]
        self._ends = lines.line_ends[numbers]
        # To ask an array of numpy for one number takes five times as long.
        self._start_at = array("q", self._starts.astype(np.int64).tobytes())
        self._end_at = array("q", self._ends.astype(np.int64).tobytes())
        self._count = len(numbers)
        self._read, self._line = -1, ""  # the line last read: several rules ask for each
        self._follows = (np.diff(numbers, prepend=-2) == 1).tobytes()

    def __len__(self) -> int:
        return self._count

    def start(self, index: int) -> int:
        """Where the line begins in the text; for the index after the last line, the text's end."""
        return self._start_at[index] if index < self._count else len(self._text)

    def end(self, index: int) -> int:
        """Where the line ends in the text, before its line break."""
        return self._end_at[index]

    def next_starts(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each position, where the next line begins that is not blank, else the text's end."""
        starts = np.append(self._starts, len(self._text))
        return starts[np.minimum(np.searchsorted(starts, positions), len(self))]

    def within(self, start: int, end: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where the lines of this stretch of whole lines begin and end."""
        first, last = np.searchsorted(self._starts, (start, end))
        return self._starts[first:last], self._ends[first:last]

    def below(self, start: int) -> str:
        """The line below the one that begins here."""
        return self.text(int(np.searchsorted(self._starts, start)) + 1)

    def text(self, index: int) -> str:
        """The line without its line break; past the last line, nothing."""
        if index >= self._count:
            return ""
        if index != self._read:
            self._read, self._line = index, self._text[self._start_at[index] : self._end_at[index]]
        return self._line

    def follows(self, index: int) -> bool:
        """Whether the line stands right below the one before it, with no blank line between."""
        return index < self._count and self._follows[index] == 1

    def is_right_above_text(self, end: int) -> bool:
        """Whether a line stands right below the one that ends here, with no blank line between."""
        return self.follows(int(np.searchsorted(self._starts, end)))

    def indent(self, index: int) -> int:
        """Characters of white space at the left of the line."""
        text = self.text(index)
        return len(text) - len(text.lstrip())

    def deeper_end(self, index: int) -> int:
        """The index after the lines right below this one that are indented deeper."""
        indent = self.indent(index)
        end = index + 1
        while end < len(self) and self.indent(end) > indent:
            end += 1
        return end
