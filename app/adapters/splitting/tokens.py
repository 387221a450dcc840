"""Counts the tokens of any stretch of a document without measuring each stretch anew."""

import numpy as np
import numpy.typing as npt

from app.protocols import TokenMeter

PIECE_CHARACTERS = 65_536
"""A tokenizer takes some 170 bytes of memory per character; so it is given the text in pieces."""

SEAM_DOUBT_TOKENS = 4
"""Tokenizers that join a space to the word after it may count a slice a little differently."""


class TokenRuler:
    """Tells the tokens of any slice of one document, which is measured as a whole only once.

    A slice between two seams (whitespace on either side of the cut, or an end of the text) has
    the tokens that it has within the whole. A slice that cuts a word may have many more: BERT's
    word pieces turn a word of over 100 characters into one token, its halves into dozens.
    """

    def __init__(
        self,
        text: str,
        spaces: npt.NDArray[np.bool_],
        meter: TokenMeter,
        max_tokens: int,
        chunk_size: int,
    ) -> None:
        self._text = text
        self._spaces = spaces
        self._meter = meter
        self._max_tokens = max_tokens
        # A piece that ends within a word is longer than any chunk, so that no chunk between two
        # seams can reach across its end.
        self._starts = self._measure(max(PIECE_CHARACTERS, 2 * chunk_size))

    def counts_fit(
        self, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Whether each of these stretches fits the window, as counted within the whole text."""
        counts = np.searchsorted(self._starts, ends) - np.searchsorted(self._starts, starts)
        fit: npt.NDArray[np.bool_] = counts <= self._max_tokens
        return fit

    def reach(self, start: int) -> int:
        """The furthest end of a chunk from `start`, as counted within the whole text."""
        beyond = int(np.searchsorted(self._starts, start)) + self._max_tokens
        return int(self._starts[beyond]) if beyond < len(self._starts) else len(self._text)

    def fitting_end(self, start: int, end: int) -> int:
        """`end` when the slice fits the window by itself; else where the part of it ends that fits.

        That part, cut off, may have more tokens than within the slice: measure it again.
        """
        if self._is_seam(start) and self._is_seam(end):
            estimate = np.searchsorted(self._starts, end) - np.searchsorted(self._starts, start)
            if estimate + SEAM_DOUBT_TOKENS <= self._max_tokens:
                return end
        content = self._text[start:end]
        if self._meter.count(content) <= self._max_tokens:
            return end
        fitting = start + int(self._meter.spans(content)[self._max_tokens][0])
        return min(fitting, end - 1)

    def _is_seam(self, position: int) -> bool:
        if position in (0, len(self._text)):
            return True
        return bool(self._spaces[position - 1] or self._spaces[position])

    def _measure(self, piece_characters: int) -> npt.NDArray[np.int64]:
        length = len(self._text)
        parts: list[npt.NDArray[np.int64]] = []
        first = 0
        while first < length:
            last = min(first + piece_characters, length)
            if last < length:
                gaps = np.flatnonzero(self._spaces[first:last])
                last = first + int(gaps[-1]) + 1 if len(gaps) else last
            spans = self._meter.spans(self._text[first:last])
            parts.append(spans[:, 0] + first)
            first = last
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
