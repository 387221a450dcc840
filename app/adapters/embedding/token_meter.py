"""Counts text in the tokens of the embedding model."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

PIECE_CHARACTERS = 65_536
"""Text is tokenised in pieces of about this size: 10 MB at once takes over a gigabyte."""

LEAST_KNOWN = 0.25
"""The share of known tokens below which a text is not read. Texts of unknown tokens alone have
cosines of 0.9 to 1.0 to each other, whatever they say, with all-MiniLM-L6-v2; with one known token
of five it is still 0.57, with one of three 0.51, and ordinary questions come to 0.5 as well."""


def load_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer of one's own from a verified `tokenizer.json`, without truncation or padding."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced by `?`, so that UTF-8 can hold it.

    Characters keep their places.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class TokenizerMeter:
    """A TokenMeter over a tokenizer that nobody else uses. Safe for many threads.

    `max_tokens` is what is left of the model's window beside its special tokens and the prefix.
    """

    def __init__(self, tokenizer: Tokenizer, *, window_tokens: int, prefix: str = "") -> None:
        self._tokenizer = tokenizer
        unknown = getattr(tokenizer.model, "unk_token", None)
        self._unknown_id = None if unknown is None else tokenizer.token_to_id(unknown)
        taken = tokenizer.num_special_tokens_to_add(is_pair=False)
        self.max_tokens = max(window_tokens - taken - (self.count(prefix) if prefix else 0), 1)

    def count(self, text: str) -> int:
        """Tokens of the text, special tokens not counted."""
        readable = well_formed(text)
        return sum(
            len(self._tokenizer.encode(readable[start:end], add_special_tokens=False))
            for start, end in _pieces(readable)
        )

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        """Character spans of the text's tokens in order, shape (n, 2), in the text as given."""
        readable = well_formed(text)
        parts = [np.empty((0, 2), np.int64)]
        for start, end in _pieces(readable):
            encoding = self._tokenizer.encode(readable[start:end], add_special_tokens=False)
            if offsets := encoding.offsets:
                parts.append(np.array(offsets, np.int64) + start)
        return np.concatenate(parts)

    def reads(self, text: str) -> bool:
        """Whether the model knows enough of the text's tokens; also of a text without any.

        Characters that its vocabulary lacks are all one token, and so is a word of more than 100.
        Known signs, such as quotes and question marks, do not count: they tell nothing.
        """
        readable = well_formed(text)
        encoding = self._tokenizer.encode(readable, add_special_tokens=False)
        unknown = encoding.ids.count(self._unknown_id) if self._unknown_id is not None else 0
        if not unknown:
            return True
        known = sum(
            token != self._unknown_id and any(map(str.isalnum, readable[start:end]))
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        )
        return known >= LEAST_KNOWN * (known + unknown)

    def windows(self, text: str) -> list[str]:
        """The text cut into consecutive stretches that each fit the model; at least one."""
        spans = self.spans(text)
        if len(spans) <= self.max_tokens:
            return [text]
        firsts = range(0, len(spans), self.max_tokens)
        cuts = [0, *(int(spans[first, 0]) for first in firsts[1:]), len(text)]
        return [text[start:end] for start, end in pairwise(cuts)]


def _pieces(text: str) -> list[tuple[int, int]]:
    """Stretches of bounded size, cut where no token is: before a line, else at a space.

    A run of PIECE_CHARACTERS without either is cut anyway, which can add a few tokens.
    """
    pieces = []
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        limit = start + PIECE_CHARACTERS
        cut = text.rfind("\n", start + 1, limit)
        if cut < 0:
            cut = text.rfind(" ", start + 1, limit)
        end = cut if cut > 0 else limit
        pieces.append((start, end))
        start = end
    pieces.append((start, len(text)))
    return pieces
