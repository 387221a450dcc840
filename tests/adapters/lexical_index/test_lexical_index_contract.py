"""Every lexical index passes the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.lexical_index.tantivy_store import TantivyStore
from app.protocols import LexicalIndex
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.contracts.lexical_index_contract import LexicalIndexContract


class TestFakeLexicalIndex(LexicalIndexContract):
    ranks_symbols = False

    @pytest.fixture
    def index(self) -> LexicalIndex:
        return FakeLexicalIndex()


class TestTantivyIndex(LexicalIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[LexicalIndex]:
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
