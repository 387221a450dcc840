"""Recognises what is not read as Markdown: comments, preformatted text, code, formulas."""

import re
from dataclasses import dataclass

from app.adapters.splitting.directives import CODE_DIRECTIVES, TABLE_DIRECTIVES

_COLON_DIRECTIVES = f"(?:{CODE_DIRECTIVES}|literalinclude|math)"
_COLONS = re.compile(r"^[ \t]*(?P<mark>:{3,})[ \t]*$")
_INDENT = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
"""What may stand before it: blanks, and the markers of list items that it begins."""


@dataclass(frozen=True)
class _Form:
    """How stretches of one kind are written; one may end on its first line or on a later one."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    is_block: bool = True
    """Whether it is better kept whole, as code is."""
    is_table: bool = False
    spans_blanks: bool = True
    """Whether blank lines may stand in it."""
    reaches_end: bool = False
    """Whether an unclosed one reaches to the end of the text; else it is ordinary text."""


@dataclass(frozen=True)
class Opening:
    """The first line of a stretch, in which nothing is a heading or a fence."""

    form: _Form
    mark: str
    """What the closing repeats: the name of a tag, or colons, of which it may have more."""
    body: int
    """The position in the line after the opening, from which on it may be closed."""

    @property
    def closing(self) -> tuple[re.Pattern[str], str]:
        """Equal for two openings that are closed by the same line."""
        return self.form.closing, self.mark

    def is_closed_by(self, line: str, *, is_first: bool) -> bool:
        """Whether the stretch ends with this line, which may be its first."""
        closing = self.form.closing.search(line, self.body if is_first else 0)
        return closing is not None and closing["mark"].startswith(self.mark)


def verbatim_opening(line: str) -> Opening | None:
    """The stretch that begins with this line, if there is one."""
    if not _ANY_MARK.search(line):
        return None
    for form in _FORMS:
        if opening := form.opening.match(line):
            return Opening(form, opening["mark"], opening.end())
    return None


_ANY_MARK = re.compile(r"[<{%:$]")
"""One of these stands in the first line of every form."""

_FORMS = (
    _Form(
        re.compile(r" {0,3}<!(?=--)(?P<mark>)"),
        re.compile(r"-->(?P<mark>)"),
        is_block=False,
        reaches_end=True,
    ),
    _Form(
        re.compile(r" {0,3}\{(?=/\*)(?P<mark>)"),
        re.compile(r"\*/[ \t]*\}(?P<mark>)"),
        is_block=False,
    ),
    _Form(
        re.compile(_INDENT + r"\{%-?[ \t]*(?P<mark>comment)[ \t]*-?%\}"),
        re.compile(r"\{%-?[ \t]*end(?P<mark>comment)[ \t]*-?%\}"),
        is_block=False,
    ),
    _Form(
        re.compile(_INDENT + r"\{\{[<%][ \t]*(?P<mark>comment)[ \t]*[>%]\}\}"),
        re.compile(r"\{\{[<%][ \t]*/[ \t]*(?P<mark>comment)[ \t]*[>%]\}\}"),
        is_block=False,
    ),
    _Form(
        re.compile(_INDENT + r"\{::comment\}(?P<mark>)"),
        re.compile(r"\{:/(?:comment)?\}(?P<mark>)"),
        is_block=False,
    ),
    _Form(
        re.compile(r" {0,3}%%(?P<mark>)(?=[ \t]|$)(?!.*%%)"),
        re.compile(r"%%(?P<mark>)[ \t]*$"),
        is_block=False,
    ),
    _Form(
        re.compile(r" {0,3}<(?:pre|script|style|textarea)(?=[ \t>]|$)(?P<mark>)", re.IGNORECASE),
        re.compile(r"</(?:pre|script|style|textarea)>(?P<mark>)", re.IGNORECASE),
        is_block=False,
    ),
    _Form(
        re.compile(_INDENT + r"\{%-?[ \t]*(?P<mark>highlight)[ \t][^%]*%\}[ \t]*$"),
        re.compile(r"\{%-?[ \t]*end(?P<mark>highlight)[ \t]*-?%\}"),
    ),
    _Form(
        re.compile(_INDENT + r"\{\{<[ \t]*(?P<mark>highlight)[ \t][^>]*>\}\}[ \t]*$"),
        re.compile(r"\{\{<[ \t]*/[ \t]*(?P<mark>highlight)[ \t]*>\}\}"),
    ),
    _Form(
        re.compile(
            rf"{_INDENT}(?P<mark>:{{3,16}})(?!:)[ \t]*(?P<brace>\{{)?{_COLON_DIRECTIVES}"
            r"(?(brace)\}|(?=[ \t]|$))"
        ),
        _COLONS,
    ),
    _Form(
        re.compile(rf"{_INDENT}(?P<mark>:{{3,16}})(?!:)[ \t]*\{{(?:{TABLE_DIRECTIVES})\}}"),
        _COLONS,
        is_table=True,
    ),
    _Form(
        re.compile(_INDENT + r"\$\$(?!\$)(?!.*\$\$)(?P<mark>)"),
        re.compile(r"\$\$(?P<mark>)"),
        spans_blanks=False,
    ),
)
"""HTML as CommonMark has it (its kinds 1 and 2; but a `<script>` that nothing closes is a sentence
about scripts); the comments of MDX, of Jekyll's Liquid, of Hugo, kramdown and Obsidian; the tags of
Jekyll and of Hugo for code; MyST's directives between colons, for code and for tables; formulas, in
which TeX lets no blank line stand. Liquid's `raw` is none of them: it is gone before Markdown is
read, and headings stand in it as anywhere."""
