"""The Chroma vector index: approximate nearest neighbours on disk, in the same process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from filelock import FileLock, Timeout

from app.adapters.vector_index.checks import checked_records, checked_vector
from app.adapters.vector_index.chroma_client import (
    ChromaClient,
    ChromaCollection,
    translated_errors,
)
from app.adapters.vector_index.chroma_files import LOCK_NAME, SYNC_THRESHOLD, wipe
from app.adapters.vector_index.gate import Gate
from app.adapters.vector_index.status import CLOSED
from app.errors import VectorIndexError
from app.protocols import Vector, VectorHit, VectorRecord
from app.slices import slices

UPSERT_BATCH = 64
"""Records in one call into Chroma, which holds its process's GIL throughout."""
SAME_VALUE = 1e-6
"""How much a value of a vector may differ from what was stored, as Chroma normalises again."""
REMOVE_BATCH = 100
READ_PAGE = 500
"""Ids in one `get`; SQLite takes at most 32,766 variables in a statement."""
HNSW_CONFIGURATION = {
    "space": "cosine",
    # Recall@10 against the exact scan, 100,000 clustered vectors: 0.992 with Chroma's defaults of
    # 100 and 100, 1.000 with 200 and 200, for 0.3 ms more a query and a record.
    "ef_construction": 200,
    "ef_search": 200,
}


class ChromaVectorIndex:
    """One collection in one folder, which only this object may use. Made with `open`.

    It holds vectors and metadata but no text: what is deleted in SQL must not stay in its files.
    A search needs no lock of ours; Chroma itself is safe for threads, but not for processes.
    The service uses it through ChromaProcessIndex: damaged files may crash the process that opens
    them.
    """

    def __init__(
        self,
        directory: Path,
        collection_name: str,
        dimension: int,
        sync_threshold: int,
        lock_seconds: float = 0.0,
    ) -> None:
        self._directory = directory
        self._name = collection_name
        self._dimension = dimension
        self._sync_threshold = sync_threshold
        self._gate = Gate()
        self._lock = FileLock(
            directory / LOCK_NAME, timeout=lock_seconds, thread_local=False, fallback_to_soft=False
        )
        self._client: ChromaClient
        self._collection: ChromaCollection

    @classmethod
    def open(
        cls,
        directory: Path,
        collection_name: str,
        dimension: int,
        sync_threshold: int = SYNC_THRESHOLD,
        *,
        lock_seconds: float = 0.0,
        anew: bool = False,
    ) -> Self:
        """Open the collection, or make an empty one, which keeps its `sync_threshold` for life.

        With `anew`, what is there is first deleted, unopened. Raises VectorIndexError if another
        process has used the folder for `lock_seconds`, the files cannot be read, or the collection
        was made for other vectors.
        """
        index = cls(directory.absolute(), collection_name, dimension, sync_threshold, lock_seconds)
        index._acquire()
        try:
            if anew:
                wipe(index._directory)
            index._connect()
        except BaseException:
            index._lock.release()
            raise
        return index

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records, in small batches so that other threads get their turn.

        Only what differs is written: replacing a vector by itself takes HNSW 7 ms, ten times as
        long as adding one, while checking that it is held takes 0.1 ms.
        """
        latest = checked_records(records, self._dimension)
        for batch in slices(latest, UPSERT_BATCH):
            with self._gate.shared(), translated_errors("store vectors"):
                self._write_differing(batch)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records in small batches; unknown ids are no error."""
        for page in slices(list(dict.fromkeys(chunk_ids)), REMOVE_BATCH):
            with self._gate.shared(), translated_errors("remove vectors"):
                self._client.delete(self._collection, page)

    def search(self, vector: Vector, limit: int) -> list[VectorHit]:
        """The (approximately) nearest records, best first."""
        query = checked_vector(vector, self._dimension)
        if limit <= 0:
            return []
        with self._gate.shared(), translated_errors("search"):
            return self._query(query, limit)

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        with self._gate.shared(), translated_errors("list its records"):
            return set(self._client.ids(self._collection))

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        found: dict[str, Vector] = {}
        for page in slices(list(dict.fromkeys(chunk_ids)), READ_PAGE):
            with self._gate.shared(), translated_errors("read vectors"):
                held = self._client.vectors(self._collection, page)
            found.update((key, np.asarray(each, dtype=np.float32)) for key, each in held.items())
        return found

    def metadata(self, chunk_ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """The metadata held for these ids; unknown ids are left out."""
        found: dict[str, Mapping[str, Any]] = {}
        for page in slices(list(dict.fromkeys(chunk_ids)), READ_PAGE):
            with self._gate.shared(), translated_errors("read metadata"):
                found.update(self._client.metadata(self._collection, page))
        return found

    def count(self) -> int:
        """How many records there are."""
        with self._gate.shared(), translated_errors("count its records"):
            return self._client.count(self._collection)

    def clear(self) -> None:
        """Start again with empty files: Chroma gives neither space nor bytes back otherwise."""
        with self._gate.alone() as was_open:
            if not was_open:
                raise VectorIndexError(CLOSED)
            try:
                self._disconnect()
                wipe(self._directory)
                self._connect()
            except VectorIndexError:
                self._gate.close()
                self._lock.release()
                raise

    def close(self) -> None:
        """Wait for calls under way, then release the files. Closing again does nothing."""
        with self._gate.alone() as was_open:
            if was_open:
                self._gate.close()
                try:
                    self._disconnect()
                finally:
                    self._lock.release()

    def _acquire(self) -> None:
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire()
        except Timeout as error:
            message = f"The vector index in {self._directory} is in use by another process."
            raise VectorIndexError(message) from error
        except OSError as error:
            message = f"The vector index in {self._directory} cannot be opened: {error}"
            raise VectorIndexError(message) from error

    def _connect(self) -> None:
        with translated_errors(f"be opened in {self._directory}"):
            self._client = ChromaClient(self._directory)
            try:
                self._open_collection()
            except BaseException:
                self._disconnect()
                raise

    def _disconnect(self) -> None:
        with translated_errors("be closed"):
            self._client.close()

    def _open_collection(self) -> None:
        found = [each for each in self._client.collections() if each.name == self._name]
        if found:
            self._collection = found[0]
        else:
            self._collection = self._client.create_collection(
                self._name,
                {"dimension": self._dimension},
                {**HNSW_CONFIGURATION, "sync_threshold": self._sync_threshold},
            )
        made_for, space = self._collection.metadata.get("dimension"), self._collection.space
        if made_for != self._dimension or space != "cosine":
            message = (
                f"The collection {self._name} holds vectors of {made_for} dimensions ({space}), "
                f"but the embedding model makes {self._dimension} (cosine): rebuild the index."
            )
            raise VectorIndexError(message)
        # Chroma applies its log to the HNSW graph once more at the first write that follows the
        # first query, at 5 ms of held GIL a record, unless that query came before all writes.
        self._query(np.eye(1, self._dimension, dtype=np.float32)[0], 1)

    def _query(self, query: Vector, limit: int) -> list[VectorHit]:
        found = self._client.query(self._collection, query.tolist(), limit)
        return [
            VectorHit(chunk_id, max(-1.0, min(1.0, 1.0 - distance))) for chunk_id, distance in found
        ]

    def _write_differing(self, batch: Sequence[VectorRecord]) -> None:
        held = self._client.metadata(self._collection, [record.chunk_id for record in batch])
        same_vector = self._with_vector_held(
            [record for record in batch if record.chunk_id in held]
        )
        others = [record for record in batch if record.chunk_id not in same_vector]
        if others:
            self._client.upsert(
                self._collection,
                [record.chunk_id for record in others],
                [record.vector.astype(np.float32).tolist() for record in others],
                [_replacing_metadata(record, held) for record in others],
            )
        told_anew = [
            record
            for record in batch
            if record.chunk_id in same_vector and storable_metadata(record) != held[record.chunk_id]
        ]
        if told_anew:
            self._client.update_metadata(
                self._collection,
                [record.chunk_id for record in told_anew],
                [_replacing_metadata(record, held) for record in told_anew],
            )

    def _with_vector_held(self, batch: Sequence[VectorRecord]) -> set[str]:
        """The ids of the records whose vector is held already."""
        if not batch:
            return set()
        wanted = {record.chunk_id: record.vector for record in batch}
        vectors = self._client.vectors(self._collection, list(wanted))
        held = np.asarray(list(vectors.values()), dtype=np.float32)
        differences = np.abs(held - np.stack([wanted[key] for key in vectors])).max(axis=1)
        is_same = (differences <= SAME_VALUE).tolist()
        return {key for key, same in zip(vectors, is_same, strict=True) if same}


def _replacing_metadata(
    record: VectorRecord, held: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Metadata that replaces all that the record held before.

    Chroma merges new metadata into what is there; None removes a key.
    """
    return dict.fromkeys(held.get(record.chunk_id, {})) | storable_metadata(record)


def storable_metadata(record: VectorRecord) -> dict[str, Any]:
    """The record's metadata and `knowledge_id`, without values that Chroma refuses."""
    kept = {
        key: value for key, value in record.metadata.items() if value is not None and value != []
    }
    return {**kept, "knowledge_id": record.item_id}
