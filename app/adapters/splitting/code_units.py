"""Finds the parts of code that belong together, in any language, by blank lines and indentation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.adapters.splitting.blocks import TAB_COLUMNS, Block
from app.adapters.splitting.lines import Lines

_GOES_ON = re.compile(
    r"[)\]}]|</"
    r"|(?:else|elif|elsif|elseif|except|finally|catch|rescue|ensure|then)\b"
    r"|(?:fi|done|esac|end[a-z]*+(?:[ \t]++\w++){0,2}+)[;,.)\]}]*+[ \t]*+$"
    r"|(?:case|when|default)\b(?![ \t]+(?:class|object)\b)(?:[^:]*+:(?!:)|.*(?:->|=>))"
    r"|(?:public|private|protected|signals)(?:[ \t]++slots)?[ \t]*+:[ \t]*+$",
    re.IGNORECASE,
)
"""What does not begin a part, but belongs to the one above it that is indented as far: what closes
it, and further branches of it."""

_LEADS = re.compile(r"//|/\*|\*|#(?!define\b)|--|;|%|@|template\b|\"\"\"")
"""What belongs to the line below it: comments, annotations, parameters of templates. So do lines in
square brackets: attributes, and the heads of tables in TOML."""

_ANYWHERE = re.compile(r"#|//|\w+:[ \t]*$")
"""What may stand at the left wherever it belongs: directives of C, comments, labels to jump to."""


class _Span(NamedTuple):
    """A part of code, in lines."""

    first: int
    after: int
    """The line after its last."""
    head: int | None
    """The line that its body is indented below, if it has one."""


@dataclass
class _Level:
    """The lines of one indentation that are being read, and what began with them."""

    indent: int
    part: int
    """The first line of what stands between blank lines."""
    statement: int
    """The first line of a statement in this, which holds all that is indented deeper below it."""
    leads: bool
    """Whether that has been nothing yet but what belongs to the line below it."""
    part_head: int | None = None
    statement_head: int | None = None
    """The line of each that its body is indented below, if it has one."""

    def read(self, index: int, *, leads: bool, has_body: bool) -> None:
        """Take a line of the statement; the first that does not lead is its head."""
        if self.leads and not leads and has_body:
            self.take_head(index)
        self.leads = leads

    def take_head(self, index: int) -> None:
        """Take a line that the body of the statement is indented below."""
        self.statement_head = index
        if self.part == self.statement:
            self.part_head = index

    def begin_statement(self, index: int) -> None:
        """The statement before is complete."""
        self.statement, self.statement_head, self.leads = index, None, True

    def begin_part(self, index: int) -> None:
        """The part before is complete."""
        self.part, self.part_head = index, None
        self.begin_statement(index)

    def parts(self, after: int) -> Sequence["_Span"]:
        """Both, up to a line."""
        return (
            _Span(self.statement, after, self.statement_head),
            _Span(self.part, after, self.part_head),
        )


def code_units(lines: Lines) -> list[Block]:
    """The parts that have several lines, each before those in it; they nest, but never overlap.

    One part is what stands between two blank lines, another is a statement, with what stands right
    above and belongs to it. Each holds everything below that is indented deeper, and what closes
    it. No language is read, as code has more of them than could be: indentation is in all.
    """
    spans = sorted(
        {span for span in _spans(lines) if span.after > span.first + 1}, key=_outer_first
    )
    return [
        Block(
            lines.start(span.first),
            lines.end(span.after - 1),
            head_end=None if span.head is None else lines.end(span.head),
        )
        for span in spans
    ]


def _outer_first(span: _Span) -> tuple[int, int]:
    return span.first, -span.after


def _spans(lines: Lines) -> Iterator[_Span]:
    """All parts, some twice, and in no order."""
    levels: list[_Level] = []
    indents = _indents(lines)
    for index, indent in enumerate(indents):
        while levels and levels[-1].indent > indent:
            yield from levels.pop().parts(index)
        line = lines.text(index).lstrip()
        has_body = index + 1 < len(lines) and indents[index + 1] > indent
        if not levels or levels[-1].indent < indent:
            levels.append(_Level(indent, index, index, leads=True))
        elif _GOES_ON.match(line):
            continue
        elif _opens_body(lines, index, line):
            if has_body and levels[-1].statement_head is None:
                levels[-1].take_head(index)
            continue
        elif not lines.follows(index):
            yield from levels[-1].parts(index)
            levels[-1].begin_part(index)
        elif not levels[-1].leads:
            yield levels[-1].parts(index)[0]
            levels[-1].begin_statement(index)
        levels[-1].read(index, leads=_leads(line), has_body=has_body)
    for level in levels:
        yield from level.parts(len(lines))


def _leads(line: str) -> bool:
    is_bracketed = line.startswith("[") and line.rstrip().endswith("]")
    return is_bracketed or _LEADS.match(line) is not None


def _opens_body(lines: Lines, index: int, line: str) -> bool:
    """Whether it is a brace on a line of its own, right below what it is the body of."""
    if not line.startswith("{") or not lines.follows(index):
        return False
    return not lines.text(index - 1).lstrip().startswith((")", "]", "}"))


def _indents(lines: Lines) -> list[int]:
    """The columns before each line; of what may stand at the left, those before what is around."""
    indents = [_columns(lines, index) for index in range(len(lines))]
    strays = [index for index, indent in enumerate(indents) if not indent and _strays(lines, index)]
    for index in reversed(strays):
        indents[index] = indents[index + 1] if index + 1 < len(indents) else 0
    for index in strays:
        indents[index] = min(indents[index], indents[index - 1] if index else 0)
    return indents


def _strays(lines: Lines, index: int) -> bool:
    line = lines.text(index)
    if not _ANYWHERE.match(line):
        return False
    is_label = line[0] not in "#/"
    return not is_label or (index > 0 and lines.text(index - 1).rstrip().endswith((";", "}")))


def _columns(lines: Lines, index: int) -> int:
    line = lines.text(index)
    return len(line[: len(line) - len(line.lstrip())].expandtabs(TAB_COLUMNS))
