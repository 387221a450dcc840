"""Compares SQL with both indexes, a slice at a time, and mends what differs.

Everything here runs on the publisher's writer thread, between two changes. So no index changes
while it is compared, and no change is half done: a chunk in which SQL and an index differ is either
named in the outbox, which is read in the same snapshot as the chunks, or it is drift.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from app.adapters.vector_index.filling import LEAST_FOUND, SAME_VECTOR
from app.database import Database
from app.errors import LexicalIndexError, VectorIndexError
from app.indexing import maintenance_queries, queries
from app.indexing.generation import Generation
from app.indexing.maintenance_queries import ChunkState
from app.indexing.open_changes import OpenChanges
from app.indexing.publisher import Publisher
from app.protocols import LexicalIndex, Vector, VectorIndex, VectorPart
from app.stored_vectors import sound_vector

LEXICAL = "lexical"
DATABASE = "database"


class DriftKind(StrEnum):
    """How an index differs from SQL."""

    MISSING = "missing"
    SURPLUS = "surplus"
    OTHER_VECTOR = "other_vector"
    OTHER_DOCUMENT = "other_document"
    OTHER_LANGUAGE = "other_language"
    NOT_FOUND = "not_found"
    """It holds the right vector, but a search for that vector does not find it."""
    NO_VECTOR = "no_vector"
    """SQL itself holds no sound vector: the damage is not in the index."""


_SENTENCES: Mapping[DriftKind, str] = {
    DriftKind.MISSING: "chunk {chunk_id} is not in the {index} index",
    DriftKind.SURPLUS: "the {index} index holds chunk {chunk_id}, which SQL does not",
    DriftKind.OTHER_VECTOR: "chunk {chunk_id} has another vector in the {index} index",
    DriftKind.OTHER_DOCUMENT: "chunk {chunk_id} is of another document in the {index} index",
    DriftKind.OTHER_LANGUAGE: "chunk {chunk_id} is in another language in the {index} index",
    DriftKind.NOT_FOUND: "chunk {chunk_id} does not find itself in the {index} index",
    DriftKind.NO_VECTOR: "chunk {chunk_id} has no sound vector in the {index}",
}


@dataclass(frozen=True)
class Drift:
    """One chunk in which one index differs from SQL."""

    kind: DriftKind
    index: str
    chunk_id: str
    mended: bool = False

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return _SENTENCES[self.kind].format(chunk_id=self.chunk_id, index=self.index)


@dataclass(frozen=True)
class Slice:
    """What comparing some chunks has found."""

    chunk_ids: tuple[str, ...] = ()
    """The chunks compared, in order; empty if there were no more."""
    drift: tuple[Drift, ...] = ()
    unembedded: tuple[str, ...] = ()
    """Chunks for which SQL itself has no sound vector: no index can be right about them."""


class ComparableVectorIndex(VectorIndex, Protocol):
    """A vector index that shows the copies it keeps."""

    def parts(self) -> Mapping[str, VectorPart]:
        """What can be compared now, by name, without opening anything."""
        ...

    def distrust(self, reason: str) -> None:
        """Have the copy on disk compared and mended, or rebuilt, in the background."""
        ...


class IndexComparison:
    """Only for the writer thread: see Publisher.between_changes.

    Indexes of a generation that no longer answers are not kept up to date: they have no drift.
    """

    def __init__(
        self,
        *,
        database: Database,
        vector_index: ComparableVectorIndex,
        lexical_index: LexicalIndex,
        publisher: Publisher,
        generation: Generation,
    ) -> None:
        self._database = database
        self._vectors = vector_index
        self._words = lexical_index
        self._publisher = publisher
        self._generation = generation
        self._open_changes = OpenChanges()

    def after(self, last_id: str, limit: int, *, mend: bool) -> Slice:
        """Compare the `limit` chunks after the last with what the indexes hold of them.

        An index that cannot answer now is left out: it is healed by its keeper.
        """
        if self._is_former:
            return Slice()
        with self._database.read() as session:
            states = maintenance_queries.chunk_states_after(
                session, last_id, limit, self._generation
            )
            known = self._open_changes.among(session, [state.id for state in states])
        if not states:
            return Slice()
        due = [state for state in states if state.id not in known]
        sound = self._sound_vectors(due)
        drift = [*self._vector_drift(due, sound), *self._lexical_drift(due)]
        return Slice(
            chunk_ids=tuple(state.id for state in states),
            drift=self._mended(drift) if mend else tuple(drift),
            unembedded=tuple(state.id for state in due if state.id not in sound),
        )

    def crowded(self, *, every: bool) -> dict[str, list[str]]:
        """Of each index whose size is not that of SQL, all ids; the outbox is settled first.

        After a walk that left nothing missing, only surplus can make the sizes differ. So the ids
        (100 bytes each) are listed only when there is something to find. `every`: after a walk
        that did not mend, of every index.
        """
        if self._is_former:
            return {}
        self._publisher.settle_outbox()
        with self._database.read() as session:
            expected = maintenance_queries.count_chunks(session)
        listed: dict[str, list[str]] = {}
        for name, part in self._vectors.parts().items():
            try:
                if every or part.count() != expected:
                    listed[name] = list(part.chunk_ids())
            except VectorIndexError:
                self._vectors.distrust(f"The {name} index could not be counted.")
        try:
            if every or self._words.count() != expected:
                listed[LEXICAL] = list(self._words.chunk_ids())
        except LexicalIndexError:  # its keeper heals it
            pass
        return listed

    def surplus(self, index: str, chunk_ids: Sequence[str], *, mend: bool) -> tuple[Drift, ...]:
        """The ids, of those listed before, that the index still holds and SQL does not.

        An id may have been published or removed since it was listed.
        """
        if self._is_former:
            return ()
        with self._database.read() as session:
            wanted = queries.present_chunks(session, chunk_ids)
            wanted |= self._open_changes.among(session, chunk_ids)
        doubtful = [chunk_id for chunk_id in chunk_ids if chunk_id not in wanted]
        held = self._held(index, doubtful)
        drift = [Drift(DriftKind.SURPLUS, index, key) for key in doubtful if key in held]
        return self._mended(drift) if mend else tuple(drift)

    def lost(self, chunk_ids: Sequence[str], *, mend: bool) -> tuple[Drift, ...]:
        """Chunks not found by their own vectors; an index that finds too few is distrusted.

        An approximate index may miss one now and then.
        """
        if self._is_former:
            return ()
        with self._database.read() as session:
            states = maintenance_queries.states_of(session, chunk_ids, self._generation)
        drift: list[Drift] = []
        for name, part in self._vectors.parts().items():
            right = _held_right(part, self._sound_vectors(states))
            missed = [key for key, vector in right.items() if not _finds(part, vector)]
            if len(missed) > (1 - LEAST_FOUND) * len(right):
                if mend:
                    self._vectors.distrust(
                        f"{len(missed)} of {len(right)} vectors did not find themselves."
                    )
                drift += [Drift(DriftKind.NOT_FOUND, name, key, mended=mend) for key in missed]
        return tuple(drift)

    # Inside ------------------------------------------------------------------------------------

    @property
    def _is_former(self) -> bool:
        return self._publisher.generation != self._generation

    def _vector_drift(
        self, states: Sequence[ChunkState], expected: Mapping[str, Vector]
    ) -> Iterable[Drift]:
        with_vector = {state.id: state for state in states if state.id in expected}
        for name, part in self._vectors.parts().items():
            try:
                held = part.vectors(list(expected))
            except VectorIndexError as error:
                self._vectors.distrust(error.detail)
                continue
            for chunk_id, vector in expected.items():
                if chunk_id not in held:
                    yield Drift(DriftKind.MISSING, name, chunk_id)
                elif float(vector @ held[chunk_id]) < SAME_VECTOR:
                    yield Drift(DriftKind.OTHER_VECTOR, name, chunk_id)
        numbers = self._vectors.documents_of(list(expected))
        yield from _misplaced("exact", with_vector, numbers)

    def _lexical_drift(self, states: Sequence[ChunkState]) -> Iterable[Drift]:
        by_id = {state.id: state for state in states}
        try:
            numbers = self._words.documents_of(list(by_id))
            misread = self._words.in_other_language({s.id: s.language for s in states})
        except LexicalIndexError:  # its keeper heals it
            return
        for chunk_id in by_id:
            if chunk_id not in numbers:
                yield Drift(DriftKind.MISSING, LEXICAL, chunk_id)
        yield from _misplaced(LEXICAL, by_id, numbers)
        for chunk_id in sorted(misread):
            yield Drift(DriftKind.OTHER_LANGUAGE, LEXICAL, chunk_id)

    def _sound_vectors(self, states: Sequence[ChunkState]) -> dict[str, Vector]:
        """By chunk id; where SQL's own is missing or damaged, no index can be measured by it."""
        dimension = self._generation.dimension
        found = ((state.id, sound_vector(state.vector, dimension)) for state in states)
        return {chunk_id: vector for chunk_id, vector in found if vector is not None}

    def _held(self, index: str, chunk_ids: Sequence[str]) -> Iterable[str]:
        """Which of the ids the index holds now."""
        try:
            if index == LEXICAL:
                return self._words.documents_of(chunk_ids)
            part = self._vectors.parts().get(index)
            return part.vectors(chunk_ids) if part is not None else ()
        except (VectorIndexError, LexicalIndexError):  # its keeper heals it
            return ()

    def _mended(self, drift: Sequence[Drift]) -> tuple[Drift, ...]:
        if drift:
            self._publisher.equalise(sorted({each.chunk_id for each in drift}))
        return tuple(replace(each, mended=True) for each in drift)


def _misplaced(
    index: str, states: Mapping[str, ChunkState], numbers: Mapping[str, int]
) -> Iterable[Drift]:
    for chunk_id, number in numbers.items():
        if number != states[chunk_id].document_number:
            yield Drift(DriftKind.OTHER_DOCUMENT, index, chunk_id)


def _held_right(part: VectorPart, expected: Mapping[str, Vector]) -> dict[str, Vector]:
    """Those of the vectors that the part holds; none when it cannot be read."""
    try:
        held = part.vectors(list(expected))
    except VectorIndexError:
        return {}
    return {
        key: vector
        for key, vector in expected.items()
        if key in held and float(vector @ held[key]) >= SAME_VECTOR
    }


def _finds(part: VectorPart, vector: Vector) -> bool:
    try:
        hits = part.search(vector, 1)
    except VectorIndexError:
        return False
    return bool(hits) and hits[0].score >= SAME_VECTOR
