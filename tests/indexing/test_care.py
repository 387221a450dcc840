"""The walk finds and mends every kind of drift, and takes nothing that is under way for drift."""

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, event, update

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.errors import (
    EmbeddingError,
    LexicalIndexError,
    OverloadedError,
    StorageError,
    VectorIndexError,
)
from app.indexing import outbox_queries
from app.indexing.caretaker import SLICE_CHUNKS, IndexCaretaker
from app.indexing.comparison import Drift, DriftKind, IndexComparison
from app.indexing.index_sources import lexical_source, vector_source
from app.models import ChunkRow, EmbeddingRow
from app.protocols import LexicalRecord, VectorRecord
from app.search.requests import SearchRequest
from tests.fakes import FakeEmbedder, MoodyEmbedder

Damage = Callable[["Shelf"], None]


class Shelf:
    """A service with documents in it, and short ways to its indexes."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.vectors = container.vector_index
        self.words = container.lexical_index

    @property
    def records(self) -> list[VectorRecord]:
        source = vector_source(self.container.database, self.container.generation)
        return [record for batch in source() for record in batch]

    @property
    def lexical_records(self) -> list[LexicalRecord]:
        return [
            record
            for batch in lexical_source(self.container.database, self.container.generation)()
            for record in batch
        ]

    def kinds(self, *, mend: bool) -> set[tuple[str, DriftKind]]:
        drift = self.container.parts.caretaker.walk(mend=mend).drift
        assert all(each.mended == mend for each in drift)
        return {(each.index, each.kind) for each in drift}


@pytest.fixture
def embedder() -> MoodyEmbedder:
    return MoodyEmbedder()


@pytest.fixture
def shelf(container: Container, source_root: Path, add_item, index) -> Shelf:
    for number in range(12):
        (source_root / f"{number}.md").write_text(f"# Pier {number}\n\nBoat {number} lies here.\n")
    assert index(add_item(source_root)).chunks_indexed == 12
    return Shelf(container)


def lose_vectors(shelf: Shelf) -> None:
    shelf.vectors.remove([record.chunk_id for record in shelf.records[:3]])


def exchange_vectors(shelf: Shelf) -> None:
    one, other = shelf.records[:2]
    shelf.vectors.upsert(
        [VectorRecord(one.chunk_id, one.item_id, one.document_number, other.vector)]
    )


def misplace_a_vector(shelf: Shelf) -> None:
    one = shelf.records[0]
    shelf.vectors.upsert([VectorRecord(one.chunk_id, 77, 78, one.vector)])


def bring_back_vectors(shelf: Shelf) -> None:
    one = shelf.records[0]
    shelf.vectors.upsert([VectorRecord("0" * 32, 1, 1, one.vector)])


def lose_words(shelf: Shelf) -> None:
    shelf.words.remove([record.chunk_id for record in shelf.lexical_records[:3]])


def misplace_words(shelf: Shelf) -> None:
    one = shelf.lexical_records[0]
    shelf.words.upsert([LexicalRecord(one.chunk_id, one.item_id, 78, one.content)])


def misread_words(shelf: Shelf) -> None:
    one, other = shelf.lexical_records[:2]
    shelf.words.upsert([replace(one, language="german"), replace(other, language="english")])


def bring_back_words(shelf: Shelf) -> None:
    shelf.words.upsert([LexicalRecord("f" * 32, 1, 1, "deleted words")])


def lose_as_many_as_come_back(shelf: Shelf) -> None:
    """What an older copy does: counts that look right."""
    lose_words(shelf)
    shelf.words.upsert([LexicalRecord(f"{n:032x}", 1, 1, "deleted words") for n in range(3)])


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lose_vectors, {("exact", DriftKind.MISSING)}),
        (exchange_vectors, {("exact", DriftKind.OTHER_VECTOR)}),
        (misplace_a_vector, {("exact", DriftKind.OTHER_DOCUMENT)}),
        (bring_back_vectors, {("exact", DriftKind.SURPLUS)}),
        (lose_words, {("lexical", DriftKind.MISSING)}),
        (misplace_words, {("lexical", DriftKind.OTHER_DOCUMENT)}),
        (misread_words, {("lexical", DriftKind.OTHER_LANGUAGE)}),
        (bring_back_words, {("lexical", DriftKind.SURPLUS)}),
        (
            lose_as_many_as_come_back,
            {("lexical", DriftKind.MISSING), ("lexical", DriftKind.SURPLUS)},
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_every_kind_of_drift_is_found_and_mended(
    shelf: Shelf, damage: Damage, expected: set[tuple[str, DriftKind]]
):
    damage(shelf)
    assert shelf.kinds(mend=False) == expected
    assert shelf.kinds(mend=True) == expected
    assert shelf.kinds(mend=True) == set()
    assert shelf.container.maintenance.verify().clean


def test_drift_is_counted_by_index_and_kind(shelf: Shelf):
    lose_words(shelf)
    shelf.container.parts.caretaker.walk(mend=True)
    text = shelf.container.metrics.exposition().decode()
    labels = '{index="lexical",kind="missing"} 3.0'
    assert f"groundwork_index_drift_found_total{labels}" in text
    assert f"groundwork_index_drift_mended_total{labels}" in text


def test_what_stands_in_the_outbox_is_no_drift(shelf: Shelf):
    """A delete commits rows and outbox together; the indexes follow when there is time."""
    gone = [record.chunk_id for record in shelf.records[:4]]

    def delete_and_compare() -> set[str]:
        with shelf.container.database.write() as session:
            session.execute(delete(ChunkRow).where(ChunkRow.id.in_(gone)))
            outbox_queries.add_index_change(session, gone)
        comparison = shelf.container.parts.caretaker._comparison
        compared = comparison.after("", 100, mend=True)
        surplus = comparison.surplus("exact", gone, mend=True)
        return {each.chunk_id for each in (*compared.drift, *surplus)}

    assert shelf.container.publisher.between_changes(delete_and_compare).result() == set()
    assert shelf.kinds(mend=True) == set()
    assert shelf.vectors.chunk_ids().isdisjoint(gone)


def test_a_row_of_the_outbox_is_read_once_however_much_is_compared(shelf: Shelf):
    """A new language of a collection leaves hundreds of rows, and a walk takes as many slices."""
    ids = sorted(record.chunk_id for record in shelf.records)
    comparison = shelf.container.parts.caretaker._comparison
    reads: list[str] = []

    @event.listens_for(shelf.container.database._engine, "before_cursor_execute")
    def note(_1: object, _2: object, statement: str, *_: object) -> None:
        if "index_changes.chunk_ids" in statement:
            reads.append(statement)

    def note_and_compare(chunk_ids: list[str]) -> set[str]:
        with shelf.container.database.write() as session:
            session.execute(delete(ChunkRow).where(ChunkRow.id.in_(chunk_ids)))
            outbox_queries.add_index_change(session, chunk_ids)
        found = [comparison.after(last, 3, mend=False).drift for last in ("", *ids[::3])]
        found += [comparison.surplus("exact", ids[n : n + 3], mend=False) for n in (0, 3, 6, 9)]
        return {each.chunk_id for drift in found for each in drift}

    between = shelf.container.publisher.between_changes
    for number, named in enumerate((ids[:4], ids[4:6], ids[9:]), 1):
        assert between(partial(note_and_compare, named)).result() == set()
        assert len(reads) == number
    shelf.container.publisher.settled().result()
    words = [record for record in shelf.lexical_records if record.chunk_id in ids]
    assert shelf.vectors.chunk_ids() == {record.chunk_id for record in words} == set(ids[6:9])
    shelf.words.remove([ids[6]])
    assert shelf.kinds(mend=True) == {("lexical", DriftKind.MISSING)}


MOST_WALKS = 2000
"""Some ten seconds of walks over next to nothing."""


def test_nothing_under_way_is_taken_for_drift_while_others_write(
    container: Container, source_root: Path, add_item
):
    """Items are indexed, renamed and deleted without pause; no walk finds a thing."""
    stop, failures = threading.Event(), []
    chance = random.Random(7)  # noqa: S311, no secret

    def write(folder: Path) -> None:
        try:
            while not stop.is_set():
                item = add_item(folder)
                for round_ in range(3):
                    for number in range(4):
                        words = " ".join(f"w{chance.randrange(500)}" for _ in range(20))
                        (folder / f"{number}.md").write_text(f"# Round {round_}\n\n{words}\n")
                    container.indexer.index(item.id)
                    container.knowledge.update(item.id, {"title": f"Title {round_}"})
                container.knowledge.delete(item.id)
        except Exception as error:  # noqa: BLE001, told to the test
            failures.append(error)

    folders = [source_root / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    threads = [threading.Thread(target=write, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    try:
        walks = [container.parts.caretaker.walk(mend=True) for _ in range(10)]
        for _ in range(MOST_WALKS):  # the first may all have come before anything was stored
            if sum(walk.compared for walk in walks):
                break
            walks.append(container.parts.caretaker.walk(mend=True))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert [walk.drift for walk in walks if walk.drift] == []
    assert sum(walk.compared for walk in walks) > 0
    assert container.maintenance.verify().clean


# The thread ------------------------------------------------------------------------------------


class Hours:
    """Waits of the caretaker, which pass as soon as the test lets them."""

    def __init__(self, walks: int) -> None:
        self.pauses: list[float] = []
        self.walks_left = walks
        self.done = threading.Event()

    def wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        if seconds >= 60:
            self.walks_left -= 1
        if self.walks_left < 0:
            self.done.set()
        return self.walks_left < 0


def caretaker(container: Container, hours: Hours, **options: Any) -> IndexCaretaker:
    return IndexCaretaker(
        container.parts.caretaker._comparison,
        container.publisher,
        container.parts.caretaker._vector_repair,
        **({"interval_seconds": 3600.0} | options),
        wait=hours.wait,
    )


def let_walk(care: IndexCaretaker, hours: Hours) -> None:
    """Until its hours are over."""
    care.start()
    assert hours.done.wait(30)
    care.close()


def test_the_service_mends_in_the_background_in_slices_with_pauses(shelf: Shelf):
    lose_words(shelf)
    hours = Hours(walks=2)
    care = caretaker(shelf.container, hours)
    let_walk(care, hours)
    assert shelf.words.count() == 12
    assert hours.pauses[0] == 60.0, "the first walk soon after the start"
    assert hours.pauses.count(3600.0) == 2
    rests = [pause for pause in hours.pauses if pause < 60]
    assert len(rests) >= 2 * 3, "after every slice, the count and the sample"
    assert min(rests) >= 0.05


def test_an_interval_of_0_turns_the_walk_off(shelf: Shelf):
    hours = Hours(walks=1)
    care = caretaker(shelf.container, hours, interval_seconds=0.0)
    care.start()
    care.close()
    assert hours.pauses == []


def test_closing_ends_a_walk_between_two_slices(shelf: Shelf):
    class Closing(Hours):
        """`close` comes while the walk rests between two slices."""

        def wait(self, seconds: float) -> bool:
            return seconds < 60

    care = caretaker(shelf.container, Closing(walks=0))
    care.start()
    care._thread.join(30)
    assert not care._thread.is_alive()


def test_more_chunks_than_a_slice_are_all_compared(
    container: Container, source_root: Path, add_item, index
):
    for number in range(SLICE_CHUNKS + 50):
        (source_root / f"{number}.md").write_text(f"# Buoy {number}\n\nBell {number}.\n")
    index(add_item(source_root))
    shelf = Shelf(container)
    last = max(record.chunk_id for record in shelf.records)
    container.lexical_index.remove([last])
    walk = container.parts.caretaker.walk(mend=True)
    assert walk.compared == SLICE_CHUNKS + 50
    assert [each.chunk_id for each in walk.drift] == [last]


# Vectors that SQL itself lost ------------------------------------------------------------------


def damage_stored_vectors(shelf: Shelf, *, but: int) -> None:
    """All but some are damaged in SQL, and so is what an index holds that was made from it."""
    with shelf.container.database.write() as session:
        kept = [row.text_hash for row in session.query(EmbeddingRow)][:but]
        others = update(EmbeddingRow).where(EmbeddingRow.text_hash.not_in(kept))
        session.execute(others.values(vector=b"nothing"))
    shelf.vectors.remove([record.chunk_id for record in shelf.lexical_records])
    shelf.vectors.upsert(shelf.records)
    assert shelf.vectors.count() == but


def counted(shelf: Shelf, what: str) -> float:
    name = f"groundwork_index_drift_{what}_total"
    labels = {"index": "database", "kind": "no_vector"}
    return shelf.container.metrics.registry.get_sample_value(name, labels) or 0.0


def test_vectors_that_are_damaged_in_the_database_are_made_anew_in_the_background(shelf: Shelf):
    damage_stored_vectors(shelf, but=2)
    hours = Hours(walks=2)
    care = caretaker(shelf.container, hours, observe=shelf.container.parts.caretaker._observe)
    let_walk(care, hours)
    assert shelf.vectors.count() == 12
    assert (counted(shelf, "found"), counted(shelf, "mended")) == (10.0, 10.0)
    assert shelf.container.maintenance.verify().clean


def test_while_the_model_fails_lost_vectors_are_told_of_and_the_next_walk_tries_again(
    shelf: Shelf, embedder: MoodyEmbedder, caplog: pytest.LogCaptureFixture
):
    damage_stored_vectors(shelf, but=2)
    embedder.failing = True
    told: list[Drift] = []

    class Recovering(Hours):
        """The model answers again before the second walk."""

        def wait(self, seconds: float) -> bool:
            if seconds == 3600.0:
                embedder.failing = False
            return super().wait(seconds)

    hours = Recovering(walks=2)
    care = caretaker(shelf.container, hours, observe=told.append)
    let_walk(care, hours)
    assert [each.mended for each in told] == [False] * 10 + [True] * 10
    assert told[0].sentence.endswith("has no sound vector in the database")
    assert "Lost vectors could not be made anew: " in caplog.text
    assert shelf.vectors.count() == 12


def test_chunks_that_go_before_their_vectors_are_made_anew_are_not_called_mended(shelf: Shelf):
    damage_stored_vectors(shelf, but=2)
    told: list[Drift] = []

    class Deleting(Hours):
        """Everything is deleted once it has been compared."""

        def wait(self, seconds: float) -> bool:
            if seconds < 60 and not shelf.container.maintenance.is_empty():
                shelf.container.knowledge.delete(1)
            return super().wait(seconds)

    hours = Deleting(walks=2)
    care = caretaker(shelf.container, hours, observe=told.append)
    let_walk(care, hours)
    assert told == []


# A copy that fails -----------------------------------------------------------------------------


class Copies(ExactVectorIndex):
    """A vector index with a copy on disk that can be broken."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.copy = ExactVectorIndex(dimension)
        self.reasons: list[str] = []

    def parts(self):
        return {"exact": self, "disk": self.copy}

    def distrust(self, reason: str) -> None:
        self.reasons.append(reason)


class Unreadable(ExactVectorIndex):
    def vectors(self, _):
        raise VectorIndexError("cannot be read")

    def count(self):
        raise VectorIndexError("cannot be read")


class Lame(ExactVectorIndex):
    """Holds everything, and finds nothing."""

    def search(self, *_):
        return []


@pytest.mark.parametrize("kind", [Unreadable, Lame])
def test_a_copy_that_cannot_be_read_or_does_not_find_is_distrusted(
    shelf: Shelf, embedder: FakeEmbedder, kind: type[ExactVectorIndex]
):
    index = Copies(embedder.dimension)
    index.copy = kind(embedder.dimension)
    index.upsert(shelf.records)
    index.copy.upsert(shelf.records)
    comparison = IndexComparison(
        database=shelf.container.database,
        vector_index=index,
        lexical_index=shelf.words,
        publisher=shelf.container.publisher,
        generation=shelf.container.generation,
    )
    repair = shelf.container.parts.caretaker._vector_repair
    care = IndexCaretaker(comparison, shelf.container.publisher, repair, interval_seconds=1)
    walk = care.walk(mend=True)
    assert index.reasons
    found = {(each.index, each.kind) for each in walk.drift}
    assert found == ({("disk", DriftKind.NOT_FOUND)} if kind is Lame else set())


def test_searches_stay_right_while_the_walk_mends(shelf: Shelf):
    lose_words(shelf)
    shelf.container.parts.caretaker.walk(mend=True)
    answer = shelf.container.searcher.search(SearchRequest("boat", n_results=100, mode="lexical"))
    assert len(answer.results) == 12


@pytest.mark.parametrize(
    "error",
    [
        StorageError("The disk is full."),
        VectorIndexError("The index failed."),
        LexicalIndexError("The index failed."),
        EmbeddingError("The model failed."),
        OverloadedError("Too much is asked for."),
        KeyError("which nobody expected"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_but_that_the_service_stops_ends_the_thread(
    shelf: Shelf, caplog: pytest.LogCaptureFixture, error: Exception
):
    hours = Hours(walks=2)
    care = caretaker(shelf.container, hours)
    calls: list[str] = []

    class Failing(IndexComparison):
        def __init__(self) -> None: ...

        def after(self, last_id, *_, **__):
            calls.append(last_id)
            raise error

    care._comparison = Failing()
    let_walk(care, hours)
    assert len(calls) == 2
    assert len([each for each in caplog.records if "compared" in each.message]) == 2


def test_the_thread_ends_without_a_word_when_the_service_stops(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
):
    hours = Hours(walks=2)
    care = caretaker(shelf.container, hours)
    shelf.container.publisher.stop()
    care.start()
    care._thread.join(30)
    assert hours.pauses == [60.0]
    assert "compared" not in caplog.text
