"""What every Embedder must do; a subclass gives it one through the `embedder` fixture."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from app.errors import EmbeddingError
from app.protocols import Embedder

SAME_COSINE = 0.9995
"""Two vectors of one text may differ by this much: batches of other shapes round differently."""

TEXTS = [
    "Tokens are refreshed an hour before they expire.",
    "The garden is full of roses.",
    "def refresh_token(session):\n    return session.renew()",
    "short",
    "Every request opens one transaction and commits it before the answer is sent. " * 5,
    "How do I refresh a token?",
]

ODD_TEXTS = [
    "",
    " \n\t ",
    "\0",
    "a\0b",
    "\u0301",
    "e\u0301e\u0301",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "\u202eright to left\u202c \u200b\ufeff",
    "東京の天気はどうですか",
    "\ud800 a lone surrogate",
    "\U0010ffff",
    "x" * 5000,
    "[CLS] [SEP] [PAD] [MASK]",
]


class EmbedderContract:
    """The tests; run in a subclass named Test…"""

    @pytest.fixture
    def closable(self) -> Iterator[Embedder]:
        """An embedder that the test may close."""
        raise NotImplementedError

    def test_documents_become_unit_vectors_of_its_dimension(self, embedder: Embedder) -> None:
        vectors = embedder.embed_documents(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)

    def test_a_query_becomes_one_unit_vector(self, embedder: Embedder) -> None:
        vector = embedder.embed_query(TEXTS[0])
        assert vector.shape == (embedder.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)

    def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        vectors = embedder.embed_documents([])
        assert vectors.shape == (0, embedder.dimension)
        assert vectors.dtype == np.float32

    def test_vectors_stand_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        forwards = embedder.embed_documents(TEXTS)
        backwards = embedder.embed_documents(TEXTS[::-1])[::-1]
        assert _cosines(forwards, backwards).min() >= SAME_COSINE
        different = forwards @ forwards.T - np.eye(len(TEXTS))
        assert different.max() < SAME_COSINE, "the texts are too alike for this test"

    def test_a_text_has_the_same_vector_alone_and_in_company(self, embedder: Embedder) -> None:
        alone = np.stack([embedder.embed_documents([text])[0] for text in TEXTS])
        together = embedder.embed_documents(TEXTS * 5)
        assert _cosines(np.tile(alone, (5, 1)), together).min() >= SAME_COSINE

    def test_the_same_call_gives_the_same_vectors(self, embedder: Embedder) -> None:
        first, second = embedder.embed_documents(TEXTS), embedder.embed_documents(TEXTS)
        assert _cosines(first, second).min() >= SAME_COSINE

    def test_a_text_is_its_own_nearest_document(self, embedder: Embedder) -> None:
        documents = embedder.embed_documents(TEXTS)
        for number, text in enumerate(TEXTS):
            cosines = documents @ embedder.embed_query(text)
            assert cosines.argmax() == number
            assert cosines[number] >= SAME_COSINE

    def test_similar_texts_are_nearer_than_others(self, embedder: Embedder) -> None:
        documents = embedder.embed_documents(TEXTS[:2])
        cosines = documents @ embedder.embed_query("When are tokens refreshed?")
        assert cosines[0] > cosines[1]

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
    def test_odd_text_has_a_vector_too(self, embedder: Embedder, text: str) -> None:
        document = embedder.embed_documents([text])[0]
        query = embedder.embed_query(text)
        assert np.linalg.norm(document) == pytest.approx(1, abs=1e-4)
        assert float(document @ query) >= SAME_COSINE

    def test_many_threads_get_what_one_gets(self, embedder: Embedder) -> None:
        expected = embedder.embed_documents(TEXTS)

        def work(number: int) -> float:
            if number % 2:
                row = number % len(TEXTS)
                return float(embedder.embed_query(TEXTS[row]) @ expected[row])
            rows = [(number + offset) % len(TEXTS) for offset in range(9)]
            vectors = embedder.embed_documents([TEXTS[row] for row in rows])
            return float(_cosines(vectors, expected[rows]).min())

        with ThreadPoolExecutor(8) as pool:
            assert min(pool.map(work, range(16))) >= SAME_COSINE

    def test_the_fingerprint_is_16_hex_digits_and_stays(self, embedder: Embedder) -> None:
        assert len(embedder.fingerprint) == 16
        assert int(embedder.fingerprint, 16) >= 0
        assert embedder.fingerprint == embedder.fingerprint

    def test_a_meter_counts_the_spans_that_it_gives(self, embedder: Embedder) -> None:
        meter = embedder.token_meter
        for text in TEXTS + ODD_TEXTS if meter else []:
            spans = meter.spans(text)
            assert spans.shape == (meter.count(text), 2)
            assert spans.dtype == np.int64
            assert (spans[:, 0] <= spans[:, 1]).all()
            assert ((spans >= 0) & (spans <= len(text))).all()

    def test_once_closed_every_call_fails_and_closing_again_does_not(
        self, closable: Embedder
    ) -> None:
        closable.embed_query("still open")
        closable.close()
        closable.close()
        with pytest.raises(EmbeddingError):
            closable.embed_query("closed")
        with pytest.raises(EmbeddingError):
            closable.embed_documents(["closed"])

    def test_calls_under_way_end_when_it_is_closed(self, closable: Embedder) -> None:
        def work(_: int) -> bool:
            try:
                return closable.embed_documents(TEXTS * 3).shape == (18, closable.dimension)
            except EmbeddingError:
                return True

        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(work, number) for number in range(16)]
            calls[0].result(timeout=60)
            closable.close()
            assert all(call.result(timeout=60) for call in calls)


def _cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left * right).sum(axis=1)
