"""The reference embedder, and that the fast one gives the same vectors."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder
from app.assembly.embedders import open_embedder
from app.errors import StartupError
from app.protocols import Embedder
from app.settings import Settings
from tests.contracts.embedder_contract import ODD_TEXTS, TEXTS, EmbedderContract

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def reference() -> Iterator[SentenceTransformersEmbedder]:
    embedder = SentenceTransformersEmbedder.open("all-MiniLM-L6-v2", threads=2)
    yield embedder
    embedder.close()


class TestSentenceTransformersEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, reference: SentenceTransformersEmbedder) -> Embedder:
        return reference

    @pytest.fixture
    def closable(self) -> Embedder:
        return SentenceTransformersEmbedder.open("all-MiniLM-L6-v2")


def test_the_fast_runtime_shares_its_space(
    reference: SentenceTransformersEmbedder, local_embedder: LocalEmbedder
) -> None:
    assert local_embedder.fingerprint == reference.fingerprint
    assert local_embedder.dimension == reference.dimension
    assert local_embedder.token_meter.max_tokens == reference.token_meter.max_tokens
    texts = [*TEXTS, *ODD_TEXTS, "A text beyond the window. " * 200]
    cosines = (local_embedder.embed_documents(texts) * reference.embed_documents(texts)).sum(axis=1)
    assert cosines.mean() >= 0.9995
    assert cosines.min() >= 0.999
    long_query = "Where is this said? " * 300
    cosine = np.dot(local_embedder.embed_query(long_query), reference.embed_query(long_query))
    assert cosine >= 0.9995


def test_the_settings_bound_its_threads() -> None:
    import torch  # noqa: PLC0415, slow, and wanted here alone

    before = torch.get_num_threads()
    settings = Settings(embedding_provider="sentence-transformers", embedding_threads=1)
    try:
        with closing(open_embedder(settings)):
            assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_a_folder_with_broken_weights_is_named(tmp_path, packaged_copy) -> None:
    (packaged_copy / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(StartupError, match="cannot load the model"):
        SentenceTransformersEmbedder.open(str(packaged_copy))
