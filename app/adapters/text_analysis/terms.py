"""What a text is taken apart into: tokens, words, and the terms that an index holds of them."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from app.adapters.text_analysis.mixed_case_names import SPLIT_MARK, Name, name_mark, whole_mark

_VERSION = re.compile(r"v?\d+\.[\d.]+(?P<suffix>(?:a|b|c|rc|alpha|beta|dev|post)\d*)?")
"""A version number, as a word in one piece."""


class Token(NamedTuple):
    """A term and the characters that it stands for: `text[start:end]`."""

    term: str
    start: int
    end: int
    position: int
    """Counts parts; a whole has the position of its first part."""
    is_whole: bool = False
    """Whether it is an identifier in one piece, which is there besides its parts; or, in a script
    without spaces, a single character besides the pairs (bigrams)."""


Member = tuple[str, int, int]
"""A name in several parts between the dots of a longer one: folded, the number of its first part,
and the number after that of its last."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its parts stand side by side in the text, and all of it is one name."""

    parts: tuple[str, ...]
    """Stemmed terms in order; in a script without spaces, pairs of characters (bigrams)."""
    spans: tuple[tuple[int, int], ...]
    """Start and end of each part, counted from the start of the analysed text."""
    whole: str
    """The word in one piece, folded but not stemmed; empty if it has no such form."""
    stem: str
    """The whole, stemmed: the term for the word written in lower case."""
    is_compound: bool = False
    """Whether the whole says more than the parts, as in `getUserName`, `.NET` or `__slots__`."""
    singles: tuple[tuple[str, int, int], ...] = ()
    """In a script without spaces, the single characters with their spans."""
    names: tuple[Name, ...] = ()
    """Names in mixed case: `JavaScript`, also within `JavaScript-based`; none in `java_script` or
    `Java8`."""
    switch: str = ""
    """The word as it is written, if one minus stands before it: `-m` in `python -m venv`, which is
    another than `-M`."""
    signed: tuple[tuple[str, int], ...] = ()
    """Parts of a longer name that are names by their signs, as written, each with the number of the
    part: `__dict__` in `self.__dict__`."""
    has_apostrophe: bool = False
    """Whether an apostrophe stands within the word, as in `don't`; that of a genitive does not
    count."""
    members: tuple[Member, ...] = ()
    """Names within a dotted one: `task_always_eager` in `app.conf.task_always_eager`, as most texts
    say it."""
    edge: str = ""
    """For a word at the edge of a phrase that may begin or end within a text without spaces: an
    expression that matches the parts which the word stands for there."""

    @property
    def names_within(self) -> Iterator[Name]:
        """Names in mixed case that are only a part of the word: `GitHub` of `GitHub-hosted`."""
        return (name for name in self.names if name.whole and name.whole != self.whole)

    @property
    def is_switch(self) -> bool:
        """Whether one minus stands before it."""
        return bool(self.switch)

    @property
    def has_signs(self) -> bool:
        """Whether only signs make a name of the word: `__slots__`, `--reload`."""
        return has_signs(self.whole)

    @property
    def version(self) -> tuple[str, ...]:
        """The parts of a version number, without a leading v; empty for other words.

        Its parts only count side by side: a text with a 1, a 2 and a 3 need not say 2.1.3. Words
        such as `1.5-inch` and `3.8-3.12`, which have lost their hyphen in the whole, are no
        versions: their parts count one by one.
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
        """A version in one piece, without and with a leading v."""
        bare = self.whole.removeprefix("v")
        return bare, f"v{bare}"

    def is_half_of(self, part: str) -> bool:
        """Whether the word is an open edge of a phrase that matches this part of a text."""
        return bool(self.edge) and re.fullmatch(self.edge, part) is not None


Phrase = tuple[Word, ...]
"""Words that stand side by side, at least one."""


def has_signs(whole: str) -> bool:
    """Whether signs make a name of a word in one piece."""
    return whole.startswith(("_", "-"))


def needs_signs(phrase: Sequence[Word]) -> bool:
    """Whether the phrase is one word that must be found with its signs."""
    return len(phrase) == 1 and phrase[0].has_signs


class IndexTerms(NamedTuple):
    """The terms of a text, as they are indexed."""

    parts: list[str]
    """In the order of the text."""
    wholes: list[str]
    """Identifiers in one piece, and single characters of scripts without spaces."""
    splits: list[str]
    """`whole=part=part` for each compound: tells a query how a name may be taken apart."""
    names: list[str]
    """Names as a whole: `email=` for `e-mail`; stemmed, `=javascript` for `JavaScript`."""
    within: list[str]
    """The parts of names in mixed case and of switches, once for each time that they occur."""


TokenValues = tuple[str, int, int, int, bool]
"""The fields of a Token, in order."""


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
