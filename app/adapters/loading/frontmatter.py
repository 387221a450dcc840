"""Reads the YAML block at the top of a Markdown file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import yaml

from app.accents import composed
from app.adapters.loading.encoding import clean

MAX_FRONTMATTER_CHARACTERS = 64 * 1024
MAX_NESTING = 20
MAX_FIELD_CHARACTERS = 2000
MAX_LANGUAGE_CHARACTERS = 64
MAX_LICENCE_CHARACTERS = 200
MAX_TAGS = 100
MAX_TAG_CHARACTERS = 200
MAX_CATEGORY_CHARACTERS = 500

MODIFICATION_FIELDS = ("last_modified", "lastmod", "last_updated", "updated", "modified", "date")
"""What generators of web sites call the day of the last change, the surest first."""

TEXT_FIELDS = (
    *("title", "document_id", "source_url", "category"),
    *("licence", "license", "language", "lang"),
)

OPENING = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
CLOSING = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
LINE_BREAK = re.compile(r"\r\n|\n|\r")
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

    A block that cannot be read stays part of the text, and a warning says why.
    """
    opening = OPENING.match(text)
    if not opening:
        return Frontmatter(text)
    closing = CLOSING.search(text, opening.end(), opening.end() + MAX_FRONTMATTER_CHARACTERS)
    if not closing:
        return Frontmatter(text)
    block = text[opening.end() : closing.start()]
    try:
        fields = _parse(block)
    except yaml.MarkedYAMLError as error:
        # The mark counts the block's lines from 0, and the file has one line above them.
        line = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        reason = f"{error.problem or error.context}{line}"
        return Frontmatter(text, warnings=(f"The frontmatter cannot be read: {reason}.",))
    except (yaml.YAMLError, ValueError) as error:
        return Frontmatter(text, warnings=(f"The frontmatter cannot be read: {error}.",))
    return Frontmatter(
        text=text[closing.end() :],
        first_line=len(LINE_BREAK.findall(text, 0, closing.end())) + 1,
        title=_text(fields.get("title")),
        document_id=_text(fields.get("document_id")),
        source_url=_text(fields.get("source_url")),
        category=_category(fields.get("category")),
        licence=_licence(fields),
        language=_language(fields),
        tags=_tags(fields.get("tags")),
        modified_at=_modified_at(fields),
        warnings=tuple(f"The frontmatter's {problem}." for problem in _problems(fields)),
    )


def _parse(block: str) -> dict[object, object]:
    """The block's mapping with every scalar as it is written: `2024` and `yes` stay text.

    yaml.BaseLoader makes no objects and merges no keys, so neither tags nor aliases can do harm;
    only nesting must be bounded, since it recurses.
    """
    depth = 0
    for event in yaml.parse(block, Loader=yaml.BaseLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            raise ValueError(f"it is nested more than {MAX_NESTING} levels deep")
    fields = yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506  builds only str, list, dict
    if fields in (None, ""):
        return {}
    if not isinstance(fields, dict):
        raise ValueError("it is not a list of `name: value` lines")  # noqa: TRY004
    return fields


def _problems(fields: dict[object, object]) -> Iterator[str]:
    """What is left out because it is not of the kind that its name asks for."""
    for name in TEXT_FIELDS:
        if not isinstance(fields.get(name, ""), str):
            yield f"{name} is a list or a mapping, where text is needed, and is not used"
    tags = fields.get("tags", "")
    if isinstance(tags, dict):
        yield "tags are a mapping, where a list or text is needed, and are not used"
    if isinstance(tags, list) and not all(isinstance(tag, str) for tag in tags):
        yield "tags hold lists or mappings, which are not used"
    if len(_tag_parts(tags)) > MAX_TAGS:
        yield f"tags are more than {MAX_TAGS}, and only the first ones are used"


def _text(value: object) -> str | None:
    if not isinstance(value, str) or value.strip().lower() in NOTHING:
        return None
    return " ".join(clean(value).split())[:MAX_FIELD_CHARACTERS] or None


def _label(value: object) -> str | None:
    """In NFC, as labels of items are: editors and file names may take accents apart."""
    found = _text(value)
    return composed(found) if found else None


def _licence(fields: dict[object, object]) -> str | None:
    """What is too long is cut so that nobody can take what is left for a licence."""
    found = _text(fields.get("licence")) or _text(fields.get("license"))
    if found is None or len(found) <= MAX_LICENCE_CHARACTERS:
        return found
    return found[: MAX_LICENCE_CHARACTERS - 1] + "…"


def _language(fields: dict[object, object]) -> str | None:
    found = _text(fields.get("language")) or _text(fields.get("lang"))
    return found if found and len(found) <= MAX_LANGUAGE_CHARACTERS else None


def _tag_parts(value: object) -> list[str]:
    """What stands between commas, in a text or in the texts of a list."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list):
        return []
    return [part for tag in parts if isinstance(tag, str) for part in tag.split(",")]


def _tags(value: object) -> tuple[str, ...]:
    found = map(_label, _tag_parts(value)[:MAX_TAGS])
    clipped = (tag[:MAX_TAG_CHARACTERS].strip() for tag in found if tag)
    return tuple(dict.fromkeys(tag for tag in clipped if tag))


def _category(value: object) -> str | None:
    """As categories of items are written: `/Engineering//Security/` is `Engineering/Security`."""
    parts = (part.strip() for part in (_label(value) or "").split("/"))
    return "/".join(part for part in parts if part)[:MAX_CATEGORY_CHARACTERS].strip("/ ") or None


def _modified_at(fields: dict[object, object]) -> datetime | None:
    """The first of the fields that is a date or a time of ISO 8601; without a zone, in UTC."""
    for name in MODIFICATION_FIELDS:
        told = _text(fields.get(name))
        try:
            moment = datetime.fromisoformat(told) if told else None
            if moment is not None:
                return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None
