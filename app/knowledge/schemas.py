"""Knowledge items as JSON: what is accepted and what is answered."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.knowledge.item_fields import (
    Category,
    Importance,
    ItemCollection,
    Licence,
    RefreshInterval,
    Tags,
    Title,
    TypeOfDocument,
    Uri,
)
from app.knowledge.items import DocumentType, ItemDraft, ItemStatus, type_complaint


class NewItemStatus(StrEnum):
    """What a new item may be: it becomes `active` by being indexed."""

    PENDING = "pending"
    ARCHIVED = "archived"


class SettableItemStatus(StrEnum):
    """What a client may make of an item; `error` is set by the service alone."""

    PENDING = "pending"
    ACTIVE = "active"
    ARCHIVED = "archived"


class ItemSort(StrEnum):
    """What a list is sorted by; `-` in front: descending."""

    ID = "id"
    ID_DESCENDING = "-id"
    TITLE = "title"
    TITLE_DESCENDING = "-title"
    CREATED_AT = "created_at"
    CREATED_AT_DESCENDING = "-created_at"
    UPDATED_AT = "updated_at"
    UPDATED_AT_DESCENDING = "-updated_at"


READ_ONLY = frozenset(
    {
        "id",
        "content_hash",
        "last_fetched_at",
        "indexed_at",
        "created_at",
        "updated_at",
        "chunk_count",
        "error",
    }
)
"""Answered, and ignored when handed back: a client may GET an item, change it and PUT it."""


class ItemFields(BaseModel):
    """Common to the bodies that a client sends: unknown fields are refused, read-only ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_read_only_fields(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {name: value for name, value in data.items() if name not in READ_ONLY}
        return data

    @model_validator(mode="after")
    def _type_suits_uri(self) -> Self:
        document_type = getattr(self, "document_type", None)
        uri = getattr(self, "uri", None)
        complaint = type_complaint(document_type, uri) if document_type and uri else None
        if complaint:
            raise ValueError(complaint)
        return self


class WholeItem(ItemFields):
    """All that a client says of an item, but for its status."""

    title: Title
    uri: Uri
    document_type: TypeOfDocument
    category: Category = None
    tags: Tags = Field(default_factory=list)
    collection: ItemCollection | None = Field(
        None, description="Default: that of CHROMA_COLLECTION_NAME, `knowledge_base`."
    )
    licence: Licence = None
    refresh_interval: RefreshInterval = None
    importance: Importance = None

    def draft(self) -> ItemDraft:
        """As the service takes it."""
        # As JSON: what reaches SQL is plain text, not members of an enumeration.
        return ItemDraft(**{**self.model_dump(mode="json"), "tags": tuple(self.tags)})


class ItemCreate(WholeItem):
    """A new knowledge item."""

    status: NewItemStatus | None = Field(
        None,
        description="Default: `pending`, until the item is indexed. `archived` items are never "
        "searched.",
    )


class ItemReplacement(WholeItem):
    """The whole new state of a knowledge item; one that was read can be handed back."""

    status: ItemStatus | None = Field(
        None,
        description="`archived` archives the item, any other brings an archived one back: as "
        "`active` if it is indexed, else as `pending`. Whether an item is pending, active or in "
        "error is for the service to say, so one that was read a while ago can be put back. Left "
        "out: stays as it is.",
    )


class ItemUpdate(ItemFields):
    """The fields to change; what is left out stays as it is."""

    # What a field holds that was left out is never read. It comes from a factory, because a default
    # would stand in the description, and a generated client would send it.
    title: Title = Field(default_factory=str)
    uri: Uri = Field(default_factory=str)
    document_type: TypeOfDocument = Field(default_factory=lambda: DocumentType.MARKDOWN)
    category: Category = None
    tags: Tags = Field(default_factory=list)
    collection: ItemCollection = Field(default_factory=str)
    licence: Licence = None
    refresh_interval: RefreshInterval = None
    importance: Importance = None
    status: SettableItemStatus = Field(
        default_factory=lambda: SettableItemStatus.PENDING,
        description="`pending`: to be indexed again. `active` brings an archived item back, as "
        "`pending` if it is not indexed.",
    )

    def changes(self) -> dict[str, Any]:
        """Just the fields that were given."""
        changes = self.model_dump(mode="json", exclude_unset=True)
        if "tags" in changes:
            changes["tags"] = tuple(changes["tags"])
        return changes


class Item(BaseModel):
    """A knowledge item."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    title: str
    uri: str
    document_type: DocumentType
    category: str | None
    tags: list[str]
    collection: str
    licence: str | None
    refresh_interval: int | None = Field(
        description="Seconds between two looks at the source; 0: never, null: what suits its type."
    )
    importance: float | None = Field(description="0 to 1; null: nothing is said of it.")
    status: ItemStatus = Field(description="`archived` items are never searched.")
    content_hash: str | None = Field(
        description="SHA-256 of what was indexed last; null while nothing of this `uri` is."
    )
    last_fetched_at: datetime | None = Field(
        description="When its source was last read with success; null: never."
    )
    indexed_at: datetime | None = Field(
        description="When indexing last succeeded; null: never, or taken out again."
    )
    created_at: datetime
    updated_at: datetime = Field(description="When a client last changed it, or added it.")
    chunk_count: int = Field(description="Chunks of it that are stored.")
    error: str | None = Field(description="Why the last indexing failed; null after a success.")


class ItemPage(BaseModel):
    """One page of knowledge items."""

    model_config = ConfigDict(from_attributes=True)

    items: list[Item] = Field(description="In the order of `sort`.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last.")
    total: int = Field(description="Items on all pages.")
