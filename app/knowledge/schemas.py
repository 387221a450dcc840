"""Knowledge items as JSON: what is accepted and what is answered."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from app.knowledge.items import ItemDraft, normalise_category, tidy_tags, type_complaint
from app.knowledge.refreshing import LOCAL_SECONDS, MOST_SECONDS, WEB_SECONDS
from app.web.parameters import is_number


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


Status = ItemStatus
"""Its short name in code."""


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


MOST_TAGS = 100
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

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and halves of characters: JSON can write these, SQL cannot store them."""

URI_PATTERN = (
    r"^(([fF][iI][lL][eE]|[hH][tT][tT][pP][sS]?)://[^\u0000-\u001f\u007f]*"
    r"|[^\u0000-\u0020\u007f-\u00a0:][^\u0000-\u001f\u007f:]*"
    r"(:/?([^\u0000-\u001f\u007f/][^\u0000-\u001f\u007f]*)?)?)$"
)
"""The rules for addresses, for clients that check before they send: another `x://` is refused."""

URI_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(//)?")


def _one_line(value: str) -> str:
    if CONTROL_CHARACTERS.search(value):
        raise ValueError("must not contain control characters or halves of characters")
    return value


def _not_blank(value: str) -> str:
    value = value.strip()
    if not value:
        raise ValueError("must not be empty")
    return value


def _supported_uri(value: str) -> str:
    scheme = URI_SCHEME.match(value)
    if scheme and scheme[2] and scheme[1].lower() not in ("file", "http", "https"):
        raise ValueError("must be a path, a file:// address or an http(s):// address")
    return value


def _split_tags(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


ONE_LINE_PATTERN = r"^[^\u0000-\u001f\u007f]*[^\u0000-\u0020\u007f-\u00a0][^\u0000-\u001f\u007f]*$"
"""The rule of `_one_line` and `_not_blank`, for clients that check before they send."""

NO_CONTROL_PATTERN = r"^[^\u0000-\u001f\u007f]*$"
"""The rule of `_one_line`, for clients that check before they send."""

Title = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        examples=["FastAPI documentation"],
        json_schema_extra={"pattern": ONE_LINE_PATTERN},
    ),
    AfterValidator(_one_line),
    AfterValidator(_not_blank),
]
Uri = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4096,
        description="A path, a `file://` address or an `http(s)://` address. A path is one of the "
        "machine that the service runs on, below one of its SOURCE_ROOTS; a relative one starts at "
        "the working directory of the service, so an absolute one is the safer choice.",
        examples=["/srv/docs"],
        json_schema_extra={"pattern": URI_PATTERN},
    ),
    AfterValidator(_one_line),
    AfterValidator(_not_blank),
    AfterValidator(_supported_uri),
]
Category = Annotated[
    Annotated[
        str,
        Field(max_length=500, json_schema_extra={"pattern": NO_CONTROL_PATTERN}),
        AfterValidator(_one_line),
    ]
    | None,
    AfterValidator(normalise_category),
    Field(
        description="`/` makes a hierarchy: a search for `Engineering` finds "
        "`Engineering/Security` too.",
        examples=["Engineering/Security"],
    ),
]
Tag = Annotated[
    str,
    Field(max_length=200, json_schema_extra={"pattern": NO_CONTROL_PATTERN}),
    AfterValidator(_one_line),
]
TagsAsText = Annotated[str, Field(max_length=200, pattern=NO_CONTROL_PATTERN)]
Tags = Annotated[
    list[Tag],
    Field(max_length=MOST_TAGS),  # as they are sent, before they are tidied
    BeforeValidator(
        _split_tags,
        json_schema_input_type=Annotated[list[Tag], Field(max_length=MOST_TAGS)] | TagsAsText,
    ),
    AfterValidator(tidy_tags),
    Field(
        description="A list, or one string with commas; answered as a list.",
        examples=[["docker", "production"]],
    ),
]
Licence = Annotated[
    str | None,
    Field(
        max_length=200,
        pattern=r"^[A-Za-z0-9.+\-:() ]+$",
        description="SPDX licence identifier or expression.",
        examples=["Apache-2.0"],
    ),
]
RefreshInterval = Annotated[
    Annotated[int, Field(ge=0, le=MOST_SECONDS), BeforeValidator(is_number)] | None,
    Field(
        description="Seconds after which the source of an indexed item is looked at again by "
        "itself; 0: never, nor is it watched. null: what suits it, "
        f"{LOCAL_SECONDS} for files and folders, {WEB_SECONDS:,} (a day) for web pages. After "
        "failures it takes longer.",
        examples=[600],
    ),
]
Collection = Annotated[
    str,
    Field(min_length=1, max_length=500, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"),
]


Importance = Annotated[
    Annotated[float, Field(ge=0, le=1), BeforeValidator(is_number)] | None,
    Field(
        description="How important its texts are, for searches whose ranking asks; null: nothing "
        "is said of it, and the names of the files decide.",
        examples=[0.8],
    ),
]


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
    document_type: DocumentType
    category: Category = None
    tags: Tags = Field(default_factory=list)
    collection: Collection | None = Field(None, description="Default: `knowledge_base`.")
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

    title: Title = Field(default="")
    uri: Uri = Field(default="")
    document_type: DocumentType = Field(default=DocumentType.MARKDOWN)
    category: Category = None
    tags: Tags = Field(default_factory=list)
    collection: Collection = Field(default="")
    licence: Licence = None
    refresh_interval: RefreshInterval = None
    importance: Importance = None
    status: SettableItemStatus = Field(
        default=SettableItemStatus.PENDING,
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
    importance: float | None
    status: ItemStatus
    content_hash: str | None = Field(
        description="SHA-256 of what was indexed last; null while nothing of this `uri` is."
    )
    last_fetched_at: datetime | None
    indexed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    chunk_count: int
    error: str | None = Field(description="Why the last indexing failed; null after a success.")


class ItemPage(BaseModel):
    """One page of knowledge items."""

    model_config = ConfigDict(from_attributes=True)

    items: list[Item]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last.")
    total: int = Field(description="Items on all pages.")
