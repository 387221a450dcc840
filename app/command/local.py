"""The service in this process, on the data directory of the settings."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from app.command.backend import ITEMS_A_PAGE
from app.command.care_schemas import CompactionReport, VerifyReport
from app.command.display import say, working
from app.command.log_lines import write_log
from app.container import Container
from app.knowledge.items import ItemFilter, ItemStatus
from app.knowledge.schemas import Item, ItemCreate, ItemPage, ItemUpdate
from app.labels import normalise_category
from app.protocols import ProgressListener
from app.rag.answer_schemas import SearchAnswer
from app.rag.generation_schemas import Generation, GenerationList
from app.rag.schemas import CollectionStats, IndexingResult
from app.rag.search_schemas import SearchBody
from app.settings import Settings


class ContainerBackend:
    """A LocalBackend on an open container, which belongs to the caller."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def page(
        self, status: ItemStatus | None, category: str | None, text: str | None, cursor: str | None
    ) -> ItemPage:
        """One page of items; `text` stands in title or uri."""
        wanted = ItemFilter(status=status, category=normalise_category(category), text=text)
        page = self._container.knowledge.list(wanted, "id", ITEMS_A_PAGE, cursor)
        return ItemPage.model_validate(page)

    def item(self, knowledge_id: int) -> Item:
        """One item; raises NotFoundError."""
        return Item.model_validate(self._container.knowledge.get(knowledge_id))

    def create(self, item: ItemCreate) -> Item:
        """Add an item."""
        return Item.model_validate(self._container.knowledge.create(item.draft()))

    def update(self, knowledge_id: int, changes: ItemUpdate) -> Item:
        """Change the fields that were given; raises NotFoundError."""
        updated = self._container.knowledge.update(knowledge_id, changes.changes())
        return Item.model_validate(updated)

    def remove(self, knowledge_id: int) -> None:
        """Delete an item with everything indexed from it; raises NotFoundError."""
        self._container.knowledge.delete(knowledge_id)

    def index(
        self, knowledge_id: int, *, force: bool, progress: ProgressListener
    ) -> IndexingResult:
        """Index an item, and tell how far it is; raises NotFoundError.

        Runs in the calling thread, which is the one that Ctrl-C interrupts: behind
        `rag.index_item` a worker thread would go on to the end.
        """
        result = self._container.rag.index_here(knowledge_id, progress, force=force)
        return IndexingResult.model_validate(result)

    def search(self, body: SearchBody) -> SearchAnswer:
        """Find the chunks that answer a question."""
        request = body.request()
        return SearchAnswer.of(anyio.run(self._container.rag.answer, request), request)

    def stats(self) -> CollectionStats:
        """Count what is stored."""
        return CollectionStats.model_validate(self._container.rag.get_collection_stats())

    def generations(self) -> GenerationList:
        """Which model and splitter made what is stored, and how far a change is."""
        reports = self._container.rag.generations()
        return GenerationList(generations=[Generation.of(each) for each in reports])

    def drop_generation(self, generation_id: int) -> None:
        """Drop a kept generation; raises NotFoundError, ConflictError."""
        self._container.rag.drop_generation(generation_id)

    def verify(self, *, repair: bool) -> VerifyReport:
        """Compare SQL with itself and with both indexes; with `repair`, mend what differs."""
        return VerifyReport.model_validate(self._container.rag.verify(repair=repair))

    def compact(self) -> CompactionReport:
        """Give space back, and erase for good what was deleted; raises StorageError."""
        return CompactionReport.model_validate(self._container.rag.compact())

    def rebuild(self, *, embed: bool) -> None:
        """Switch to what the settings want, or else refill both indexes; see LocalBackend."""
        self._container.rag.rebuild(embed=embed)


@contextmanager
def open_local(settings: Settings, *, any_model: bool = False) -> Iterator[ContainerBackend]:
    """Hold the data directory of the settings for the block; see LocalOpener."""
    write_log(logging.WARNING, "%(levelname)s: %(message)s")
    with working("Opening the data directory"):
        container = Container.open(settings, any_model=any_model, run_jobs=False)
    if container.needs_renewal:
        say(
            "Note: what is stored was cut or embedded in another way than by the settings and this "
            "version. A server changes that in the background, `groundwork rebuild` at once."
        )
    try:
        yield ContainerBackend(container)
    finally:
        # Whoever presses Ctrl-C once more does not want to wait: as safe as any kill is.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        container.close()
