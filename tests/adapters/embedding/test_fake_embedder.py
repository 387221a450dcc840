"""The fake keeps the contract that it stands in for."""

import pytest

from app.protocols import Embedder
from tests.contracts.embedder_contract import EmbedderContract
from tests.fakes import FakeEmbedder


class TestFakeEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return FakeEmbedder()

    @pytest.fixture
    def closable(self) -> Embedder:
        return FakeEmbedder()


def test_it_remembers_what_it_embedded() -> None:
    embedder = FakeEmbedder()
    embedder.embed_documents(["one", "two"])
    embedder.embed_query("not a document")
    assert embedder.embedded_texts == ["one", "two"]
