"""Finds the names that a piece of code defines, in whatever language it is written.

So does a reference: Sphinx's `.. py:function:: open(file)` says what `open` is.
"""

import itertools
import re
from collections.abc import Iterator

import regex

MAX_SYMBOLS = 64
"""Names taken from one chunk; a chunk of 1,000 characters rarely defines ten."""

PROSE_SUFFIXES = (".md", ".markdown", ".mdx", ".txt", ".html")

_MODIFIER = (
    r"(?:export|default|declare|public|private|protected|internal|static|final|abstract|sealed"
    r"|async|virtual|override|inline|extern|unsafe|partial|open|data|pub(?:\([a-z ]{1,16}\))?)"
)
_KEYWORD = (
    r"(?:def|class|function\*?|func|fn|fun|sub|struct|interface|trait|enum|record|object|module"
    r"|namespace|protocol|type|typedef|const|let|var|val|macro_rules!|impl|defmodule|defp"
    r"|package|message|service|rpc)"
)
_NAME = r"[\p{L}_$][\w$]{0,119}"
_DEFINITION = regex.compile(
    rf"^[ \t]*+(?:{_MODIFIER}[ \t]++){{0,4}}+{_KEYWORD}[ \t]++"
    rf"(?:\([^()\n]{{0,80}}\)[ \t]*+)?"  # the receiver of a Go method
    rf"(?P<name>{_NAME})(?:\.(?P<member>{_NAME}))?"
    r"(?=[ \t]*+(?:[(<\[{:=;]|$|extends\b|implements\b|struct\b|interface\b|for\b|from\b))",
    regex.MULTILINE,
)
_ASSIGNED = regex.compile(  # constants and functions that are values: NAME = …, name: function(
    rf"^[ \t]*+(?:(?P<constant>\p{{Lu}}[\p{{Lu}}\d_]{{2,119}})(?:[ \t]*+:[^=\n]{{1,80}})?[ \t]*+="
    rf"|\#define[ \t]++(?P<macro>{_NAME})"
    rf"|(?P<value>{_NAME})[ \t]*+[:=][ \t]*+(?:async[ \t]++)?function\b)(?!=)",
    regex.MULTILINE,
)
_DESCRIBED = regex.compile(  # the directives of Sphinx's domains that describe an object
    r"^[ \t]*+\.\.[ \t]++(?:[a-z]++:)?"
    r"(?:function|method|staticmethod|classmethod|class|exception|data|attribute|property|decorator"
    r"|module|macro|type|struct|union|enum|enumerator|member|var|concept|option|envvar|confval"
    r"|setting)::[ \t]++(?:[^(\n]{0,120}?[ \t*&](?=[\w.$:]++\())?"  # the type of a C function
    r"(?P<name>-{0,2}[\w$](?:[\w.$:-]{0,118}[\w$])?)",
    regex.MULTILINE,
)


_MAY_DEFINE = re.compile(rf"^[ \t]*(?:{_MODIFIER}|{_KEYWORD})[ \t]", re.MULTILINE)
_MAY_BE_CONSTANT = re.compile(r"^[ \t]*[^\Wa-z\d_][^\Wa-z]{2}[^=\n]*=", re.MULTILINE)
"""Every line that the patterns above find fits; to look for these takes a quarter of the time, and
most texts have none."""


def first_symbol(path: str, text: str) -> str | None:
    """The first name that a stretch of a document defines, if it is code or holds a block of it."""
    is_prose = "://" in path or path.lower().endswith(PROSE_SUFFIXES)
    return None if is_prose and "```" not in text else next(_names(text), None)


def defined_symbols(code: str) -> list[str]:
    """The names that the text defines, each once, in order; prose gives next to none.

    Knows definitions at the start of a line only, and a keyword must be followed by what follows
    it in code: "class of the object" in prose is none.
    """
    return list(itertools.islice(dict.fromkeys(_names(code)), MAX_SYMBOLS))


def _names(code: str) -> Iterator[str]:
    """What is described or defined in so many words comes before what is assigned."""
    for pattern, may_be_there in (
        (_DESCRIBED, _may_describe),
        (_DEFINITION, _may_define),
        (_ASSIGNED, _may_assign),
    ):
        if may_be_there(code):
            for match in pattern.finditer(code, concurrent=False):
                yield from filter(None, match.groups())


def _may_describe(code: str) -> bool:
    return ".. " in code and ":: " in code


def _may_define(code: str) -> bool:
    return _MAY_DEFINE.search(code) is not None


def _may_assign(code: str) -> bool:
    if "#define" in code or "function" in code:
        return True
    return "=" in code and _MAY_BE_CONSTANT.search(code) is not None
