"""Recognises Chinese, Japanese and Korean in encodings of two bytes a character."""

from collections import Counter
from dataclasses import dataclass

LEAST_SHARE = 0.15
"""How many of a text's letters beyond ASCII must be common ones of the language. Measured on 300
translations of documentation, and on 300 to 32,000 bytes of each: read in its own encoding a text
has 0.25 or more nineteen times in twenty, in another one of these 0.12 at most; texts in other
alphabets have next to none."""

LEAST_COMMON = 5
"""Of fewer such letters, the share says little."""

MOST_BROKEN = 0.1
"""Of the letters: one byte too few spoils its line up to the next character of ASCII."""


@dataclass(frozen=True)
class _Language:
    common: frozenset[str]
    encodings: tuple[str, ...]


LANGUAGES = (
    _Language(frozenset(map(chr, range(0x3041, 0x3097))), ("cp932", "euc_jp")),  # Hiragana
    _Language(
        frozenset(
            "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之"
            "年过发后作里用行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心"
            "本前开但因只从想实"
        ),
        ("gb18030",),
    ),
    _Language(
        frozenset(
            "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之"
            "年過發後作裡用行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心"
            "本前開但因只從想實"
        ),
        ("big5hkscs",),
    ),
    _Language(
        frozenset(
            "이다는을의에가고하지로를기사한은어서도자리대니인시나해정일수있그으부스아장들라전여만제용게구보"
            "원과주상면당"
        ),
        ("cp949",),
    ),
)


def east_asian_encoding(sample: bytes) -> str | None:
    """The encoding in which a sample is surely Chinese, Japanese or Korean; None if it is not.

    A few bytes may be no characters of it: the sample may end within one, or be damaged.
    """
    shares = {
        encoding: _share(sample, encoding, language.common)
        for language in LANGUAGES
        for encoding in language.encodings
    }
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= LEAST_SHARE else None


def _share(sample: bytes, encoding: str, common: frozenset[str]) -> float:
    """How many of the letters beyond ASCII are common ones; 0 where that says nothing."""
    counts = Counter(sample.decode(encoding, "replace"))
    broken = counts.pop("\ufffd", 0)
    letters = sum(n for char, n in counts.items() if char.isalpha() and not char.isascii())
    known = sum(counts[char] for char in common)
    if known < LEAST_COMMON or broken > MOST_BROKEN * letters:
        return 0
    return known / letters
