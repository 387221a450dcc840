"""Every vector index passes the contract; hypothesis plays whole histories against a dict."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.adapters.vector_index.chroma_files import IndexIdentity
from app.adapters.vector_index.chroma_process import ChromaProcessIndex
from app.adapters.vector_index.chroma_store import ChromaStore
from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.adapters.vector_index.primary import PrimaryIndex
from app.protocols import UNKNOWN_DOCUMENT, SearchScope, VectorIndex, VectorRecord
from tests.adapters.vector_index.stores import FlakyStore, NoStore, Table, failover
from tests.contracts.vector_index_contract import (
    DIMENSION,
    PrimaryIndexContract,
    VectorIndexContract,
    allows,
    records_of,
    unit_vectors,
)


class TestExactVectorIndex(VectorIndexContract):
    @pytest.fixture
    def index(self) -> VectorIndex:
        return ExactVectorIndex(DIMENSION)

    def test_only_what_differs_from_what_is_held_takes_a_new_row(self):
        index, records = ExactVectorIndex(DIMENSION), records_of(unit_vectors(20))
        index.upsert(records)
        before = index._snapshot
        index.upsert(records)
        assert index._snapshot is before
        records[3] = replace(records[3], item_id=77)
        records[5] = replace(records[5], document_number=78)
        records[7] = replace(records[7], vector=unit_vectors(1, seed=9)[0])
        index.upsert(records)
        assert index._snapshot.rows == before.rows + 3
        held = index.records([record.chunk_id for record in records])
        told = [(record.item_id, record.document_number) for record in records]
        assert [(record.item_id, record.document_number) for record in held] == told
        for one, other in zip(held, records, strict=True):
            assert np.array_equal(one.vector, other.vector)


class TestLoadedExactIndex(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[VectorIndex]:
        index = LoadedExactIndex(DIMENSION, Table().vector_rows)
        yield index
        index.close()


class TestChromaVectorIndex(PrimaryIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[ChromaVectorIndex]:
        index = ChromaVectorIndex.open(tmp_path, "knowledge_base", DIMENSION)
        yield index
        index.close()


@pytest.fixture(scope="module")
def chroma_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaProcessIndex]:
    """One process for all tests: starting one takes a second."""
    folder = tmp_path_factory.mktemp("chroma")
    process = ChromaProcessIndex.start(folder, "knowledge_base", DIMENSION, anew=True)
    yield process
    process.close()


class TestChromaProcessIndex(PrimaryIndexContract):
    @pytest.fixture
    def index(self, chroma_process: ChromaProcessIndex) -> PrimaryIndex:
        chroma_process.clear()
        return chroma_process

    def test_a_closed_index_can_be_closed_again(self, tmp_path: Path):
        index = ChromaProcessIndex.start(tmp_path, "knowledge_base", DIMENSION, anew=True)
        super().test_a_closed_index_can_be_closed_again(index)


@pytest.fixture(scope="module")
def failover_with_chroma(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[FailoverVectorIndex]:
    folder = tmp_path_factory.mktemp("failover")
    identity = IndexIdentity("knowledge_base", DIMENSION, "model")
    index = failover(ChromaStore(folder, identity), Table())
    index.rebuild()
    yield index
    index.close()


class TestFailoverVectorIndexWithChroma(VectorIndexContract):
    @pytest.fixture
    def index(self, failover_with_chroma: FailoverVectorIndex) -> Iterator[VectorIndex]:
        failover_with_chroma.clear()
        yield failover_with_chroma
        assert failover_with_chroma.status.ready

    def test_a_closed_index_can_be_closed_again(self):
        index = failover(FlakyStore(), Table())
        index.rebuild()
        super().test_a_closed_index_can_be_closed_again(index)


class TestFailoverVectorIndexWithExactSearches(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[VectorIndex]:
        index = failover(FlakyStore(), Table(), exact_up_to_records=1000)
        index.rebuild()
        yield index
        index.close()


class TestFailoverVectorIndexWithoutPrimary(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[VectorIndex]:
        index = failover(NoStore(), Table())
        index.start(trusted=True)
        index.settle()
        assert not index.status.ready
        yield index
        index.close()


VECTORS = unit_vectors(40, seed=9)
CHUNKS = st.lists(st.integers(0, 60), max_size=90).map(lambda keys: [f"c{key}" for key in keys])


class VectorIndexHistory(RuleBasedStateMachine):
    """Any history of writes leaves what a dict would hold."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[str, VectorRecord] = {}
        self.index = self.make_index()

    def make_index(self) -> VectorIndex:
        return ExactVectorIndex(DIMENSION)

    def teardown(self) -> None:
        self.index.close()

    @rule(keys=CHUNKS, seed=st.integers(0, 39), item=st.integers(-1, 3))
    def upsert(self, keys: list[str], seed: int, item: int) -> None:
        records = [
            VectorRecord(key, item, seed % 5, VECTORS[(seed + place) % len(VECTORS)])
            for place, key in enumerate(keys)
        ]
        self.index.upsert(records)
        self.model.update({record.chunk_id: record for record in records})

    @rule(keys=CHUNKS)
    def remove(self, keys: list[str]) -> None:
        self.index.remove(keys)
        for key in keys:
            self.model.pop(key, None)

    @rule()
    def clear(self) -> None:
        self.index.clear()
        self.model.clear()

    @rule(
        seed=st.integers(0, 39),
        limit=st.integers(1, 80),
        items=st.none() | st.lists(st.integers(-1, 4), max_size=3),
        documents=st.none() | st.sets(st.integers(0, 5)),
    )
    def search(
        self, seed: int, limit: int, items: list[int] | None, documents: set[int] | None
    ) -> None:
        query = VECTORS[seed]
        scope = SearchScope(items, documents)
        hits = self.index.search(query, limit, scope)
        ids = [hit.chunk_id for hit in hits]
        assert len(set(ids)) == len(ids)
        allowed = [record for record in self.model.values() if allows(scope, record)]
        assert len(ids) == min(limit, len(allowed))
        best = sorted((float(r.vector @ query) for r in allowed), reverse=True)[:limit]
        np.testing.assert_allclose([hit.score for hit in hits], best, atol=1e-5)
        for hit in hits:
            record = self.model[hit.chunk_id]
            assert allows(scope, record)
            assert hit.document_number == record.document_number
            assert abs(hit.score - float(record.vector @ query)) < 1e-5

    @rule(seed=st.integers(0, 39), keys=CHUNKS)
    def compared(self, seed: int, keys: list[str]) -> None:
        query = VECTORS[seed]
        cosines, numbers = self.index.compared(query, keys)
        for key, cosine, number in zip(keys, cosines, numbers, strict=True):
            record = self.model.get(key)
            if record is None:
                assert (cosine, number) == (0.0, UNKNOWN_DOCUMENT)
            else:
                assert abs(cosine - float(record.vector @ query)) < 1e-5
                assert number == record.document_number

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert self.index.count() == len(self.model)
        assert self.index.chunk_ids() == self.model.keys()


class FailoverHistory(VectorIndexHistory):
    """The same with an in-memory primary that fails, and is rebuilt, at any moment."""

    def make_index(self) -> VectorIndex:
        self.store = FlakyStore()
        table = Table()
        table.rows = self.model
        self.failover = failover(self.store, table)
        return self.failover

    @rule()
    def break_primary(self) -> None:
        self.store.broken = True

    @rule()
    def rebuild(self) -> None:
        self.store.broken = False
        self.failover.rebuild()
        assert self.failover.status.ready
        assert self.store.index is not None
        assert self.store.index.chunk_ids() == self.model.keys()


QUICK = settings(max_examples=30, stateful_step_count=40, deadline=None)

TestExactHistory = VectorIndexHistory.TestCase
TestExactHistory.settings = settings(QUICK, max_examples=40)
TestFailoverHistory = FailoverHistory.TestCase
TestFailoverHistory.settings = settings(QUICK, suppress_health_check=list(HealthCheck))
