"""Finds the block of fields at the top of a Markdown file, and reads it as YAML, TOML or JSON."""

import json
import re
import tomllib
from collections.abc import Callable, Set
from dataclasses import dataclass
from datetime import date, time

import yaml

MAX_FRONTMATTER_CHARACTERS = 64 * 1024
MAX_NESTING = 20

LINE_BREAK = re.compile(r"\r\n|\n|\r")
TOML_MARK = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
    r"|(?P<opening>[\[{])|(?P<closing>[\]}])|(?P<dot>\.)|(?P<next_key>[=,\n])",
    re.DOTALL,
)
"""What nests, and what may only look like it: strings (a key may be one) and comments."""

QUOTED_NAME = re.compile(r" '[!\w-][^']+'")
"""The name of an alias or the like in an error of yaml. It is left out of the warning, which stays
with a job after the item and its words have been deleted; the line number says where to look."""

QUOTED_KEY = re.compile(r" (?:\(['\"].*\)|(?<=key )(['\"]).*\1)(?= twice| \(at line )")
"""The same in an error of tomllib."""

ENTRY = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]|$)")
GOES_ON = re.compile(r"[ \t]+\S|-[ \t]|[\]}]")
"""The start of a line that continues a field."""
TEMPLATE = re.compile(r"\{[{%]")
QUOTED = re.compile(r"^(['\"])(.+)\1$")

Fields = dict[object, object]
"""What a block says, by name: text, lists of it (or of lists), or mappings, which nobody uses."""


@dataclass(frozen=True)
class FieldBlock:
    """What stands between the two lines that frame it."""

    text: str
    end: int
    """Where the line after it begins."""
    read: Callable[[str], Fields]
    """Raises ValueError, which says what is wrong with the text, and in which line of the file."""
    is_yaml: bool
    may_be_example: bool
    """If so, it is frontmatter only if it names a field that is used."""


@dataclass(frozen=True)
class _Form:
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    read: Callable[[str], Fields]
    is_yaml: bool = False
    may_be_example: bool = False
    """Whether a document may show such a block as an example. Then it is text if nothing follows,
    or if it names no field that is used."""


def find_block(text: str) -> FieldBlock | None:
    """The block that the text begins with; None where there is none, or nothing closes it."""
    for form in FORMS:
        if opening := form.opening.match(text):
            limit = opening.end() + MAX_FRONTMATTER_CHARACTERS
            closing = form.closing.search(text, opening.end(), limit)
            if closing and (not form.may_be_example or text[closing.end() :].strip()):
                block = text[opening.end() : closing.start()]
                return FieldBlock(
                    block, closing.end(), form.read, form.is_yaml, form.may_be_example
                )
    return None


def fields_by_themselves(block: str, names: Set[str]) -> Fields:
    """The fields of these names in a broken block of YAML, each read on its own.

    A title on one line that is not YAML, such as `title: Docker: a guide`, is all that follows the
    first colon, without quotation marks around it; but not if it is a template to be filled in.
    """
    fields: Fields = {}
    for name, entry in _entries(block, names).items():
        try:
            fields |= _read_yaml(entry)
        except ValueError:
            told = QUOTED.sub(r"\2", entry.partition(":")[2].strip())
            if name.lower() == "title" and LINE_BREAK.search(told) is None:
                fields |= {} if TEMPLATE.match(told) else {name: told}
    return fields


def _entries(block: str, names: Set[str]) -> dict[str, str]:
    """The lines of each field of these names; of several with the same one, of the last.

    Reading stops at a line that belongs to no field: the block may be text between two rules.
    """
    entries: dict[str, str] = {}
    name = ""
    for line in LINE_BREAK.split(block):
        if field := ENTRY.match(line):
            name = field[1]
            entries[name] = line
        elif line.strip() and not line.startswith("#"):
            if not name or not GOES_ON.match(line):
                break
            entries[name] += f"\n{line}"
    return {name: entry for name, entry in entries.items() if name.lower() in names}


def _read_yaml(block: str) -> Fields:
    """The block's mapping with every scalar as it is written: `2024` and `yes` stay text.

    yaml.BaseLoader makes no objects and merges no keys, so neither tags nor aliases can do harm;
    only nesting must be bounded, since it recurses.
    """
    try:
        depth = 0
        for event in yaml.parse(block, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            _require_shallow(depth)
        fields = yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506  builds only str, list, dict
    except yaml.MarkedYAMLError as error:
        line = f" in line {_line_in_file(block, error.problem_mark)}" if error.problem_mark else ""
        problem = QUOTED_NAME.sub("", str(error.problem or error.context))
        raise ValueError(f"{problem}{line}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if fields in (None, ""):
        return {}
    if not isinstance(fields, dict):
        raise ValueError("it is not a list of `name: value` lines")  # noqa: TRY004
    return fields


def _line_in_file(block: str, mark: yaml.Mark) -> int:
    """YAML itself also counts lines that end with U+2028; the file has one above the block."""
    return len(LINE_BREAK.findall(block, 0, mark.index)) + 2


def _read_toml(block: str) -> Fields:
    """The block's table with every scalar as text: numbers, and dates as ISO 8601 writes them."""
    # The file has one line above the block, and any line break.
    lines = "\n" + LINE_BREAK.sub("\n", block)
    _require_shallow(_nesting(lines))
    try:
        fields = tomllib.loads(lines, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(QUOTED_KEY.sub("", str(error))) from error
    return {name: _as_text(value) for name, value in fields.items()}


def _read_json(block: str) -> Fields:
    """The fields between the braces, with every scalar as text: numbers as they are written."""
    # The file has one line above the block, and any line break.
    lines = "{\n" + LINE_BREAK.sub("\n", block) + "}"
    _require_shallow(_nesting(lines) - 1)
    try:
        fields = json.loads(lines, parse_float=str, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} in line {error.lineno}") from error
    return {name: _as_text(value) for name, value in fields.items()}


def _nesting(block: str) -> int:
    """The greatest depth of brackets and of the dots in a key of TOML.

    Parsers recurse into brackets, and tomllib takes quadratic time for dotted keys.
    """
    depth = dots = deepest = 0
    for mark in TOML_MARK.finditer(block):
        depth += (mark.lastgroup == "opening") - (mark.lastgroup == "closing")
        dots += mark.lastgroup == "dot"
        dots = 0 if mark.lastgroup == "next_key" else dots
        deepest = max(deepest, depth + dots)
    return deepest


def _as_text(value: object) -> object:
    if isinstance(value, list):
        return [_as_text(part) for part in value]
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return ""
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, int) else value


def _require_shallow(depth: int) -> None:
    if depth > MAX_NESTING:
        raise ValueError(f"it is nested more than {MAX_NESTING} levels deep")


FORMS = (
    _Form(
        re.compile(r"---[ \t]*(?:\r\n|\n|\r)"),
        re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)"),
        _read_yaml,
        is_yaml=True,
    ),
    _Form(
        re.compile(r"\+\+\+[ \t]*(?:\r\n|\n|\r)"),
        re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?:\r\n|\n|\r|\Z)"),
        _read_toml,
    ),
    _Form(
        re.compile(r"\{[ \t]*(?:\r\n|\n|\r)(?=\s*\")"),
        re.compile(r"(?<=[\r\n])\}[ \t]*(?:\r\n|\n|\r|\Z)"),
        _read_json,
        may_be_example=True,
    ),
)
"""YAML, as Jekyll and most others write it; TOML, as Hugo and Zola do; JSON, as Hugo may."""
