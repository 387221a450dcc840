"""What text is taken apart into: tokens and words, and the terms that an index holds of them."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from app.adapters.lexical_index.names import SPLIT_MARK, Name, name_mark, whole_mark

_VERSION = re.compile(r"v?\d+\.[\d.]+(?P<suffix>(?:a|b|c|rc|alpha|beta|dev|post)\d*)?")
"""Of a word in one piece."""


class Token(NamedTuple):
    """A term and the characters that it stands for: `text[start:end]`."""

    term: str
    start: int
    end: int
    position: int
    """Counts the parts; a whole has the position of its first part."""
    is_whole: bool = False
    """An identifier in one piece (or a single character of a script without spaces), beside its
    parts (or pairs)."""


Member = tuple[str, int, int]
"""A name in several parts between the dots of a longer one, folded, its first part, and the one
after its last."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its parts stand side by side in the text, and all of it is one name."""

    parts: tuple[str, ...]
    """Stemmed terms in order; for a script without spaces, the pairs of characters."""
    spans: tuple[tuple[int, int], ...]
    """Where each part stands, counted from the start of what was analysed."""
    whole: str
    """The word in one piece, folded but not stemmed; empty where there is no such thing."""
    stem: str
    """The whole, stemmed: the term that it would be if it were written in lower case."""
    is_compound: bool = False
    """Whether the whole says more than the parts, as in `getUserName`, `.NET` or `__slots__`."""
    singles: tuple[tuple[str, int, int], ...] = ()
    """The single characters of a stretch without spaces, with their spans."""
    names: tuple[Name, ...] = ()
    """`JavaScript` alone and in `JavaScript-based`; none in `java_script` or `Java8`."""
    switch: str = ""
    """As it is written, where one minus stands before it: `-m` in `python -m venv`, which is not
    `-M`."""
    signed: tuple[tuple[str, int], ...] = ()
    """Parts that signs make names of within a longer one, as they are written, each with its
    number: `__dict__` in `self.__dict__`."""
    has_apostrophe: bool = False
    """Whether one stands within it, as in `don't`; that of a genitive is none of it."""
    members: tuple[Member, ...] = ()
    """`task_always_eager` in `app.conf.task_always_eager`: texts mostly say it alone."""
    edge: str = ""
    """At the edge of a phrase that may begin or end within a text without spaces: an expression
    for the parts that it stands for there."""

    @property
    def names_within(self) -> Iterator[Name]:
        """Names in mixed case that the word is longer than: `GitHub` of `GitHub-hosted`."""
        return (name for name in self.names if name.whole and name.whole != self.whole)

    @property
    def is_switch(self) -> bool:
        """Whether one minus stands before it."""
        return bool(self.switch)

    @property
    def has_signs(self) -> bool:
        """Whether the whole differs from the only part by signs: `__slots__`, `--reload`."""
        return has_signs(self.whole)

    @property
    def version(self) -> tuple[str, ...]:
        """The parts of a number with dots, without a v before it; none for other words.

        They say little apart: 2.1.3 is not where there is a 1, a 2 and a 3. `1.5-inch` and
        `3.8-3.12`, whose whole has lost the hyphen, say something apart.
        """
        said = _VERSION.fullmatch(self.whole)
        if said is None:
            return ()
        parts = self.parts[1:] if self.parts[0] == "v" else self.parts
        numbers = len(list(itertools.takewhile(str.isdecimal, parts)))
        lost = 1 if said["suffix"] else 0  # 2.1.0rc1 in one piece is 2.10rc1
        return parts if said[0].count(".") >= numbers - 1 - lost else ()

    @property
    def version_wholes(self) -> tuple[str, str]:
        """A version in one piece, as it is written without and with a v."""
        bare = self.whole.removeprefix("v")
        return bare, f"v{bare}"

    def is_half_of(self, part: str) -> bool:
        """Whether the word is an open edge, and this part of a text begins or ends it."""
        return bool(self.edge) and re.fullmatch(self.edge, part) is not None


Phrase = tuple[Word, ...]
"""Words that stand side by side, at least one."""


def has_signs(whole: str) -> bool:
    """Whether a word in one piece is a name by its signs."""
    return whole.startswith(("_", "-"))


def needs_signs(phrase: Sequence[Word]) -> bool:
    """Whether it is one word that is no longer said where its signs are missing."""
    return len(phrase) == 1 and phrase[0].has_signs


class IndexTerms(NamedTuple):
    """The terms of a text, as an index takes them."""

    parts: list[str]
    """In the order of the text."""
    wholes: list[str]
    """Identifiers in one piece, and single characters of scripts without spaces."""
    splits: list[str]
    """`whole=part=part` for each compound: lets a query learn how a name is taken apart."""
    names: list[str]
    """What names say as a whole: `email=` for `e-mail`; stemmed, `=javascript` for `JavaScript`."""
    within: list[str]
    """The parts of names in mixed case and of switches, as often as they stand there."""


TokenValues = tuple[str, int, int, int, bool]
"""What a Token is made of, in its order."""


class StretchTerms(NamedTuple):
    """What is kept of a stretch of text that was analysed.

    Plain tuples of text and numbers: the collector of cyclic garbage looks at them once. At objects
    such as Tokens it looks again and again, and held up every thread for 0.15 s at 140,000 of them.
    """

    tokens: tuple[TokenValues, ...]
    parts: tuple[str, ...]
    wholes: tuple[str, ...]
    splits: tuple[str, ...]
    names: tuple[str, ...]
    within: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[Word]) -> Self:
        """Those of neighbouring words."""
        compounds = [word for word in words if word.is_compound]
        return cls(
            tuple(_tokens(words)),
            tuple(part for word in words for part in word.parts),
            tuple(word.whole for word in compounds)
            + tuple(name for word in words for name, _ in word.signed)
            + tuple(word.switch for word in words if word.is_switch)
            + tuple(single for word in words for single, _, _ in word.singles),
            tuple(SPLIT_MARK.join((word.whole, *word.parts)) for word in compounds)
            + tuple(
                SPLIT_MARK.join((name.whole, *word.parts[name.first : name.end]))
                for word in words
                for name in word.names_within
            ),
            tuple(name for word in words for name in _said_as_a_whole(word)),
            tuple(part for word in words for part in _within(word)),
        )


def _within(word: Word) -> Iterator[str]:
    if word.is_switch:
        yield from word.parts
        return
    for name in word.names:
        yield from word.parts[name.first : name.end]


def _said_as_a_whole(word: Word) -> Iterator[str]:
    if word.is_switch:
        return
    stems = [name.stem for name in word.names if name.stem]
    if word.is_compound and word.stem not in stems:
        yield whole_mark(word.whole)
    yield from (whole_mark(name) for name, _ in word.signed)
    yield from map(name_mark, stems)


def _tokens(words: Sequence[Word]) -> Iterator[TokenValues]:
    """The tokens of neighbouring words, counted from the first: by their start, longest first."""
    position = 0
    for word in words:
        if word.is_compound:
            yield word.whole, word.spans[0][0], word.spans[-1][1], position, True
        if word.is_switch:
            yield word.switch, word.spans[0][0], word.spans[-1][1], position, True
        signed = {number: name for name, number in word.signed}
        within = {name.first: name for name in word.names_within}
        for number, (part, (start, end)) in enumerate(zip(word.parts, word.spans, strict=True)):
            if number in signed:
                yield signed[number], start, end, position, True
            if name := within.get(number):
                yield name.whole, start, word.spans[name.end - 1][1], position, True
            yield part, start, end, position, False
            for single in word.singles[number : number + 1]:
                yield *single, position, True
            position += 1
        for single in word.singles[len(word.parts) :]:
            yield *single, position - 1, True
