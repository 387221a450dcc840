"""Whatever step a process dies in, the next one makes the vector index equal to SQL again."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.indexing import vector_queries
from app.indexing.claims import StopSignal
from app.indexing.maintenance import read_records
from app.indexing.preparing import DocumentPreparer
from app.indexing.publisher import Publisher
from app.knowledge.items import ItemDraft
from app.protocols import VectorRecord
from tests.fakes import FakeEmbedder


class Died(Exception):  # noqa: N818, no error of ours
    """The process is gone: whatever it tries from here on, it dies again."""


class DyingIndex(ExactVectorIndex):
    """Lets a number of calls through, and dies half-way through the next write."""

    def __init__(self, dimension: int, calls: int) -> None:
        super().__init__(dimension)
        self.calls_left = calls

    def _live(self) -> None:
        self.calls_left -= 1
        if self.calls_left < 0:
            raise Died

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        super().upsert(records[: len(records) // 2])
        self._live()
        super().upsert(records)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        super().remove(chunk_ids[: len(chunk_ids) // 2])
        self._live()
        super().remove(chunk_ids)


def prepared(container: Container, item_id: int, path: Path):
    item = container.knowledge.get(item_id)
    source = container.sources.open(str(path), "folder")
    return list(
        DocumentPreparer(
            item_id=item.id,
            source=source,
            listing=source.scan(),
            known={},
            splitter=container.splitter,
            force=True,
            signal=StopSignal(),
        )
    )


@pytest.mark.parametrize("calls", range(4))
def test_a_death_at_any_write_of_the_index_is_mended_at_the_next_start(
    container: Container, source_root: Path, embedder: FakeEmbedder, calls: int
):
    """The writes of replacing a document: new chunks in, then (settling) changed in, old out."""
    document = source_root / "doc.md"
    document.write_text("\n\n".join(f"The old paragraph {n} about ships. " * 4 for n in range(9)))
    item = container.knowledge.create(ItemDraft("doc", str(source_root), "folder"))
    container.indexer.index(item.id)
    index = DyingIndex(embedder.dimension, calls=1000)
    index.upsert(records(container, embedder))

    document.write_text("\n\n".join(f"The new paragraph {n} about ships. " * 4 for n in range(7)))
    documents = prepared(container, item.id, source_root)
    store_embeddings(container, documents, embedder)
    index.calls_left = calls
    dying = Publisher(container.database, index, embedder.fingerprint)
    dying.start()
    died = isinstance(dying.publish(item.id, documents).exception(), Died)

    dying.close()

    index.calls_left = 1000
    reborn = Publisher(container.database, index, embedder.fingerprint)
    reborn.start()
    reborn.close()
    expected = {record.chunk_id for record in records(container, embedder)}
    assert died == (calls < 3)
    assert index.chunk_ids() == expected
    assert len(expected) > 0


def records(container: Container, embedder: FakeEmbedder) -> list[VectorRecord]:
    batches = read_records(container.database, embedder.fingerprint)()
    return [record for batch in batches for record in batch]


def store_embeddings(container: Container, documents, embedder: FakeEmbedder) -> None:
    chunks = [chunk for document in documents for chunk in document.chunks]
    vectors = embedder.embed_documents([chunk.chunk.content for chunk in chunks])
    with container.database.write() as session:
        pairs = zip((chunk.text_hash for chunk in chunks), vectors, strict=True)
        vector_queries.add_embeddings(session, embedder.fingerprint, pairs)
