"""Every vector index passes the contract; hypothesis plays whole histories against a dict."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.adapters.vector_index.chroma_files import IndexIdentity
from app.adapters.vector_index.chroma_store import ChromaStore
from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.protocols import VectorIndex, VectorRecord
from tests.adapters.vector_index.stores import FlakyStore, NoStore
from tests.contracts.vector_index_contract import (
    DIMENSION,
    VectorIndexContract,
    expected_order,
    unit_vectors,
)


class TestExactVectorIndex(VectorIndexContract):
    @pytest.fixture
    def index(self) -> VectorIndex:
        return ExactVectorIndex(DIMENSION)


class TestChromaVectorIndex(VectorIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[VectorIndex]:
        index = ChromaVectorIndex.open(tmp_path, "knowledge_base", DIMENSION)
        yield index
        index.close()


class TestFailoverVectorIndexWithChroma(VectorIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[VectorIndex]:
        store = ChromaStore(tmp_path, IndexIdentity("knowledge_base", DIMENSION, "model"))
        index = FailoverVectorIndex(store, ExactVectorIndex(DIMENSION), lambda: iter([]))
        index.rebuild()
        assert index.status.ready
        yield index
        index.close()


class TestFailoverVectorIndexWithoutPrimary(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[VectorIndex]:
        index = FailoverVectorIndex(NoStore(), ExactVectorIndex(DIMENSION), lambda: iter([]))
        index.open()
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
            VectorRecord(key, item, VECTORS[(seed + place) % len(VECTORS)])
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
    )
    def search(self, seed: int, limit: int, items: list[int] | None) -> None:
        query = VECTORS[seed]
        hits = self.index.search(query, limit, items)
        ids = [hit.chunk_id for hit in hits]
        assert len(set(ids)) == len(ids)
        assert len(ids) == len(expected_order(list(self.model.values()), query, limit, items))
        allowed = [r for r in self.model.values() if items is None or r.item_id in items]
        best = sorted((float(r.vector @ query) for r in allowed), reverse=True)[:limit]
        np.testing.assert_allclose([hit.score for hit in hits], best, atol=1e-5)
        for hit in hits:
            record = self.model[hit.chunk_id]
            assert items is None or record.item_id in items
            assert abs(hit.score - float(record.vector @ query)) < 1e-5

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert self.index.count() == len(self.model)
        assert self.index.chunk_ids() == self.model.keys()


class FailoverHistory(VectorIndexHistory):
    """The same with an in-memory primary that fails, and is rebuilt, at any moment."""

    def make_index(self) -> VectorIndex:
        self.store = FlakyStore()
        self.failover = FailoverVectorIndex(
            self.store, ExactVectorIndex(DIMENSION), lambda: iter([list(self.model.values())])
        )
        return self.failover

    @rule()
    def break_primary(self) -> None:
        self.store.broken = True

    @rule()
    def rebuild(self) -> None:
        self.store.broken = False
        self.failover.rebuild()
        assert self.failover.status.ready

    @rule()
    def reconcile(self) -> None:
        self.store.broken = False
        assert self.failover.reconcile() == 0


QUICK = settings(max_examples=30, stateful_step_count=40, deadline=None)

TestExactHistory = VectorIndexHistory.TestCase
TestExactHistory.settings = settings(QUICK, max_examples=60)
TestFailoverHistory = FailoverHistory.TestCase
TestFailoverHistory.settings = settings(QUICK, suppress_health_check=list(HealthCheck))
