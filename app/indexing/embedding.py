"""Embeds texts that no one embedded before, and stores each batch of vectors at once."""

import time
from collections.abc import Callable, Mapping

from app.database import Database
from app.fault_points import FaultPoint, reached
from app.indexing import vector_queries
from app.protocols import Embedder
from app.slices import slices

GROUP_CHUNKS = 192
"""Chunks that are embedded, and documents of as many that are stored, together: enough to fill
batches of equal length, few enough (2 s of work) that progress shows and a stop is heeded soon."""


def embed_unknown(
    database: Database,
    embedder: Embedder,
    texts: Mapping[str, str],
    *,
    check: Callable[[], None] = lambda: None,
    on_embedded: Callable[[int, float], None] = lambda _texts, _seconds: None,
) -> None:
    """Store a vector for each text (by its hash) that has no sound one yet under the model.

    `check` raises when the work is to stop; asked before each batch. `on_embedded` is told of
    each batch that is stored: how many texts, and the seconds that the model took. Raises
    EmbeddingError, StorageError; what was stored before stays.
    """
    fingerprint = embedder.fingerprint
    with database.read() as session:
        missing = vector_queries.missing_embeddings(
            session, list(texts), fingerprint, embedder.dimension
        )
    for hashes in slices(missing, GROUP_CHUNKS):
        check()
        started = time.perf_counter()
        vectors = embedder.embed_documents([texts[text_hash] for text_hash in hashes])
        seconds = time.perf_counter() - started
        reached(FaultPoint.TEXTS_EMBEDDED)
        # Stored at once: whatever happens next, this text is never embedded again.
        with database.write() as session:
            vector_queries.add_embeddings(session, fingerprint, zip(hashes, vectors, strict=True))
        reached(FaultPoint.EMBEDDINGS_STORED)
        on_embedded(len(hashes), seconds)
