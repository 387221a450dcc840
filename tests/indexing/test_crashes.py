"""Whatever step a process dies in, the next one makes both indexes equal to SQL again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.indexing import vector_queries
from app.indexing.claims import StopSignal
from app.indexing.index_sources import lexical_source, vector_source
from app.indexing.preparing import DocumentPreparer
from app.indexing.publisher import Publisher
from app.knowledge.items import ItemDraft
from app.protocols import VectorRecord
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.fakes import FakeEmbedder


class Died(Exception):  # noqa: N818, no error of ours
    """The process is gone: whatever it tries from here on, it dies again."""


class Fate:
    """Lets a number of calls through, and ends everything half-way through the next one."""

    def __init__(self) -> None:
        self.calls_left = 1000

    def strike(self) -> None:
        self.calls_left -= 1
        if self.calls_left < 0:
            raise Died


class Dying:
    """An index whose writes go half-way when its fate strikes."""

    fate: Fate

    def upsert(self, records: Sequence[Any]) -> None:
        super().upsert(records[: len(records) // 2])
        self.fate.strike()
        super().upsert(records)

    def remove(self, chunk_ids: Sequence[str]) -> None:
        super().remove(chunk_ids[: len(chunk_ids) // 2])
        self.fate.strike()
        super().remove(chunk_ids)


class DyingVectorIndex(Dying, ExactVectorIndex):
    pass


class DyingLexicalIndex(Dying, FakeLexicalIndex):
    pass


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
            token_meter=container.embedder.token_meter,
            generation=container.generation,
        )
    )


WRITES = 5
"""Of replacing a document by another text: new chunks into both indexes, then (settling) those
that changed into the vector index, and the old ones out of both."""


@pytest.mark.parametrize("calls", range(WRITES + 1))
def test_a_death_at_any_write_of_an_index_is_mended_at_the_next_start(
    container: Container, source_root: Path, embedder: FakeEmbedder, calls: int
):
    document = source_root / "doc.md"
    document.write_text("\n\n".join(f"The old paragraph {n} about ships. " * 4 for n in range(9)))
    item = container.knowledge.create(ItemDraft("doc", str(source_root), "folder"))
    container.indexer.index(item.id)
    fate = Fate()
    vectors, words = DyingVectorIndex(embedder.dimension), DyingLexicalIndex()
    vectors.fate = words.fate = fate
    vectors.upsert(records(container, embedder))
    for batch in lexical_source(container.database, container.generation)():
        words.upsert(batch)

    document.write_text("\n\n".join(f"The new paragraph {n} about ships. " * 4 for n in range(7)))
    documents = prepared(container, item.id, source_root)
    store_embeddings(container, documents, embedder)
    fate.calls_left = calls
    dying = Publisher(container.database, vectors, words, container.generation)
    dying.start()
    died = isinstance(dying.publish(item.id, documents).exception(), Died)

    dying.close()

    fate.calls_left = 1000
    reborn = Publisher(container.database, vectors, words, container.generation)
    reborn.start()
    reborn.close()
    expected = {record.chunk_id for record in records(container, embedder)}
    assert died == (calls < WRITES)
    assert vectors.chunk_ids() == words.chunk_ids() == expected
    assert len(expected) > 0


def records(container: Container, embedder: FakeEmbedder) -> list[VectorRecord]:
    batches = vector_source(container.database, container.generation)()
    return [record for batch in batches for record in batch]


def store_embeddings(container: Container, documents, embedder: FakeEmbedder) -> None:
    chunks = [chunk for document in documents for chunk in document.chunks]
    vectors = embedder.embed_documents([chunk.embedded_text for chunk in chunks])
    with container.database.write() as session:
        pairs = zip((chunk.text_hash for chunk in chunks), vectors, strict=True)
        vector_queries.add_embeddings(session, embedder.fingerprint, pairs)
