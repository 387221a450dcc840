"""Documents that are numbered: the terms that the key of one gives, and those a query asks for.

People say a number as they speak, file names say it as it sorts: `PEP 8` and `pep8` are
`peps/pep-0008.rst`, `RFC 2616` is `rfc2616.txt`, `ADR 12` is `adr/0012-one-queue.md`. What is
written in one piece in both, as `oauth2` is, is a word like others and names nothing.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Set

import regex

from app.accents import composed
from app.adapters.text_analysis.analyser import Analyser, fold
from app.adapters.text_analysis.path_tails import ENDING, MOST_CHARACTERS, MOST_PATHS, AskedPath

APART = "#"
"""Between word and number in the term for those who write them apart."""
JOINED = "##"
"""The same for those who write them in one piece."""

_WORD = r"(?<![\p{L}\p{M}\p{N}]|\p{L}['\u2019])(?P<word>\p{L}[\p{L}\p{M}]{0,31})"
"""Not the end of another one, as in `it's 5`."""
_NUMBER = r"0*(?P<number>\d{1,9}(?:\.\d{1,9}){0,3})"
_END = r"(?![\p{L}\p{M}\p{N}])"
_NO_DATE = rf"(?!(?:19|20)\d\d[-_]\d{{1,2}}{_END}|\d{{1,2}}[-_.]\d{{1,2}}[-_.](?:19|20)\d\d{_END})"
_NUMBER_IN_NAME = rf"{_NO_DATE}{_NUMBER}{_END}(?!\.\d)"
_IN_NAME = regex.compile(rf"{_WORD}(?P<apart>[-_ .]?){_NUMBER_IN_NAME}")
_AT_START = regex.compile(_NUMBER_IN_NAME)
_AT_END = regex.compile(_WORD + "$")
_ASKED_NUMBER = _NUMBER + r"(?!\.?\w|[-\u2013/:]\d|,\d{3}(?!\d))"
"""No range, path, time or thousands."""
_IN_QUERY = regex.compile(rf"{_WORD}(?P<apart>[-_ ]?#?| no\.? ?){_ASKED_NUMBER}", regex.IGNORECASE)
_ANOTHER = regex.compile(
    rf"(?:,? (?:and|or|&|und|oder|et|ou|y|o) |, )#?{_ASKED_NUMBER}", regex.IGNORECASE
)
"""Behind a number: another one of the same word, as in `PEPs 484, 526 and 612`."""


def numbered_names(key: str) -> list[str]:
    """The terms for the key of a document: each word with a number in the name of its file.

    A number that the name begins with belongs to the last word of its folder's name.
    """
    *folders, name = composed(key[-MOST_CHARACTERS:]).rstrip("/").split("/")
    stem = ENDING.sub("", name)
    said = _IN_NAME.finditer(stem, concurrent=False)
    found = [(match["word"], match["number"], match["apart"]) for match in said]
    number = _AT_START.match(stem)
    word = _AT_END.search(folders[-1]) if folders else None
    if number and word:
        found.append((word["word"], number["number"], "/"))
    terms = (
        _term(word, number, between)
        for word, number, apart in found
        for between in ([APART, JOINED] if apart else [APART])
    )
    return list(filter(None, dict.fromkeys(terms)))


def asked_numbers(
    stretches: Iterable[str], analyser: Analyser, idle: Set[str]
) -> tuple[AskedPath, ...]:
    """The numbered documents that the plain text of a query names, the first ones.

    `stretches` of it do not stand side by side; words that are `idle` name nothing: `of 3`.
    """
    asked: dict[str, AskedPath] = {}
    for stretch in stretches:
        if not any(map(str.isdigit, stretch)):
            continue
        text = composed(" ".join(stretch.split()))
        for said, word, number, between in _said_numbers(text):
            words = tuple(analyser.words(said))
            term = _term(word, number, between)
            if not words or not term or fold(word) in idle:
                continue
            asked.setdefault(term, AskedPath((term,), words))
            if len(asked) == MOST_PATHS:
                return tuple(asked.values())
    return tuple(asked.values())


# Inside ----------------------------------------------------------------------------------------


def _said_numbers(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Each number of a query: how it and its word are said, both alone, and what joins them."""
    for match in _IN_QUERY.finditer(text, concurrent=False):
        word = match["word"]
        yield match[0], word, match["number"], APART if match["apart"] else JOINED
        another = _ANOTHER.match(text, match.end(), concurrent=False)
        while another:
            yield f"{word} {another['number']}", word, another["number"], APART
            another = _ANOTHER.match(text, another.end(), concurrent=False)


def _term(word: str, number: str, between: str) -> str:
    """Without the ending of a plural, as folders are called, and in Western digits.

    Empty for digits that `regex` knows and Python does not: it follows a later Unicode.
    """
    signs = [sign if sign == "." else unicodedata.decimal(sign, None) for sign in number]
    if None in signs:
        return ""
    first, *others = "".join(map(str, signs)).split(".")
    folded = fold(word)
    return (folded.removesuffix("s") or folded) + between + ".".join((str(int(first)), *others))
