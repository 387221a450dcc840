"""Every lexical index passes the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.lexical_index.lexical_store import FillableLexicalIndex
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.lexical_index.tantivy_store import TantivyStore
from app.protocols import LexicalIndex
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.contracts.lexical_index_contract import LexicalIndexContract, found, many, record


class FillableLexicalIndexContract(LexicalIndexContract):
    """What an index that can be filled in bulk keeps to beside the protocol of all."""

    def test_what_was_added_is_found_once_it_is_kept(self, index: FillableLexicalIndex):
        index.add(many(20))
        index.add(many(5, "more"))
        index.keep()
        index.keep()
        assert index.count() == 25
        assert found(index, "shared") == {r.chunk_id for r in [*many(20), *many(5, "more")]}

    def test_an_upsert_replaces_what_was_only_added(self, index: FillableLexicalIndex):
        index.add(many(3))
        index.upsert([record("chunk-0001", "replaced")])
        index.keep()
        assert index.count() == 3
        assert found(index, "replaced") == {"chunk-0001"}
        assert found(index, "shared") == {"chunk-0000", "chunk-0002"}

    def test_what_was_only_added_can_be_removed(self, index: FillableLexicalIndex):
        index.add(many(3))
        index.remove(["chunk-0001", "unknown"])
        index.keep()
        assert index.chunk_ids() == {"chunk-0000", "chunk-0002"}

    def test_adding_nothing_is_no_error(self, index: FillableLexicalIndex):
        index.add([])
        index.keep()
        assert index.count() == 0


class TestFakeLexicalIndex(FillableLexicalIndexContract):
    ranks_symbols = False

    @pytest.fixture
    def index(self) -> FillableLexicalIndex:
        return FakeLexicalIndex()


class TestTantivyIndex(FillableLexicalIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[FillableLexicalIndex]:
        index = TantivyIndex(tmp_path)
        yield index
        index.close()


class TestHealingLexicalIndex(LexicalIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[LexicalIndex]:
        index = HealingLexicalIndex(TantivyStore(tmp_path), lambda: iter([]))
        index.rebuild()
        assert index.status.ready
        yield index
        index.close()
