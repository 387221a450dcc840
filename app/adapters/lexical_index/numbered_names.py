"""Documents that are numbered: the terms that the key of one gives, and those a query asks for.

People say a number as they speak, file names say it as it sorts: `PEP 8` and `pep8` are
`peps/pep-0008.rst`, `RFC 2616` is `rfc2616.txt`, `ADR 12` is `adr/0012-one-queue.md`. What is
written in one piece in both, as `oauth2` is, is a word like others and names nothing.
"""

import re
import unicodedata
from itertools import islice

from app.adapters.lexical_index.analysis import Analyser, fold
from app.adapters.lexical_index.path_tails import ENDING, MOST_CHARACTERS, MOST_PATHS, AskedPath

APART = "#"
"""Between word and number in the term for those who write them apart."""
JOINED = "##"
"""The same for those who write them in one piece."""

_WORD = r"(?<![^\W_])(?P<word>[^\W\d_]{1,32})"
_NUMBER = r"0*(?P<number>\d{1,9}(?:\.\d{1,9}){0,3})"
_NO_DATE = r"(?![^\W_]|[-_.]\d)"
_IN_NAME = re.compile(rf"{_WORD}(?P<apart>[-_ .]?){_NUMBER}{_NO_DATE}")
_AT_START = re.compile(_NUMBER + _NO_DATE)
_AT_END = re.compile(_WORD + "$")
_IN_QUERY = re.compile(
    rf"{_WORD}(?P<apart>[-_ ]?#?| no\.? ?){_NUMBER}(?!\.?\w|[-/]\d)", re.IGNORECASE
)


def numbered_names(key: str) -> list[str]:
    """The terms for the key of a document: each word with a number in the name of its file.

    A number that the name begins with belongs to the last word of its folder's name.
    """
    *folders, name = _composed(key[-MOST_CHARACTERS:]).rstrip("/").split("/")
    stem = ENDING.sub("", name)
    found = [(match["word"], match["number"], match["apart"]) for match in _IN_NAME.finditer(stem)]
    number = _AT_START.match(stem)
    word = _AT_END.search(folders[-1]) if folders else None
    if number and word:
        found.append((word["word"], number["number"], "/"))
    terms = (
        _term(word, number, between)
        for word, number, apart in found
        for between in ([APART, JOINED] if apart else [APART])
    )
    return list(dict.fromkeys(terms))


def asked_numbers(text: str, analyser: Analyser) -> tuple[AskedPath, ...]:
    """The numbered documents that the plain text of a query names, the first ones."""
    if not any(map(str.isdigit, text)):
        return ()
    asked: dict[str, AskedPath] = {}
    for match in islice(_IN_QUERY.finditer(_composed(" ".join(text.split()))), MOST_PATHS):
        if words := tuple(analyser.words(match[0])):
            term = _term(match["word"], match["number"], APART if match["apart"] else JOINED)
            asked.setdefault(term, AskedPath((term,), words))
    return tuple(asked.values())


# Inside ----------------------------------------------------------------------------------------


def _composed(text: str) -> str:
    """With accents as parts of their letters."""
    return unicodedata.normalize("NFC", text)


def _term(word: str, number: str, between: str) -> str:
    """Without the ending of a plural, as folders are called."""
    return fold(word).removesuffix("s") + between + fold(number)
