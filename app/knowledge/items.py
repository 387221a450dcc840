"""What a knowledge item is, apart from HTTP and SQL."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal

TagsMatch = Literal["any", "all"]
"""Whether one of several tags is enough, or all are needed."""


class DocumentType(StrEnum):
    """What lies at an item's `uri`."""

    MARKDOWN = "markdown"
    WEBSITE = "website"
    FOLDER = "folder"


class ItemStatus(StrEnum):
    """Where an item stands. `archived` items are never searched."""

    PENDING = "pending"
    ACTIVE = "active"
    ERROR = "error"
    ARCHIVED = "archived"


@dataclass(frozen=True)
class ItemDraft:
    """What a client may say of an item."""

    title: str
    uri: str
    document_type: str
    category: str | None = None
    tags: tuple[str, ...] = ()
    collection: str | None = None
    """None: the service's default collection."""
    licence: str | None = None
    status: str | None = None
    """None: `pending` for a new item, unchanged for an old one."""
    refresh_interval: int | None = None
    """Seconds; 0: never, None: what suits its type."""
    importance: float | None = None
    """0 to 1; None: nothing is said of it."""


@dataclass(frozen=True)
class KnowledgeItem:
    """An item as it stands."""

    id: int
    title: str
    uri: str
    document_type: str
    category: str | None
    tags: tuple[str, ...]
    collection: str
    licence: str | None
    importance: float | None
    status: str
    content_hash: str | None
    error: str | None
    last_fetched_at: datetime | None
    indexed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    chunk_count: int
    refresh_interval: int | None = None
    """Seconds between two looks at the source; 0: never, None: what suits its type."""


@dataclass(frozen=True)
class ItemFilter:
    """Which items are meant; None everywhere means all."""

    status: str | None = None
    statuses_not: tuple[str, ...] = ()
    category: str | None = None
    """With everything below it: `Engineering` also means `Engineering/Security`."""
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = "any"
    document_type: str | None = None
    collection: str | None = None
    ids: tuple[int, ...] | None = None
    text: str | None = None
    """Found in title or uri, whatever the case."""


@dataclass(frozen=True)
class ItemPage:
    """A page of items."""

    items: tuple[KnowledgeItem, ...]
    next_cursor: str | None
    total: int
    """How many items the filter means, on all pages."""


def is_web_address(uri: str) -> bool:
    """Whether a uri leads into the web."""
    return uri.strip().lower().startswith(("http://", "https://"))


def type_complaint(document_type: str, uri: str) -> str | None:
    """What is wrong with a `uri` for this type of document, or None."""
    remote = is_web_address(uri)
    if document_type == "website" and not remote:
        return "a website's uri starts with http:// or https://"
    if document_type == "folder" and remote:
        return "a folder's uri is a path or a file:// address"
    return None


def with_relative_path_explained(error: str, uri: str) -> str:
    """The error of a source; for a relative path, with the folder at which it started."""
    path = uri[len("file:") :] if uri.lower().startswith("file:") else uri
    if path.startswith(("/", "~")) or "://" in path:
        return error
    return (
        f"{error.rstrip('.')}. A relative path starts at the working directory of the service, "
        f"{Path.cwd()}; an absolute one means the same wherever that is started."
    )
