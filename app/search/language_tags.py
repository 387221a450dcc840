"""What a language stands for: `en` for `en-US`, too (basic filtering of RFC 4647, 3.3.1)."""

from typing import Any

from sqlalchemy import ColumnElement, func, or_

from app.text_order import by_character


def language_tag(name: str) -> str:
    """The form in which names of languages are compared: `en_US` is `en-us`."""
    return name.strip().lower().replace("_", "-")


def tags_that_hold(name: str) -> set[str]:
    """The tags that stand for this language: its own, and each beginning before a hyphen."""
    parts = language_tag(name).split("-")
    return {"-".join(parts[: count + 1]) for count in range(len(parts))}


def in_language(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Whether the language in this column is the one named, or a kind of it."""
    # By its characters: in a Turkish database the small form of I has no dot.
    tag, stored = language_tag(name), func.replace(func.lower(by_character(column)), "_", "-")
    return or_(stored == tag, stored.startswith(f"{tag}-", autoescape=True))
