"""The fast embedder: the contract, long texts, and what its process must never do."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.adapters.embedding.local import LocalEmbedder
from app.protocols import Embedder
from tests.adapters.embedding.conftest import EMBED, run_without_network
from tests.contracts.embedder_contract import EmbedderContract


class TestLocalEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, local_embedder: LocalEmbedder) -> Embedder:
        return local_embedder

    @pytest.fixture
    def closable(self, open_local: Callable[[], LocalEmbedder]) -> Embedder:
        return open_local()


def test_a_long_query_is_the_mean_of_its_windows(local_embedder: LocalEmbedder) -> None:
    start, end = "Bees make honey. " * 80, "Compilers emit machine code. " * 80
    vector = local_embedder.embed_query(start + end)
    cut = local_embedder.embed_query(start)
    about_the_end = local_embedder.embed_query("machine code from compilers")
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert vector @ about_the_end > cut @ about_the_end + 0.2


def test_a_query_has_the_same_vector_just_after_the_start_as_later(
    local_embedder: LocalEmbedder, open_local: Callable[[], LocalEmbedder]
) -> None:
    texts = ("granite", "how do I make a backup?", "the quay is made of granite " * 3)
    just_opened = open_local()
    first = [just_opened.embed_query(text) for text in texts]
    just_opened.close()  # waits for what it had begun; the other was opened before
    later = [local_embedder.embed_query(text) for text in texts]
    np.testing.assert_array_equal(np.stack(first), np.stack(later))


def test_a_document_beyond_the_window_is_cut_to_it(local_embedder: LocalEmbedder) -> None:
    text = "word " * 300
    vectors = local_embedder.embed_documents([text, text + "quite different things " * 50])
    assert vectors[0] @ vectors[1] >= 0.9995


def test_its_window_is_that_of_the_model_less_special_tokens(local_embedder: LocalEmbedder) -> None:
    assert local_embedder.token_meter.max_tokens == 254
    assert local_embedder.dimension == 384


def test_known_vectors_of_the_published_model(local_embedder: LocalEmbedder) -> None:
    # The cosines are those of SentenceTransformer.encode in fp32.
    first, second, third = local_embedder.embed_documents(
        ["A man is eating food.", "A man is eating a piece of bread.", "A cheetah chases prey."]
    )
    assert float(first @ second) == pytest.approx(0.7553, abs=0.005)
    assert float(first @ third) == pytest.approx(0.2151, abs=0.005)


def test_embedding_opens_no_connection_and_imports_no_torch(
    model_directory: Path, tmp_path: Path
) -> None:
    # That converting the model opens none either: tests/e2e/test_start_and_stop.py.
    offline = run_without_network(tmp_path, EMBED, str(model_directory))
    assert offline.finished.returncode == 0, offline.finished.stderr
    assert json.loads(offline.finished.stdout) == {"heavy": []}
    assert "NETWORK" not in offline.finished.stderr
    assert not (offline.home / "intel").exists(), "telemetry keeps its files there"


LEFT_ALONE = """
import openvino
from openvino_telemetry import Telemetry

Telemetry().sender.executor.shutdown(wait=True)  # Python 3.12 does not wait for it
"""


def test_the_trap_catches_what_openvino_does_when_left_alone(tmp_path: Path) -> None:
    # Without this, the test above could pass because the trap is broken.
    left_alone = run_without_network(tmp_path, LEFT_ALONE)
    assert "NETWORK socket.getaddrinfo" in left_alone.finished.stderr
    assert (left_alone.home / "intel").exists()
