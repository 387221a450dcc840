"""What the commands need of the service: the same whether it is opened here or called over HTTP."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from pydantic import BaseModel, Field

from app.command.care_schemas import CompactionReport, VerifyReport
from app.knowledge.filters import CategoryFilter
from app.knowledge.items import ItemStatus
from app.knowledge.schemas import Item, ItemCreate, ItemPage, ItemUpdate
from app.protocols import ProgressListener
from app.rag.answer_schemas import SearchAnswer
from app.rag.generation_schemas import GenerationList
from app.rag.schemas import CollectionStats, IndexingResult
from app.rag.search_schemas import SearchBody

ITEMS_A_PAGE = 200


class Listed(BaseModel):
    """Which items a list shows: a category that names nothing is refused, as over HTTP."""

    status: ItemStatus | None = None
    category: CategoryFilter | None = None


class Postponed(IndexingResult):
    """A failure after which the server tries again by itself, as its `error` says."""

    reason: str = Field(exclude=True)
    """What went wrong, without that promise."""

    def given_up(self) -> IndexingResult:
        """The same, once nothing is tried again."""
        return IndexingResult.model_validate(self.model_dump() | {"error": self.reason})


class Backend(Protocol):
    """A Groundwork service. Every failure is an AppError."""

    def page(
        self, status: ItemStatus | None, category: str | None, text: str | None, cursor: str | None
    ) -> ItemPage:
        """One page of items; `text` stands in title or uri."""
        ...

    def item(self, knowledge_id: int) -> Item:
        """One item; raises AppError when there is none."""
        ...

    def create(self, item: ItemCreate) -> Item:
        """Add an item."""
        ...

    def update(self, knowledge_id: int, changes: ItemUpdate) -> Item:
        """Change the fields that were given."""
        ...

    def remove(self, knowledge_id: int) -> None:
        """Delete an item with everything indexed from it."""
        ...

    def index(
        self, knowledge_id: int, *, force: bool, progress: ProgressListener
    ) -> IndexingResult:
        """Index an item, and tell how far it is; KeyboardInterrupt stops the work."""
        ...

    def search(self, body: SearchBody) -> SearchAnswer:
        """Find the chunks that answer a question."""
        ...

    def stats(self) -> CollectionStats:
        """Count what is stored."""
        ...

    def generations(self) -> GenerationList:
        """Which model and splitter made what is stored, and how far a change is."""
        ...

    def drop_generation(self, generation_id: int) -> None:
        """Drop a kept generation; raises AppError for one that is not kept."""
        ...


def all_items(
    backend: Backend,
    *,
    status: ItemStatus | None = None,
    category: str | None = None,
    text: str | None = None,
) -> Iterator[Item]:
    """The items of all pages, in the order of their ids; see `Backend.page`."""
    cursor: str | None = None
    while True:
        page = backend.page(status, category, text, cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


class LocalBackend(Backend, Protocol):
    """A service that runs in this process, on a data directory of its own."""

    def verify(self, *, repair: bool) -> VerifyReport:
        """Compare SQL with itself and with both indexes; with `repair`, mend what differs."""
        ...

    def compact(self) -> CompactionReport:
        """Give space back, and erase for good what was deleted."""
        ...

    def rebuild(self, *, embed: bool) -> None:
        """Switch to the model and splitter of the settings, or else refill both indexes from SQL.

        Refilling embeds nothing; with `embed`, it first embeds what has no vector.
        """
        ...


class LocalOpener(Protocol):
    """Opens the data directory of the settings for a block."""

    def __call__(
        self, *, any_model: bool = False, must_exist: bool = False
    ) -> AbstractContextManager[LocalBackend]:
        """Open it; raises StartupError.

        `any_model`: do without the model that embedded what is stored, which may be lost. Only for
        work that embeds everything again. `must_exist`: raise it, too, where there is neither a
        data directory nor a database elsewhere.
        """
        ...
