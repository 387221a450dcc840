"""Recognises the lines of code that define a name, by keyword or, in some languages, by shape.

Patterns for a line each, no grammars: code stands in chunks that begin and end anywhere, and a name
more or less only moves a weight. All patterns take linear time in whatever text.
"""

import heapq
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

import regex

NAME = r"[\p{L}_$][\w$]{0,119}"
_GENERIC = r"<(?:[^<>\n]{0,80}+<[^<>\n]{0,80}+>){0,4}+[^<>\n]{0,80}+>"
_ANNOTATION = r"@[\w.]{1,60}+(?:\([^()\n]{0,80}\))?"

_MODIFIER = (
    r"(?:export|default|declare|public|private|protected|internal|static|final|abstract|sealed"
    r"|async|virtual|override|inline|extern|unsafe|partial|open|data|pub(?:\([a-z ]{1,16}\))?"
    r"|local|case|implicit|lazy|suspend|operator|infix|tailrec|companion|inner|value|annotation"
    r"|fileprivate|mutating|nonmutating|indirect|readonly|constexpr|external|expect|actual"
    rf"|(?:private|protected)\[\w{{1,40}}\]|{_ANNOTATION})"
)
_KEYWORD = (
    r"(?:def|class|function\*?|func|fn|fun|sub|struct|interface|trait|enum|record|object|module"
    r"|namespace|protocol|type|typedef|const|let|var|val|macro_rules!|impl|defmodule|defp"
    r"|package|message|service|rpc|defmacrop?|defguardp?|defprotocol|defimpl|typealias"
    r"|const[ \t]++(?:unsafe[ \t]++)?fn|enum[ \t]++(?:class|struct)|class[ \t]++func"
    r"|fun[ \t]++interface|record[ \t]++(?:struct|class)|package[ \t]++object)"
)
_KEYWORD_OF_BLOCK = r"(?:mod|union|actor|extension)"
"""Of what a block always follows. In prose these words begin lines of two words."""
_NAMES = (  # and what belongs to it: a method's class, a module's parent
    rf"(?P<name>{NAME})"
    rf"(?:(?:{_GENERIC})?\??(?:\.|::|:(?=\w{{1,120}}+\())(?P<member>{NAME})){{0,6}}+"
    r"(?:[?!](?=[ \t]*+(?:\(|;|$)))?+"
)
_AND_MORE = (  # what follows a name that is being defined
    r"(?=[ \t]*+(?:[(<\[{:=;]|$|extends\b|implements\b|struct\b|interface\b|for\b|from\b"
    r"|(?:do|where)[ \t]*+$|func\(|map\[|(?:string|u?int(?:8|16|32|64)?)[ \t]*+$))"
)
_BY_KEYWORD = regex.compile(
    rf"^[ \t]*+(?:{_MODIFIER}[ \t]++){{0,5}}+"
    rf"(?:{_KEYWORD}(?:[ \t]++|[ \t]*+{_GENERIC}[ \t]++)(?:{_GENERIC}[ \t]*+)?+"
    r"(?:\([^()\n]{0,80}\)[ \t]*+)?"  # the receiver of a Go method
    rf"(?:[A-Z][A-Z\d_]{{3,60}}[ \t]++(?=\w))?{_NAMES}{_AND_MORE}"  # behind a macro of C++
    rf"|{_KEYWORD_OF_BLOCK}[ \t]++{_NAMES}(?=[ \t]*+[<{{:]))",
    regex.MULTILINE,
)
_MAY_BE_BY_KEYWORD = re.compile(
    rf"^[ \t]*(?:{_MODIFIER}|{_KEYWORD}|{_KEYWORD_OF_BLOCK})[ \t<]", re.MULTILINE
)
"""Every line that the pattern above finds fits. To look for it takes a third of the time, and
most texts have none."""

_PLACE = re.compile(r"\s*(?:package|namespace)\s+\w+\.")
"""Says where code stands, as `package com.example.shop;` does."""
_PACKAGE = re.compile(r"\s*package\s+(?!object\b)\w")
_OF_PACKAGES = (".go", ".groovy", ".java", ".kt", ".kts", ".scala")
"""Where every file begins with its package, even of one word; in Perl that is a definition."""

_STATEMENT = (
    r"(?:return|else|throw|new|await|yield|case|delete|if|while|for|switch|catch|do|try|go|defer"
    r"|assert|not|and|or|in|is|import|using|goto|sizeof|typeof|lock|foreach|when|unless|until"
    r"|elif|elseif|with|print|echo|raise|super|this|guard|co_return|co_await|function|def|class)\b"
)
"""What looks like a type or a function where it stands, and is none."""
_CLOSED = (  # up to the end of the parentheses, with others in them
    r"(?:[^()\n]++|\((?:[^()\n]++|\((?:[^()\n]++|\([^()\n]*+\))*+\))*+\))*+\)"
)
_BODY_FOLLOWS = (  # a brace at the end of the line or below it, and none of what is handed over
    rf"(?![^\n]*?(?:=>|\bfunction\b|\)\??\.)){_CLOSED}"
    r"(?:[^;\n]*\{[ \t]*+(?:/[/*][^\n]*+)?$|[^;{}\n]*+\n[ \t]*+\{)"
)
_NO_TYPE = r"(?:[*,.&?\d]|:(?!:)|\w++:[ \t])"
"""A line of a comment, a further argument or initial value, or what bears a name or label."""
_BEHIND_ITS_TYPE = regex.compile(
    rf"^[ \t]*+(?!{_STATEMENT}|{_NO_TYPE})(?:{_ANNOTATION}[ \t]++){{0,4}}+"
    rf"(?P<type>(?:(?!<<|>>)[\w:<>,.\[\]*&?~]++[ \t]++){{1,8}}+)?+[*&]*+(?!{_STATEMENT})"
    r"(?(type)|(?=~?\p{Lu}))"  # a constructor has no type, and bears the name of its class
    rf"(?:(?P<owner>{NAME})(?:{_GENERIC})?::){{0,4}}+(?P<function>~?{NAME})\("
    rf"(?={_BODY_FOLLOWS}"
    r"|(?(type)[^;{}=\n]*+(?:(?<=[,(])[ \t]*+$|(?<=\));[ \t]*+$|(?<=\)[ \t]?)=>)|(?!)))",
    regex.MULTILINE,
)
_METHOD = regex.compile(
    rf"^[ \t]++(?!{_STATEMENT})"
    r"(?P<type>(?:(?:public|private|protected|static|override|abstract|readonly|async|get|set)"
    rf"[ \t]++){{1,5}}+)?+\*?[#]?(?!{_STATEMENT})(?P<function>{NAME})(?:{_GENERIC})?\("
    rf"(?={_BODY_FOLLOWS}|(?(type)[^;\n]*+(?<=[,({{])$|(?!)))"
    rf"|^[ \t]++(?P<function>{NAME})[ \t]*+[:=][ \t]*+(?:async[ \t]*+)?"
    rf"(?:\([^()\n]{{0,200}}\)|{NAME})[ \t]*+=>",
    regex.MULTILINE,
)
_SHELL_FUNCTION = regex.compile(
    r"^[ \t]*+(?:function[ \t]++)?(?P<function>[\w:.-]{1,120}+)[ \t]*+\(\)[ \t]*+(?:[{(]|$)",
    regex.MULTILINE,
)
_HASKELL_SIGNATURE_OR_TYPE = regex.compile(
    r"^[ \t]{0,8}+(?P<function>[a-z_][\w']{0,119})"
    r"(?:[ \t]*+,[ \t]*+(?P<another>[a-z_][\w']*+)){0,8}+[ \t]*+::[ \t]"
    r"|^(?:data|newtype|class|instance|type)(?:[ \t]++(?:family|instance))?+[ \t]++"
    r"(?:[^\n=]{0,120}=>[ \t]*+)?(?P<name>\p{Lu}[\w']{0,119})(?=[^\n=]{0,200}+(?:=|$))",
    regex.MULTILINE,
)
_CREATED_IN_SQL = regex.compile(
    r"^[ \t]*+create[ \t]++(?:or[ \t]++(?:replace|alter)[ \t]++)?"
    r"(?:(?:global|local|temp|temporary|unlogged|foreign|external|virtual|materialized|recursive"
    r"|unique|clustered|nonclustered|constraint|aggregate)[ \t]++){0,3}+"
    r"(?:table|view|function|procedure|trigger|index|(?:type|package)(?:[ \t]++body)?+|domain"
    r"|sequence|schema)[ \t]++(?:concurrently[ \t]++)?+(?:if[ \t]++not[ \t]++exists[ \t]++)?+"
    rf"(?:(?:{NAME}|[\"`\[][^\"`\]\n]{{1,120}}+[\"`\]])\.){{0,2}}+"
    rf"[\"`\[]?(?P<name>(?!(?:on|authorization)\b){NAME})",
    regex.MULTILINE | regex.IGNORECASE,
)
_WITHOUT_KEYWORD = {
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), _BEHIND_ITS_TYPE),
    **dict.fromkeys((".java", ".cs", ".dart", ".m", ".mm"), _BEHIND_ITS_TYPE),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte"), _METHOD),
    **dict.fromkeys((".sh", ".bash", ".zsh"), _SHELL_FUNCTION),
    ".hs": _HASKELL_SIGNATURE_OR_TYPE,
    ".sql": _CREATED_IN_SQL,
}
"""By the suffix of the file. Elsewhere such lines are calls, as is Kotlin's `launch(scope) {`."""


class Definition(NamedTuple):
    """A definition in code."""

    start: int
    names: tuple[str, ...]
    """In the order of the code; of a method, its class comes before it."""
    symbol: str | None
    """The name that is defined; None of a package, where it says where code stands."""


def definitions(code: str, path: str) -> Iterator[Definition]:
    """The definitions, in the order of the code; found one by one, as they are taken.

    Only such at the start of a line, and behind a keyword must stand what follows it in code:
    "class of the object" in prose is none.
    """
    suffix = PurePosixPath(path.lower()).suffix
    by_shape = _WITHOUT_KEYWORD.get(suffix)
    place = _PACKAGE if suffix in _OF_PACKAGES else _PLACE
    return heapq.merge(
        _found_by(_BY_KEYWORD, code, place) if _MAY_BE_BY_KEYWORD.search(code) else (),
        _found_by(by_shape, code, place) if by_shape else (),
        key=lambda definition: definition[:2],
    )


def _found_by(
    pattern: regex.Pattern[str], code: str, place: re.Pattern[str]
) -> Iterator[Definition]:
    for match in pattern.finditer(code, concurrent=False):
        named = match.groupdict()
        named.pop("type", None)
        names = tuple(name for name in named.values() if name)
        symbol = named.get("member") or named.get("function") or named.get("name")
        yield Definition(match.start(), names, None if place.match(match[0]) else symbol)
