"""Lets a phrase begin or end within CJK text: `2024年` stands in `2024年の報告`.

CJK is held in pairs of neighbouring characters. One that stands alone at the edge of a phrase,
beside a digit or a space, is half of a pair where the text goes on.
"""

import dataclasses
import re

import regex

from app.adapters.text_analysis.terms import Phrase, Word

_CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\u30fc]")
_MARKS = "\u0300-\u036f\u3099\u309a"
"""What NFKC leaves behind a character of CJK."""


def with_open_edges(phrase: Phrase) -> Phrase:
    """The phrase, at whose edges single characters of CJK are half of a pair, too.

    Not beside the same character: 京 after 東京 would be found in 東京都, whose pairs overlap.
    """
    if len(phrase) < 2:
        return phrase
    first, last = phrase[0], phrase[-1]
    if _stands_alone(first) and first.whole != _characters(phrase[1])[0]:
        first = dataclasses.replace(first, edge=f"(.[{_MARKS}]*)?{first.whole}")
    if _stands_alone(last) and last.whole != _characters(phrase[-2])[-1]:
        last = dataclasses.replace(last, edge=f"{last.whole}([^{_MARKS}].*)?")
    return (first, *phrase[1:-1], last)


def patterns_of(terms: tuple[str, ...], phrase: Phrase, mark: str) -> tuple[str, ...]:
    """Expressions for the terms of a phrase; empty unless it has an open edge."""
    start, end = phrase[0].edge, phrase[-1].edge
    if not (start or end):
        return ()
    patterns = [re.escape(term) for term in terms]
    if start:
        patterns[0] = re.escape(mark) + start
    if end:
        patterns[-1] = re.escape(mark) + end
    return tuple(patterns)


def _stands_alone(word: Word) -> bool:
    return len(word.singles) == 1 and _CJK.match(word.whole, concurrent=False) is not None


def _characters(word: Word) -> list[str]:
    return [character for character, _, _ in word.singles] or [""]
