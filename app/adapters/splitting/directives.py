"""Tells what directives of reStructuredText and MyST contain: code, a table, or text."""

import re
from enum import Enum, auto

CODE_DIRECTIVES = (
    "code|code-block|code-cell|sourcecode|parsed-literal|doctest|ipython|jupyter-execute"
    "|prompt|testcode|testsetup|testcleanup|testoutput"
)
"""What holds code in reStructuredText and in MyST, as a part of a regular expression."""

TABLE_DIRECTIVES = "table|list-table|csv-table|flat-table|longtable"
"""As above, what holds a table."""

_CODE_LIKE = re.compile(
    rf"(?:{CODE_DIRECTIVES}|literalinclude|highlight|math|code-tab|plot|raw|productionlist"
    r"|graphviz|graph|digraph|mermaid|plantuml|uml)$"
)
"""Also what is written in a language of its own, as formulas and diagrams are."""

_TABLES = re.compile(f"(?:{TABLE_DIRECTIVES})$")

_LANGUAGES = re.compile(
    "(?:asy|awk|bash|c|cat|cpp|csharp|css|d2|dot|embed|fortran|gawk|go|groovy|haskell|html|java"
    "|javascript|js|json|julia|kotlin|mysql|node|octave|ojs|perl|php|powershell|psql|py|pyodide"
    "|python|python3|r|rcpp|rscript|ruby|rust|sas|sass|scala|scss|sed|sh|shell|sql|stan|stata|tikz"
    "|toml|ts|typescript|verbatim|webr|xml|yaml|zsh)$"
)
"""What knitr and Quarto write in braces behind a fence, as MyST does its directives."""

_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|]+\|[ \t]+)?(?P<name>\w[\w:+.-]*)::(?:[ \t]|$)")
_FENCE_DIRECTIVE = re.compile(r"(?:`{3,}|~{3,})[ \t]*\{(?P<name>\w[\w:+.-]*)\}")
"""Not `{.python}` and `{r, echo=FALSE}`: what is said of code has marks in it."""


class BodyKind(Enum):
    """What a directive contains."""

    CODE = auto()
    TABLE = auto()
    TEXT = auto()


def announced_content(line: str) -> BodyKind | None:
    """What a line of reStructuredText says of what is indented below it; None if nothing.

    `line` comes without blanks around it. Notes and most other directives hold text, in which
    anything may stand.
    """
    if directive := _DIRECTIVE.match(line):
        return _content_of(directive["name"].lower())
    is_end_of_directive = len(line) > 2 and not line.strip(":")
    return BodyKind.CODE if line.endswith("::") and not is_end_of_directive else None


def fenced_content(opening: str) -> BodyKind:
    """What stands below a line that begins with a fence: code, unless it is a directive of MyST."""
    directive = _FENCE_DIRECTIVE.match(opening)
    name = directive["name"].lower() if directive else ""
    return BodyKind.CODE if not name or _LANGUAGES.match(name) else _content_of(name)


def _content_of(name: str) -> BodyKind:
    if _CODE_LIKE.match(name):
        return BodyKind.CODE
    return BodyKind.TABLE if _TABLES.match(name) else BodyKind.TEXT
