"""How many tokens a text has, for those who read results and contexts."""

import re
from collections.abc import Iterator

import regex

from app.protocols import TokenMeter

CHARACTERS_PER_TOKEN = 4
"""Roughly, in English text."""

LONGEST_KNOWN_WORD = 100
"""WordPiece makes one unknown token of a longer word (the default of BERT's tokenizer), such as an
encoded key or a sentence in Thai, of which the models that read contexts make hundreds."""

_WORD = regex.compile(r"[^\s\p{P}$+<=>^`|~\p{Han}]+")
"""A word as WordPiece splits text: at white space, punctuation and Chinese characters, but not at
marks, emoji or invisible characters."""

_CLOSE_SCRIPTS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\uac00-\ud7ff"  # Hangul
    "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+"  # Chinese, kana, signs
)
"""Scripts in which a character is about a token."""


def token_count(text: str, meter: TokenMeter | None) -> int:
    """The tokens of the text; an estimate if the model's tokenizer is not known.

    A word that is too long for the tokenizer has at least as many as it would have in English.
    """
    if meter is None:
        return _estimate(text)
    unknown = sum(max(_at_least(len(word)) - meter.count(word), 0) for word in _long_words(text))
    return meter.count(text) + unknown


def _long_words(text: str) -> Iterator[str]:
    """The words too long for WordPiece; split at spaces first, as few are long."""
    for stretch in text.split():
        if len(stretch) > LONGEST_KNOWN_WORD:
            words = _WORD.findall(stretch, concurrent=False)
            yield from (word for word in words if len(word) > LONGEST_KNOWN_WORD)


def _at_least(characters: int) -> int:
    """The tokens of so many characters of English."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def _estimate(text: str) -> int:
    """An estimate of the text's tokens, for a model whose tokenizer only its endpoint has."""
    if text.isascii():
        return _at_least(len(text))
    close = sum(map(len, _CLOSE_SCRIPTS.findall(text)))
    return close + _at_least(len(text) - close)
