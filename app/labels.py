"""How labels and licences are written: those of items, and those that documents give themselves."""

from collections.abc import Iterable

from app.accents import composed

MOST_TAGS = 100
MOST_TAG_CHARACTERS = 200
MOST_CATEGORY_CHARACTERS = 500
MOST_LICENCE_CHARACTERS = 200

LICENCE_SIGNS = r"[A-Za-z0-9.+\-:() ]"
"""What SPDX writes identifiers and expressions with, as a class of a pattern."""


def normalise_category(value: str | None) -> str | None:
    """`/Engineering//Security/` is written `Engineering/Security`; nothing is None.

    Letters with accents are each one character (NFC), so that they equal those of a document.
    """
    parts = [part.strip() for part in composed(value or "").split("/")]
    return "/".join(part for part in parts if part) or None


def tidy_tags(tags: Iterable[str]) -> list[str]:
    """Each tag once, trimmed and in NFC; a comma separates tags within a list as well."""
    parts = (part.strip() for tag in tags for part in composed(tag).split(","))
    return list(dict.fromkeys(part for part in parts if part))
