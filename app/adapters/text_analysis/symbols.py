"""Finds the names that a piece of code defines, in whatever language it is written.

So does a reference: Sphinx's `.. py:function:: open(file)` says what `open` is.
"""

import heapq
import itertools
import re
from collections.abc import Iterator

import regex

from app.adapters.splitting.markup import Markup, suffixes_of
from app.adapters.text_analysis.definitions import NAME, Definition, definitions
from app.text_suffixes import TEXT_SUFFIXES

MAX_SYMBOLS = 64
"""Names taken from one chunk; a chunk of 1,000 characters rarely defines ten."""

FENCED_SUFFIXES = (
    *(suffix for suffix in TEXT_SUFFIXES if suffix not in suffixes_of(Markup.RESTRUCTUREDTEXT)),
    ".html",
)
"""Of files whose code stands between fences. In reStructuredText it does not, and directives define
names."""

_ASSIGNED = regex.compile(  # constants and functions that are values: NAME = …, name: function(
    rf"^[ \t]*+(?:(?P<constant>\p{{Lu}}[\p{{Lu}}\d_]{{2,119}})(?:[ \t]*+:[^=\n]{{1,80}})?[ \t]*+="
    rf"|\#define[ \t]++(?P<macro>{NAME})"
    rf"|(?:{NAME}[.:](?=\w)){{0,4}}+(?P<value>{NAME})[ \t]*+[:=][ \t]*+"
    r"(?:async[ \t]++)?function\b)(?!=)",
    regex.MULTILINE,
)
_DECLARED_IN_C = (  # the name stands behind its type, before brackets or at the end of the line
    r"(?:c|cpp):(?:function|member|data|var|type|macro)::[ \t]++"
    r"(?:[^\n(=\[]{0,120}?(?:[ \t*&>]|\(\*[ \t]*+))??"
    r"(?P<declared>~?+[\w$][\w.$:~]{0,119}+)(?=[ \t]*+(?:\((?!\*)|[)=\[]|\r?$))"
)
_OBJECT = (  # functions of C may stand without their domain, in Sphinx's older way
    r"(?!c(?:pp)?:(?:function|member|data|var|type|macro):)(?:[a-z]++:)?"
    r"(?:(?:function|method|staticmethod|classmethod|macro|member)::[ \t]++"
    r"(?:[^(\n]{0,120}?[ \t*&](?=[\w.$:]++[ \t]*+\())?"
    r"|(?:class|struct|union|exception|data|attribute|property|decorator|module|type|enum"
    r"|enumerator|var|concept)::[ \t]++(?:template[ \t]*+<[^\n]{0,120}>[ \t]*+)?)"
    r"(?P<object>(?!template\b)[\w$](?:[\w.$:]{0,118}[\w$])?+)(?![\w.$:]*-)"
)
_CHOICE = (
    r"(?:std:)?(?:option|envvar|confval|setting)::[ \t]++"
    r"(?P<choice>-{0,2}[\w$](?:[\w.$:-]{0,118}[\w$])?)"
)
_DESCRIBED = regex.compile(  # the directives of Sphinx's domains that describe an object
    rf"^[ \t]*+\.\.[ \t]++(?:{_DECLARED_IN_C}|{_OBJECT}|{_CHOICE})", regex.MULTILINE
)


_MAY_BE_CONSTANT = re.compile(r"^[ \t]*[^\Wa-z\d_][^\Wa-z]{2}[^=\n]*=", re.MULTILINE)
"""Every line with a constant fits; to look for it takes a quarter of the time, and most texts have
none."""


def first_symbol(path: str, text: str, *, is_code: bool = False) -> str | None:
    """The first name that a stretch of a document defines, if it is code or holds a block of it.

    `is_code`: whether most of it is known to be, as where it stands within a block that began
    before it.
    """
    is_prose = not is_code and ("://" in path or path.lower().endswith(FENCED_SUFFIXES))
    if is_prose and "```" not in text:
        return None
    return next((found.symbol for found in _found(text, path) if found.symbol), None)


def defined_symbols(code: str, path: str = "") -> list[str]:
    """The names that the text defines, each once, in order; prose gives next to none.

    `path` is the key of the document: in some languages a definition is known by its shape alone.
    """
    names = itertools.chain.from_iterable(found.names for found in _found(code, path))
    return list(itertools.islice(dict.fromkeys(names), MAX_SYMBOLS))


def _found(code: str, path: str) -> Iterator[Definition]:
    """What is described or defined in so many words comes before what is assigned."""
    described = _found_by(_DESCRIBED, code) if _may_describe(code) else ()
    assigned = _found_by(_ASSIGNED, code) if _may_assign(code) else ()
    in_so_many_words = heapq.merge(
        described, definitions(code, path), key=lambda definition: definition[:2]
    )
    return itertools.chain(in_so_many_words, assigned)


def _found_by(pattern: regex.Pattern[str], code: str) -> Iterator[Definition]:
    for match in pattern.finditer(code, concurrent=False):
        names = tuple(name for name in match.groups() if name)
        yield Definition(match.start(), names, names[0])


def _may_describe(code: str) -> bool:
    return ".." in code and "::" in code


def _may_assign(code: str) -> bool:
    if "#define" in code or "function" in code:
        return True
    return "=" in code and _MAY_BE_CONSTANT.search(code) is not None
