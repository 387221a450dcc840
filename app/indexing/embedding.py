"""Embeds texts that have no vector yet, and stores each batch of vectors at once."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from app.database import Database
from app.fault_points import FaultPoint, reached
from app.indexing import vector_queries
from app.protocols import Embedder
from app.slices import slices

GROUP_CHUNKS = 192
"""Chunks that are embedded, and documents of as many that are stored, together: enough to fill
batches of equal length, few enough (2 s of work) that progress shows and a stop is heeded soon."""

WAITING_SECONDS = 0.5
"""How often a thread that waits for another's vectors checks whether to stop."""


class TextsUnderWay:
    """Which texts are being embedded, so that other threads wait for them. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: set[tuple[str, str]] = set()
        """Fingerprints of models, with hashes of texts."""

    @contextmanager
    def taken(self, fingerprint: str, hashes: Sequence[str]) -> Iterator[list[str]]:
        """Gives the texts that no other thread embeds, and reserves them for the block."""
        with self._changed:
            own = [each for each in hashes if (fingerprint, each) not in self._taken]
            self._taken.update((fingerprint, each) for each in own)
        try:
            yield own
        finally:
            with self._changed:
                self._taken.difference_update((fingerprint, each) for each in own)
                self._changed.notify_all()

    def wait_for(self, fingerprint: str, hashes: Sequence[str], check: Callable[[], None]) -> None:
        """Wait until none of the texts is being embedded; what `check` raises ends the waiting."""
        wanted = {(fingerprint, each) for each in hashes}
        while True:
            with self._changed:
                if self._taken.isdisjoint(wanted):
                    return
                self._changed.wait(WAITING_SECONDS)
            check()


def embed_unknown(
    database: Database,
    embedder: Embedder,
    texts: Mapping[str, str],
    *,
    under_way: TextsUnderWay | None = None,
    check: Callable[[], None] = lambda: None,
    on_embedded: Callable[[int, float], None] = lambda _texts, _seconds: None,
) -> None:
    """Store a vector for each text (by its hash) that has no sound one yet under the model.

    A text that another thread with the same `under_way` is embedding is waited for, and embedded
    here only if that fails. `check` raises when the work is to stop; it is called before each
    batch, and now and then while waiting. `on_embedded` is called for each stored batch, with the
    number of texts and the seconds that the model took. Raises EmbeddingError and StorageError;
    what was stored before stays.
    """
    under_way = under_way or TextsUnderWay()
    fingerprint = embedder.fingerprint
    wanted = list(texts)
    while wanted:
        elsewhere: list[str] = []
        for some in slices(_missing(database, embedder, wanted), GROUP_CHUNKS):
            check()
            with under_way.taken(fingerprint, some) as own:
                elsewhere += set(some).difference(own)
                # Checked again: another thread may just have stored them.
                hashes = _missing(database, embedder, own)
                if hashes:
                    _embed(database, embedder, hashes, texts, on_embedded)
        under_way.wait_for(fingerprint, elsewhere, check)
        wanted = elsewhere


def _missing(database: Database, embedder: Embedder, hashes: Sequence[str]) -> list[str]:
    with database.read() as session:
        return vector_queries.missing_embeddings(
            session, hashes, embedder.fingerprint, embedder.dimension
        )


def _embed(
    database: Database,
    embedder: Embedder,
    hashes: Sequence[str],
    texts: Mapping[str, str],
    on_embedded: Callable[[int, float], None],
) -> None:
    started = time.perf_counter()
    vectors = embedder.embed_documents([texts[text_hash] for text_hash in hashes])
    seconds = time.perf_counter() - started
    reached(FaultPoint.TEXTS_EMBEDDED)
    # Stored at once: whatever happens next, this text is never embedded again.
    with database.write() as session:
        rows = zip(hashes, vectors, strict=True)
        vector_queries.add_embeddings(session, embedder.fingerprint, rows)
    reached(FaultPoint.EMBEDDINGS_STORED)
    on_embedded(len(hashes), seconds)
