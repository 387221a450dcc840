"""Operators: what is written with signs alone, such as `:=`, `->` and `**`.

No word has them, so that they are terms of their own: two or three signs in a row. One alone says
next to nothing, and more are rulers, tables and the like.
"""

import re
from collections.abc import Collection, Iterator

MOST_OPERATORS = 4
"""That are looked for in the plain text of one query, the first ones."""

_SIGN = r"[!%&*+\-./:<=>?@^|~]"
_RUN = re.compile(rf"(?<!{_SIGN}){_SIGN}{{2,4}}(?!{_SIGN})")
_OF_WHAT_FOLLOWS = "-+*&!~.:?"
"""A sign behind an operator that may belong to what follows, or to the sentence: `a==-1`, `use ->.`
"""
_ASKED = re.compile(rf"(?P<operator>{_SIGN}{{2,3}}?)[.?!]*")
_AROUND = "`'\"()[]{},;"
"""May stand around an operator in a sentence, and is none."""
_PUNCTUATION = re.compile(r"--+|\.\.+|!!+|\?\?\?+|!\?|\?!")
"""What sentences have between their words: looked for in quotes alone."""
_MARK = re.compile(rf"{_SIGN}{{2,4}}")
_MIRRORED = str.maketrans("<>", "><")
_WORD = re.compile(r"[^\W_]+")


def operators_in(*texts: str) -> set[str]:
    """The operators that stand anywhere in the texts."""
    return {found for text in texts for run in _RUN.findall(text) for found in _said_by(run)}


def operator_places(text: str, wanted: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Where the text says one of these operators: it, its start and its end, in order."""
    for run in _RUN.finditer(text):
        for operator in _said_by(run[0]):
            if operator in wanted:
                yield operator, run.start(), run.start() + len(operator)
                break


def operator_of(text: str) -> str | None:
    """The operator that the text is, with nothing but blanks, quotes and a full stop around it."""
    bare = text.strip().strip(_AROUND)
    if len(set(bare)) == 1:
        return bare if len(bare) in (2, 3) else None
    said = _ASKED.fullmatch(bare)
    return said["operator"] if said else None


def asked_operators(text: str) -> tuple[str, ...]:
    """Those that stand alone in the plain text of a query: `what does := do`, not `a->b`."""
    words = (word for word in text.split() if not _PUNCTUATION.fullmatch(word.strip(_AROUND)))
    return tuple(dict.fromkeys(filter(None, map(operator_of, words))))[:MOST_OPERATORS]


def unframed(text: str) -> str:
    """The text without a comment's or a banner's marks around it: `/* … */`, `*** … ***`.

    They are no operators of it. `<< and >>` are: a single word between them is no comment.
    """
    bare = text.strip()
    first, last = (bare.split(maxsplit=1) or [""])[0], (bare.rsplit(maxsplit=1) or [""])[-1]
    inner = bare[len(first) : len(bare) - len(last)]
    return inner if _are_a_frame(first, last) and len(_WORD.findall(inner)) > 1 else text


def _are_a_frame(first: str, last: str) -> bool:
    """Whether the last mirrors the first, or the end of it: `/**` and `*/`."""
    if not (_MARK.fullmatch(first) and _MARK.fullmatch(last)):
        return False
    return (first, last) == ("<!--", "-->") or first[::-1].translate(_MIRRORED).endswith(last)


def _said_by(run: str) -> Iterator[str]:
    """The run itself, and what it is without a last sign that is none of it."""
    if len(run) <= 3:
        yield run
    if len(run) > 2 and run[-1] in _OF_WHAT_FOLLOWS and run[-1] != run[-2]:
        yield run[:-1]
