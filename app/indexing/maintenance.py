"""Counts, checks and rebuilds what is stored: keeps both indexes true copies of SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.database import Database
from app.errors import LexicalIndexError
from app.indexing import maintenance_queries, outbox_queries, repair_queries
from app.indexing.caretaker import IndexCaretaker
from app.indexing.cell_check import look_at_cells
from app.indexing.database_check import database_faults
from app.indexing.database_repair import DatabaseRepair, Repair
from app.indexing.file_check import look_at_file
from app.indexing.findings import Finding
from app.indexing.generation import Generation
from app.indexing.publisher import Publisher
from app.models import DocumentRow, EmbeddingRow, ItemRow
from app.protocols import Embedder, LexicalIndex, VectorIndex

MOST_PROBLEMS = 100
"""How many problems a report spells out; the rest are only counted."""

NOT_COMPARED = "nothing else was compared, as that reads what is damaged"


class Rebuildable(Protocol):
    """An index that can be refilled from SQL."""

    @property
    def degraded_reason(self) -> str | None:
        """Why it is not in use, or None if it is."""
        ...

    def rebuild(self) -> int:
        """Refill it while searches go on; returns how many records it wrote."""
        ...


class RebuildableVectorIndex(VectorIndex, Rebuildable, Protocol):
    """A vector index that can be refilled from SQL."""

    def awaken(self) -> None:
        """Have the copy on disk opened, and wait until it is open or given up."""
        ...


class RebuildableLexicalIndex(LexicalIndex, Rebuildable, Protocol):
    """A lexical index that can be refilled from SQL."""

    def examine(self) -> None:
        """Check that its files are as they were written; if not, it stops answering."""
        ...


@dataclass(frozen=True)
class CollectionStats:
    """Counts of what is stored."""

    total_chunks: int
    unique_knowledge_items: int
    collection_name: str
    embedding_model: str
    dimension: int
    total_items: int
    total_documents: int
    total_embeddings: int
    vector_index: str
    vector_index_records: int
    lexical_index_records: int
    pending_index_changes: int


@dataclass(frozen=True)
class VerifyReport:
    """What a comparison of SQL with itself and with the indexes found, and what was mended."""

    documents: int
    chunks: int
    index_records: int
    sampled_vectors: int
    """Vectors that were searched for, each in every copy; all were compared."""
    unreferenced_embeddings: int
    """Vectors of texts that no chunk has any more. That is no problem: `compact` drops them."""
    problem_count: int
    mended_count: int
    problems: tuple[str, ...]
    """The first problems, a sentence each, with what has been or can be done about them."""
    healed: tuple[str, ...]
    """Indexes that had to be repaired or rebuilt since the start, a sentence each."""

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong (any more)."""
        return self.problem_count == self.mended_count


class IndexMaintenance:
    """Looks after what indexing has stored."""

    def __init__(
        self,
        *,
        database: Database,
        vector_index: RebuildableVectorIndex,
        lexical_index: RebuildableLexicalIndex,
        embedder: Embedder,
        generation: Generation,
        publisher: Publisher,
        caretaker: IndexCaretaker,
        repair: DatabaseRepair,
        collection_name: str,
        index_name: str,
        healed: Mapping[str, int],
        made: Mapping[str, int],
    ) -> None:
        """`healed` and `made` tell how often each index was made good since the start, by name.

        `healed`: because it was damaged; `made`: because it was not there.
        """
        self._database = database
        self._index = vector_index
        self._lexical_index = lexical_index
        self._embedder = embedder
        self._generation = generation
        self._publisher = publisher
        self._caretaker = caretaker
        self._repair = repair
        self._collection_name = collection_name
        self._index_name = index_name
        self._healed = healed
        self._made = made

    def is_empty(self) -> bool:
        """Whether SQL holds no chunks at all."""
        with self._database.read() as session:
            return not maintenance_queries.chunks_exist(session)

    def stats(self) -> CollectionStats:
        """Counts from one snapshot of SQL, and from the indexes just before it."""
        vector_records, lexical_records = self._index.count(), self._count_lexical_records()
        with self._database.read() as session:
            return CollectionStats(
                total_chunks=maintenance_queries.count_chunks(session),
                unique_knowledge_items=maintenance_queries.count_indexed_items(session),
                collection_name=self._collection_name,
                embedding_model=self._embedder.model_name,
                dimension=self._embedder.dimension,
                total_items=maintenance_queries.count(session, ItemRow),
                total_documents=maintenance_queries.count(session, DocumentRow),
                total_embeddings=maintenance_queries.count(session, EmbeddingRow),
                vector_index=self._index_name,
                vector_index_records=vector_records,
                lexical_index_records=lexical_records,
                pending_index_changes=outbox_queries.count_open_changes(session),
            )

    def _count_lexical_records(self) -> int:
        try:
            return self._lexical_index.count()
        except LexicalIndexError:  # health and verify say why
            return 0

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Compare everything; with `repair`, mend what can be mended.

        Reads every text, and every vector of every copy: minutes for a million chunks. Other work
        may go on at the same time, except during a repair.
        """
        found = look_at_file(self._database, mend=repair)
        if not all(each.mended for each in found):
            return self._report([*found, Finding(NOT_COMPARED)])
        cells = look_at_cells(self._database, mend=repair)
        found += [Finding(cell.sentence, cell.mended, cell.remark) for cell in cells]
        if any(cell.is_in_the_way for cell in cells):
            return self._report([*found, Finding(NOT_COMPARED)])
        self._publisher.settled().result()
        with self._database.read() as session:
            faults = list(database_faults(session, self._generation))
            unreferenced = repair_queries.count_unreferenced_embeddings(session)
        repairs = self._repair.mend(faults) if repair else [Repair(f, False, "") for f in faults]
        found += [Finding(each.fault.sentence, each.mended, each.remark) for each in repairs]
        self._lexical_index.examine()
        silent = self._check_that_they_answer(repair=repair)
        self._index.awaken()
        walk = self._caretaker.walk(mend=repair)
        self._index.awaken()  # what was distrusted is made anew
        # One may have failed as it was compared; nothing is known of what it holds then.
        silent = self._check_that_they_answer(repair=repair) | silent
        found += silent.values()
        found += [Finding(each.sentence, each.mended) for each in walk.drift]
        return self._report(found, sampled=len(walk.sample), unreferenced=unreferenced)

    def _report(
        self,
        found: Sequence[Finding],
        *,
        sampled: int = 0,
        unreferenced: int = 0,
    ) -> VerifyReport:
        stats = self.stats()
        return VerifyReport(
            documents=stats.total_documents,
            chunks=stats.total_chunks,
            index_records=stats.vector_index_records,
            sampled_vectors=sampled,
            unreferenced_embeddings=unreferenced,
            problem_count=len(found),
            mended_count=sum(each.mended for each in found),
            problems=tuple(each.told for each in found[:MOST_PROBLEMS]),
            healed=self._what_was_healed(),
        )

    def rebuild(self, *, embed: bool = False) -> None:
        """Refill both indexes from SQL; `embed`: first embed what has no vector."""
        if embed:
            self._repair.embed_missing()
        self._lexical_index.rebuild()
        self._index.rebuild()
        self._publisher.settled().result()

    # Checks --------------------------------------------------------------------------------

    def _check_that_they_answer(self, *, repair: bool) -> dict[str, Finding]:
        """By index: one that cannot be asked is a problem of its own; a repair makes it anew."""
        found = {}
        indexes: dict[str, Rebuildable] = {"lexical": self._lexical_index, "vector": self._index}
        for name, index in indexes.items():
            reason = index.degraded_reason
            if reason is not None:
                if repair:
                    index.rebuild()
                found[name] = Finding(reason, repair, "made anew" if repair else "")
        return found

    def _what_was_healed(self) -> tuple[str, ...]:
        made = tuple(
            f"The {name} index was not on the disk; it was made from the database as it was "
            "opened, before anything was compared."
            for name, times in sorted(self._made.items())
            if times
        )
        return made + tuple(
            f"The {name} index on disk was damaged, incomplete or not the one that was closed "
            "last; it was made good as it was opened, before anything was compared."
            for name, times in sorted(self._healed.items())
            if times
        )
