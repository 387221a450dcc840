"""Reads what the block at the top of a Markdown file says about it."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from app.accents import composed
from app.adapters.loading.encoding import clean
from app.adapters.loading.frontmatter_blocks import (
    LINE_BREAK,
    Fields,
    fields_by_themselves,
    find_block,
)
from app.labels import (
    LICENCE_SIGNS,
    MOST_CATEGORY_CHARACTERS,
    MOST_LICENCE_CHARACTERS,
    MOST_TAG_CHARACTERS,
    MOST_TAGS,
    normalise_category,
    tidy_tags,
)

MAX_FIELD_CHARACTERS = 2000
MAX_LANGUAGE_CHARACTERS = 64

MODIFICATION_FIELDS = ("last_modified", "lastmod", "last_updated", "updated", "modified", "date")
"""What generators of web sites call the day of the last change, the surest first."""

YEAR_FIRST = re.compile(r"^(\d{4})/(\d{1,2})/(\d{1,2})(?!\d)")
ONE_DIGIT = re.compile(r"(?<=[-T ])\d(?=[-T :]|$)")
"""Of a month, a day or an hour, as YAML itself and Hexo write `2024-5-7 8:30:00`."""

TEXT_FIELDS = (
    *("title", "document_id", "source_url", "category"),
    *("licence", "license", "language", "lang"),
)

LICENCE = re.compile(rf"{LICENCE_SIGNS}{{1,{MOST_LICENCE_CHARACTERS}}}")

READ_FIELDS = {*TEXT_FIELDS, *MODIFICATION_FIELDS, "tags"}
"""The fields that are used."""

NOTHING = {"", "~", "null"}


@dataclass(frozen=True)
class Frontmatter:
    """What a Markdown file says about itself, and where its text starts."""

    text: str
    """The text after the block; everything where there is no block that can be read."""
    first_line: int = 1
    """1-based line of the file at which `text` starts."""
    title: str | None = None
    document_id: str | None = None
    source_url: str | None = None
    category: str | None = None
    licence: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()
    modified_at: datetime | None = None
    warnings: tuple[str, ...] = ()


def read_frontmatter(text: str) -> Frontmatter:
    """Split a Markdown file into its frontmatter and its text.

    A block that cannot be read stays part of the text, and a warning says why. If it is YAML, those
    fields that can be read on their own still count: a colon too many should not cost all others.
    """
    block = find_block(text)
    if block is None:
        return Frontmatter(text)
    try:
        fields = _named_in_lower_case(block.read(block.text))
        if not fields and "#" in block.text:  # comments, or a heading between two rules
            raise ValueError("it names no field")  # noqa: TRY301
    except ValueError as error:
        whole = fields_by_themselves(block.text, READ_FIELDS) if block.is_yaml else {}
        warning = f"The frontmatter cannot be read: {error}."
        return _told(_named_in_lower_case(whole), text, 1, (warning,))
    if block.may_be_example and not fields.keys() & READ_FIELDS:
        return Frontmatter(text)
    first_line = len(LINE_BREAK.findall(text, 0, block.end)) + 1
    warnings = tuple(f"The frontmatter's {problem}." for problem in _problems(fields))
    return _told(fields, text[block.end :], first_line, warnings)


def _told(fields: Fields, text: str, first_line: int, warnings: tuple[str, ...]) -> Frontmatter:
    return Frontmatter(
        text=text,
        first_line=first_line,
        title=_text(fields.get("title")),
        document_id=_text(fields.get("document_id")),
        source_url=_text(fields.get("source_url")),
        category=_category(fields.get("category")),
        licence=_licence(fields),
        language=_language(fields),
        tags=_tags(fields.get("tags")),
        modified_at=_modified_at(fields),
        warnings=warnings,
    )


def _named_in_lower_case(fields: Fields) -> Fields:
    """What Pelican and others call `Title` is the title, unless there is a `title` as well."""
    return {name.lower(): value for name, value in fields.items() if isinstance(name, str)} | fields


def _problems(fields: Fields) -> Iterator[str]:
    """What is left out because it is not of the kind that its name asks for."""
    for name in TEXT_FIELDS:
        if not isinstance(fields.get(name, ""), str):
            yield f"{name} is a list or a mapping, where text is needed, and is not used"
    for name in MODIFICATION_FIELDS:
        if (told := _text(fields.get(name))) and _moment(told) is None:
            yield f"{name} is no date as 2026-11-22 is one, and is not used"
    for name in ("language", "lang"):
        if len(_text(fields.get(name)) or "") > MAX_LANGUAGE_CHARACTERS:
            yield f"{name} is too long for one, and is not used"
    for name in ("licence", "license"):
        if (told := _text(fields.get(name))) and not LICENCE.fullmatch(told):
            yield f"{name} is not written as SPDX has it, and may count as unknown"
    tags = fields.get("tags", "")
    if isinstance(tags, dict):
        yield "tags are a mapping, where a list or text is needed, and are not used"
    if isinstance(tags, list) and not all(isinstance(tag, str) for tag in tags):
        yield "tags hold lists or mappings, which are not used"
    if len(_tag_parts(tags)) > MOST_TAGS:
        yield f"tags are more than {MOST_TAGS}, and only the first ones are used"


def _text(value: object) -> str | None:
    if not isinstance(value, str) or value.strip().lower() in NOTHING:
        return None
    return " ".join(clean(value).split())[:MAX_FIELD_CHARACTERS] or None


def _label(value: object) -> str | None:
    """In NFC, as labels of items are: editors and file names may take accents apart."""
    found = _text(value)
    return composed(found) if found else None


def _licence(fields: Fields) -> str | None:
    """What is too long is cut so that nobody can take what is left for a licence."""
    found = _text(fields.get("licence")) or _text(fields.get("license"))
    if found is None or len(found) <= MOST_LICENCE_CHARACTERS:
        return found
    return found[: MOST_LICENCE_CHARACTERS - 1] + "…"


def _language(fields: Fields) -> str | None:
    found = _text(fields.get("language")) or _text(fields.get("lang"))
    return found if found and len(found) <= MAX_LANGUAGE_CHARACTERS else None


def _tag_parts(value: object) -> list[str]:
    """What stands between commas, in a text or in the texts of a list."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list):
        return []
    return [part for tag in parts if isinstance(tag, str) for part in tag.split(",")]


def _tags(value: object) -> tuple[str, ...]:
    found = map(_label, _tag_parts(value)[:MOST_TAGS])
    return tuple(tidy_tags(tag[:MOST_TAG_CHARACTERS] for tag in found if tag))


def _category(value: object) -> str | None:
    """Cut off where it is too long."""
    found = normalise_category(_text(value)) or ""
    return found[:MOST_CATEGORY_CHARACTERS].strip("/ ") or None


def _modified_at(fields: Fields) -> datetime | None:
    """The first field that is a date or a time, in ISO 8601 or near; without a zone, in UTC."""
    told = (_text(fields.get(name)) for name in MODIFICATION_FIELDS)
    return next((moment for each in told if each and (moment := _moment(each))), None)


def _moment(told: str) -> datetime | None:
    padded = ONE_DIGIT.sub(r"0\g<0>", YEAR_FIRST.sub(r"\1-\2-\3", told))
    for written in (told, padded.replace(" UTC", "Z")):
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(written)
            return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return None
