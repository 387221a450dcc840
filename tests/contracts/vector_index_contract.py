"""What every vector index must do: subclass a contract and give it an `index` fixture.

PrimaryIndexContract is for indexes that answer searches everywhere; VectorIndexContract, for all
that the protocol of the service asks.
"""

import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from app.adapters.vector_index.primary import PrimaryIndex
from app.errors import VectorIndexError
from app.protocols import (
    EVERYWHERE,
    UNKNOWN_DOCUMENT,
    SearchScope,
    Vector,
    VectorHit,
    VectorIndex,
    VectorRecord,
    Vectors,
)

DIMENSION = 16
CHUNKS_PER_DOCUMENT = 3


def unit_vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    """Random unit vectors that differ from each other."""
    drawn = np.random.default_rng(seed).normal(size=(count, dimension))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def document_number(place: int) -> int:
    """Numbers as large and as wide apart as those of the service."""
    return (place + 1) * 6364136223846793 % 2**53


def in_items(items: Collection[int] | None) -> SearchScope:
    """The scope that allows these items."""
    return SearchScope(item_ids=items)


def records_of(
    vectors: Vectors, items: int = 5, prefix: str = "chunk", first: int = 0
) -> list[VectorRecord]:
    """One record per vector, spread over items 1 … `items`, with the metadata that chunks have.

    Three that follow each other have the same document number, which is large.
    """
    return [
        VectorRecord(
            f"{prefix}-{first + number:05d}",
            (first + number) % items + 1,
            document_number((first + number) // CHUNKS_PER_DOCUMENT),
            vector,
            {
                "title": "Guide",
                "document_type": "markdown",
                "tags": ["a", "b"],
                "chunk_index": number,
            },
        )
        for number, vector in enumerate(vectors)
    ]


def allows(scope: SearchScope, record: VectorRecord) -> bool:
    """Whether a record lies within a scope."""
    items, documents = scope.item_ids, scope.document_numbers
    return (items is None or record.item_id in items) and (
        documents is None or record.document_number in documents
    )


def expected_order(
    records: Sequence[VectorRecord],
    query: Vector,
    limit: int,
    scope: SearchScope = EVERYWHERE,
) -> list[str]:
    """The ids that a plain numpy scan finds, best first."""
    allowed = [record for record in records if allows(scope, record)]
    ranked = sorted(allowed, key=lambda record: -float(record.vector @ query))
    return [record.chunk_id for record in ranked[:limit]]


class PrimaryIndexContract:
    """The laws of every vector index, against numpy as the oracle."""

    @pytest.fixture
    def index(self) -> PrimaryIndex | VectorIndex:
        raise NotImplementedError

    def test_an_empty_index_finds_nothing(self, index: PrimaryIndex | VectorIndex):
        assert index.search(unit_vectors(1)[0], 10) == []
        assert index.count() == 0
        assert index.chunk_ids() == set()
        assert index.vectors(["nothing"]) == {}

    def test_a_search_gives_the_order_and_the_scores_of_numpy(
        self, index: PrimaryIndex | VectorIndex
    ):
        records = records_of(unit_vectors(300))
        index.upsert(records)
        by_id = {record.chunk_id: record.vector for record in records}
        for query in unit_vectors(20, seed=1):
            hits = index.search(query, 10)
            assert [hit.chunk_id for hit in hits] == expected_order(records, query, 10)
            for hit in hits:
                assert isinstance(hit.score, float)
                assert hit.score == pytest.approx(float(by_id[hit.chunk_id] @ query), abs=1e-4)

    def test_scores_reach_from_one_to_minus_one(self, index: PrimaryIndex | VectorIndex):
        vector = unit_vectors(1)[0]
        index.upsert([VectorRecord("same", 1, 7, vector), VectorRecord("opposite", 1, 7, -vector)])
        hits = index.search(vector, 5)
        assert [hit.chunk_id for hit in hits] == ["same", "opposite"]
        assert [hit.score for hit in hits] == pytest.approx([1.0, -1.0], abs=1e-5)
        assert all(-1.0 <= hit.score <= 1.0 for hit in hits)

    def test_a_limit_beyond_the_count_gives_everything(self, index: PrimaryIndex | VectorIndex):
        index.upsert(records_of(unit_vectors(7)))
        assert len(index.search(unit_vectors(1)[0], 1000)) == 7
        assert index.search(unit_vectors(1)[0], 0) == []

    def test_an_upsert_with_a_known_id_replaces_the_record(self, index: PrimaryIndex | VectorIndex):
        old, new = unit_vectors(2)
        index.upsert([VectorRecord("one", 1, 7, old)])
        index.upsert([VectorRecord("one", 2, 7, new)])
        assert index.count() == 1
        assert index.search(new, 5)[0].score == pytest.approx(1.0, abs=1e-5)
        np.testing.assert_allclose(index.vectors(["one"])["one"], new, atol=1e-5)

    def test_of_equal_ids_in_one_upsert_the_last_is_kept(self, index: PrimaryIndex | VectorIndex):
        old, new = unit_vectors(2)
        index.upsert([VectorRecord("one", 1, 7, old), VectorRecord("one", 1, 7, new)])
        assert index.count() == 1
        np.testing.assert_allclose(index.vectors(["one"])["one"], new, atol=1e-5)

    def test_what_is_removed_is_found_no_more(self, index: PrimaryIndex | VectorIndex):
        records = records_of(unit_vectors(50))
        index.upsert(records)
        gone = [record.chunk_id for record in records[:20]]
        index.remove([*gone, gone[0], "never there"])
        assert index.count() == 30
        assert index.chunk_ids() == {record.chunk_id for record in records[20:]}
        assert index.vectors(gone) == {}
        found = {hit.chunk_id for hit in index.search(unit_vectors(1)[0], 100)}
        assert found == {record.chunk_id for record in records[20:]}

    def test_writing_nothing_changes_nothing(self, index: PrimaryIndex | VectorIndex):
        index.upsert(records_of(unit_vectors(3)))
        index.upsert([])
        index.remove([])
        index.remove(["never there"])
        assert index.count() == 3

    def test_metadata_without_values_is_accepted(self, index: PrimaryIndex | VectorIndex):
        index.upsert([VectorRecord("one", 1, 7, unit_vectors(1)[0], {"tags": [], "title": ""})])
        assert index.count() == 1

    def test_vectors_of_another_length_and_no_numbers_are_refused(
        self, index: PrimaryIndex | VectorIndex
    ):
        index.upsert(records_of(unit_vectors(3)))
        foreign = unit_vectors(1, dimension=DIMENSION + 1)[0]
        with pytest.raises(VectorIndexError, match="dimensions"):
            index.search(foreign, 5)
        with pytest.raises(VectorIndexError, match="dimensions"):
            index.upsert([VectorRecord("foreign", 1, 7, foreign)])
        with pytest.raises(VectorIndexError, match="finite"):
            index.upsert([VectorRecord("nan", 1, 7, np.full(DIMENSION, np.nan, np.float32))])
        assert index.count() == 3
        assert len(index.search(unit_vectors(1)[0], 5)) == 3

    def test_after_clear_it_is_empty_and_usable(self, index: PrimaryIndex | VectorIndex):
        index.upsert(records_of(unit_vectors(20)))
        index.clear()
        assert index.count() == 0
        assert index.search(unit_vectors(1)[0], 5) == []
        index.upsert(records_of(unit_vectors(2)))
        assert len(index.search(unit_vectors(1)[0], 5)) == 2

    def test_a_closed_index_can_be_closed_again(self, index: PrimaryIndex | VectorIndex):
        index.close()
        index.close()

    def search_everything(
        self,
        index: PrimaryIndex | VectorIndex,
        query: Vector,
        turn: int,  # noqa: ARG002, for those that have several
    ) -> list[VectorHit]:
        """A search that finds all records, in one of the ways that the index offers."""
        return index.search(query, 200)

    def test_readers_beside_a_writer_see_only_what_is_true(self, index: PrimaryIndex | VectorIndex):
        """Some records stay; others come and go. Readers always find the first kind, unharmed."""
        lasting = records_of(unit_vectors(60), prefix="lasting")
        passing = records_of(unit_vectors(40, seed=5), prefix="passing")
        index.upsert(lasting)
        vector_of = {record.chunk_id: record.vector for record in (*lasting, *passing)}
        searches, stop = [0, 0, 0], threading.Event()

        def read(number: int) -> None:
            while not stop.is_set():
                query = unit_vectors(1, seed=100 + number + 10 * searches[number])[0]
                hits = self.search_everything(index, query, searches[number])
                found = {hit.chunk_id: hit.score for hit in hits}
                assert found.keys() >= {record.chunk_id for record in lasting}
                for chunk_id, score in found.items():
                    assert score == pytest.approx(float(vector_of[chunk_id] @ query), abs=1e-4)
                searches[number] += 1

        with ThreadPoolExecutor(len(searches)) as pool:
            readers = [pool.submit(read, number) for number in range(len(searches))]
            try:
                rounds = 0
                while rounds < 6 or not (all(searches) or any(each.done() for each in readers)):
                    index.upsert(passing)
                    index.upsert(lasting[:8])
                    index.remove([record.chunk_id for record in passing])
                    rounds += 1
            finally:
                stop.set()
            assert [reader.result() for reader in readers] == [None] * len(readers)
        assert index.chunk_ids() == {record.chunk_id for record in lasting}


class VectorIndexContract(PrimaryIndexContract):
    """The laws of the protocol."""

    @pytest.fixture
    def index(self) -> VectorIndex:
        raise NotImplementedError

    def search_everything(self, index: VectorIndex, query: Vector, turn: int) -> list[VectorHit]:
        return index.search(query, 200, in_items([1, 2, 3, 4, 5] if turn % 2 else None))

    def test_an_empty_index_finds_nothing_within_a_scope(self, index: VectorIndex):
        assert index.search(unit_vectors(1)[0], 10, in_items([1, 2])) == []
        cosines, numbers = index.compared(unit_vectors(1)[0], ["nothing"])
        assert (cosines.tolist(), numbers.tolist()) == ([0.0], [UNKNOWN_DOCUMENT])

    def test_a_replaced_record_moves_to_its_new_item_and_document(self, index: VectorIndex):
        old, new = unit_vectors(2)
        index.upsert([VectorRecord("one", 1, 10, old)])
        index.upsert([VectorRecord("one", 2, 20, new)])
        for scope in (in_items([1]), SearchScope(None, [10]), SearchScope([2], [10])):
            assert index.search(new, 5, scope) == []
        for scope in (in_items([2]), SearchScope(None, [20]), SearchScope([2], [20])):
            assert [hit.chunk_id for hit in index.search(new, 5, scope)] == ["one"]

    def test_a_scope_gives_what_a_scan_of_the_allowed_gives(self, index: VectorIndex):
        records = records_of(unit_vectors(300), items=30)
        index.upsert(records)
        for number, query in enumerate(unit_vectors(10, seed=2)):
            items = list(range(1, 1 + 3 * number)) or [7]
            documents = {document_number(place) for place in range(0, 100, number + 1)}
            for scope in (
                SearchScope(items),
                SearchScope(None, documents),
                SearchScope(items, documents),
            ):
                hits = [hit.chunk_id for hit in index.search(query, 10, scope)]
                assert hits == expected_order(records, query, 10, scope)

    def test_a_scope_may_name_nothing_the_unknown_and_very_much(self, index: VectorIndex):
        index.upsert(records_of(unit_vectors(20)))
        query = unit_vectors(1)[0]
        unknown = [999, -1, 2**63, -(2**70)]
        for scope in (SearchScope([]), SearchScope(None, set()), SearchScope([1], [])):
            assert index.search(query, 5, scope) == []
        assert index.search(query, 5, SearchScope(unknown)) == []
        assert index.search(query, 5, SearchScope(None, unknown)) == []
        assert len(index.search(query, 50, in_items(range(50_000)))) == 20

    def test_hits_tell_the_document_of_each_record(self, index: VectorIndex):
        records = records_of(unit_vectors(300), items=30)
        index.upsert(records)
        hits = index.search(unit_vectors(1, seed=4)[0], 300)
        numbers = {hit.chunk_id: hit.document_number for hit in hits}
        assert numbers == {record.chunk_id: record.document_number for record in records}

    def test_compared_are_the_hits_of_a_search_in_the_order_asked(self, index: VectorIndex):
        records = records_of(unit_vectors(700))
        index.upsert(records)
        index.remove([record.chunk_id for record in records[600:]])
        for query in unit_vectors(3, seed=4):
            hits = {hit.chunk_id: hit for hit in index.search(query, 700)}
            asked = [record.chunk_id for record in records[::-1]]
            asked += [asked[-1], "unknown"]
            cosines, numbers = index.compared(query, asked)
            none = VectorHit("none", 0.0)
            found = [hits.get(key, none) for key in asked]
            assert cosines == pytest.approx([hit.score for hit in found], abs=2e-6)
            assert numbers.tolist() == [hit.document_number for hit in found]
            assert (numbers == UNKNOWN_DOCUMENT).sum() == 101

    def test_to_compare_with_a_vector_of_another_length_is_refused(self, index: VectorIndex):
        with pytest.raises(VectorIndexError, match="dimensions"):
            index.compared(unit_vectors(1, dimension=DIMENSION + 1)[0], ["one"])
