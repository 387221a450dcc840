"""RAGService: the one door to everything Groundwork does. Everything below it is synchronous."""

import atexit
import functools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from app.errors import StoppingError
from app.generations.records import GenerationReport
from app.indexing.compaction import CompactionReport
from app.indexing.maintenance import CollectionStats, VerifyReport
from app.indexing.results import BulkIndexingResult, IndexingResult
from app.jobs.kinds import INDEX_ALL_JOB, INDEX_JOB, index_all_arguments, index_arguments
from app.jobs.records import Job, JobHandler
from app.knowledge.drafts import sound_draft
from app.knowledge.existing_items import require_item_id
from app.knowledge.items import TagsMatch
from app.knowledge.statuses import require_known_status
from app.protocols import ProgressListener
from app.rag.answers import bulk_answer, indexing_answer
from app.rag.engine import Engine
from app.rag.indexing_jobs import IndexingJobs
from app.rag.threads import WorkerThreads
from app.search.collection_settings import Collection
from app.search.context import ContextAnswer
from app.search.profiles import RankingWishes
from app.search.requests import ContextRequest, Mode, SearchRequest
from app.search.results import SearchAnswer, SearchResult
from app.search.soundness import listed, require_sound_ranking, sound_context, sound_search


class RAGService:
    """Indexes and searches knowledge. Its `async` methods work on worker threads.

    Used inside the service, or as a library:

        with RAGService(persist_directory="./data") as rag:
            await rag.index_knowledge(1, "Guide", "guide.md", "markdown")
            results = await rag.search("how do I configure it?")
    """

    def __init__(
        self,
        persist_directory: str | Path | None = None,
        collection_name: str | None = None,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        embedding_model: str | None = None,
        *,
        engine: Engine | None = None,
    ) -> None:
        """Open a data directory; arguments that are None come from the environment.

        `persist_directory` is a data directory, or the folder `chroma` in one. Raises StartupError
        when it is in use or cannot be written, or when the model cannot be opened, and pydantic's
        ValidationError for a setting that cannot be used.
        """
        if engine is None:
            # A library composes itself: this is the one import against the order of the layers.
            from app.library import open_as_library  # noqa: PLC0415

            engine = open_as_library(
                persist_directory, collection_name, chunk_size, chunk_overlap, embedding_model
            )
        self._opened = engine
        self._is_closed = False
        self._threads = WorkerThreads(engine.searches_at_once, engine.most_waiting_searches)

    # Indexing ------------------------------------------------------------------------------

    async def index_knowledge(
        self,
        knowledge_id: int,
        title: str,
        uri: str,
        document_type: str,
        category: str | None = None,
        tags: Sequence[str] | str | None = None,
    ) -> IndexingResult:
        """Create or update the item with this id, and index it.

        A source that cannot be read gives `success=False` and an `error`, not an exception. Raises
        InvalidRequestError for an item that HTTP would refuse.
        """
        draft = sound_draft(
            title=title,
            uri=uri,
            document_type=document_type,
            category=category,
            tags=() if tags is None else tags,
        )
        save = functools.partial(self._engine.knowledge.save, knowledge_id, draft)
        await self._threads.run(save)
        return await self.index_item(knowledge_id)

    async def index_item(self, knowledge_id: int, *, force: bool = False) -> IndexingResult:
        """Index an item that exists; raises NotFoundError and InvalidRequestError.

        It becomes a job, which goes on even if the caller stops waiting for it.
        """
        submit = functools.partial(self._submit_index, knowledge_id, force=force, waited_for=True)
        return indexing_answer(await self._watched(submit))

    async def index_all(
        self, status: str | None = None, *, force: bool = False
    ) -> BulkIndexingResult:
        """Index all items of a status, or all but the archived ones; also as a job.

        Raises InvalidRequestError for a status that no item can have.
        """
        submit = functools.partial(self._submit_index_all, status, force=force, waited_for=True)
        return bulk_answer(await self._watched(submit))

    def index_here(
        self, knowledge_id: int, progress: ProgressListener, *, force: bool = False
    ) -> IndexingResult:
        """Index an item in the calling thread, so that Ctrl-C interrupts it.

        It is still a job: if the process is killed, the next server finishes it. Raises
        NotFoundError.
        """
        self._engine.knowledge.get(knowledge_id)
        arguments = index_arguments(knowledge_id, force=force)
        return indexing_answer(self._engine.run_job(INDEX_JOB, arguments, progress))

    async def remove_knowledge(self, knowledge_id: int) -> bool:
        """Take an item's chunks out of the index, and keep the item; False if it had none.

        Raises NotFoundError and InvalidRequestError.
        """
        require_item_id(knowledge_id)
        remove = functools.partial(self._engine.indexer.remove, knowledge_id)
        return await self._threads.run(remove)

    async def submit_index(self, knowledge_id: int, *, force: bool = False) -> Job:
        """Promise to index an item; raises NotFoundError and InvalidRequestError."""
        return await self._threads.run(
            functools.partial(self._submit_index, knowledge_id, force=force)
        )

    async def submit_index_all(self, status: str | None = None, *, force: bool = False) -> Job:
        """Promise to index all items of a status, or all but the archived ones.

        Raises InvalidRequestError for a status that no item can have.
        """
        return await self._threads.run(
            functools.partial(self._submit_index_all, status, force=force)
        )

    def job_handlers(self) -> dict[str, JobHandler]:
        """What the worker calls for each kind of job."""
        return IndexingJobs(self._engine).handlers()

    # Searching -----------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        n_results: int = 5,
        category: str | None = None,
        tags: Sequence[str] | str | None = None,
        knowledge_ids: Sequence[int] | None = None,
        *,
        tags_match: TagsMatch = "any",
        collection: str | None = None,
        min_score: float | None = None,
        mode: Mode = "hybrid",
    ) -> list[SearchResult]:
        """The chunks that answer the query best, best first; raises InvalidRequestError.

        `answer` takes a SearchRequest, which has all the other filters and options.
        """
        request = SearchRequest(
            query=query,
            n_results=n_results,
            mode=mode,
            category=category,
            tags=(tags,) if isinstance(tags, str) else listed("tags", () if tags is None else tags),
            tags_match=tags_match,
            knowledge_ids=None if knowledge_ids is None else listed("knowledge_ids", knowledge_ids),
            collection=collection,
            min_score=min_score,
        )
        return list((await self.answer(request)).results)

    async def answer(self, request: SearchRequest) -> SearchAnswer:
        """Search, and tell how the answer came about.

        Raises InvalidRequestError for a request that HTTP would refuse.
        """
        search = functools.partial(self._engine.searcher.search, sound_search(request))
        return await self._threads.search(request.query, search)

    async def context(self, request: ContextRequest) -> ContextAnswer:
        """The passages that answer, assembled for a prompt; raises InvalidRequestError."""
        assemble = functools.partial(self._engine.context.assemble, sound_context(request))
        return await self._threads.search(request.search.query, assemble)

    def must_wait(self, query: str) -> bool:
        """Whether a search for this query that is made now has to wait for others to end."""
        return self._threads.must_wait(query)

    def collections(self) -> list[Collection]:
        """All collections: named by items, with settings of their own, and the default one."""
        return self._engine.collection_settings.all()

    def collection(self, name: str) -> Collection:
        """One of them; raises NotFoundError."""
        return self._engine.collection_settings.get(name)

    def rank_collection(self, name: str, ranking: RankingWishes) -> Collection:
        """Set how searches of a collection are ranked from now on.

        Raises InvalidRequestError and NotFoundError.
        """
        require_sound_ranking(ranking)
        return self._engine.collection_settings.rank(name, ranking)

    def set_collection_language(self, name: str, language: str | None) -> Collection:
        """Set the language by whose stems the words of a collection's items are compared.

        None stands for LEXICAL_LANGUAGE. Raises NotFoundError, InvalidRequestError.
        """
        return self._engine.collection_settings.set_language(name, language)

    def get_collection_stats(self) -> CollectionStats:
        """Counts of what is stored."""
        return self._engine.stats()

    # Care ----------------------------------------------------------------------------------

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Check SQL, and compare both indexes with it once they are open; mend it with `repair`."""
        return self._engine.verify(repair=repair)

    def compact(self) -> CompactionReport:
        """Free disk space, and erase for good what was deleted; raises StorageError."""
        return self._engine.compact()

    def rebuild(self, *, embed: bool = False) -> None:
        """Switch to the model and splitter that the settings want, or else refill both indexes.

        They are refilled from SQL. With `embed`, what has no vector is embedded, too.
        """
        self._engine.rebuild(embed=embed)

    def generations(self) -> list[GenerationReport]:
        """The generations, and how far the one that is being made has come."""
        return self._engine.generations.all()

    def drop_generation(self, generation_id: int) -> None:
        """Drop a generation that is only kept; raises NotFoundError, ConflictError."""
        self._engine.generations.drop(generation_id)

    def close(self) -> None:
        """Finish the work under way and release the data directory; every later call is refused."""
        self._is_closed = True
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Inside --------------------------------------------------------------------------------

    @property
    def _engine(self) -> Engine:
        """What does the work. Raises StoppingError once closed: another may hold the data now."""
        if self._is_closed:
            raise StoppingError("This RAGService is closed; open another.")
        return self._opened

    async def _watched(self, submit: Callable[[], Job]) -> Job:
        """Add a job, and wait until it has ended or has failed for the first time."""
        watch = self._engine.job_watch
        with watch.place():
            return await watch.wait_for_end(await self._threads.run(submit))

    def _submit_index(self, knowledge_id: int, *, force: bool, waited_for: bool = False) -> Job:
        require_item_id(knowledge_id)
        self._engine.knowledge.get(knowledge_id)
        arguments = index_arguments(knowledge_id, force=force)
        return self._engine.jobs.add(INDEX_JOB, arguments, waited_for=waited_for)

    def _submit_index_all(
        self, status: str | None, *, force: bool, waited_for: bool = False
    ) -> Job:
        require_known_status(status)
        arguments = index_all_arguments(status, force=force)
        return self._engine.jobs.add(INDEX_ALL_JOB, arguments, waited_for=waited_for)


_instance_lock = threading.Lock()
_instance: RAGService | None = None
_opened_here: RAGService | None = None
"""The last one that was opened for want of another: it is closed at the end of the process."""


def set_rag_service(service: RAGService | None) -> None:
    """Set the process's instance; the server does so when it starts and when it stops."""
    global _instance  # noqa: PLW0603, the one deliberate singleton: the specification calls for it
    with _instance_lock:
        _instance = service


def get_rag_service() -> RAGService:
    """The process's instance: in a server that of the server, else one opened at the first call.

    After it has been closed, another one is opened.
    """
    global _instance, _opened_here  # noqa: PLW0603, see above
    with _instance_lock:
        if _instance is None or _instance._is_closed:
            _instance = _opened_here = RAGService()
            atexit.unregister(_close_opened)  # else once for each that was opened
            atexit.register(_close_opened)
        return _instance


def _close_opened() -> None:
    if _opened_here is not None:
        _opened_here.close()
