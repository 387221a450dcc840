"""Indexing again does no more than what changed asks for."""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import event, select

from app.container import Container
from app.indexing.documents import sha256_hex
from app.indexing.embedding import embed_unknown
from app.indexing.indexer import Indexer
from app.models import DocumentRow, EmbeddingRow
from app.protocols import LoadedDocument, SourceEntry, SourceListing, SourceOpener, Vectors
from app.search.requests import SearchRequest
from tests.fakes import FakeEmbedder

PARAGRAPHS = [
    " ".join(f"Sentence {n} of paragraph {number} speaks of topic{number}." for n in range(6))
    for number in range(8)
]


def write(path: Path, text: str) -> None:
    """Write a file as if it had been there for a while: fresh files are read again anyway."""
    path.write_text(text)
    os.utime(path, (1_700_000_000 + len(text), 1_700_000_000))


@pytest.fixture
def docs(source_root: Path) -> Path:
    write(source_root / "first.md", "# First\n\n" + "\n\n".join(PARAGRAPHS))
    write(source_root / "second.md", "# Second\n\nA text about elephants.")
    return source_root


def test_every_character_is_stored_in_some_chunk_and_index_equals_sql(
    container: Container, docs, add_item, index
):
    result = index(add_item(docs))
    report = container.maintenance.verify()
    assert result.success
    assert result.documents == 2
    assert result.chunks_indexed == result.chunks_added == report.chunks == report.index_records
    assert report.problems == ()


def test_unchanged_sources_are_neither_embedded_nor_changed(
    docs, add_item, index, embedder: FakeEmbedder
):
    item = add_item(docs)
    first = index(item)
    embedder.embedded_texts.clear()
    again, forced = index(item), index(item, force=True)
    assert embedder.embedded_texts == []
    for result in (again, forced):
        assert (result.chunks_added, result.chunks_removed) == (0, 0)
        assert result.chunks_unchanged == result.chunks_indexed == first.chunks_indexed
        assert result.content_hash == first.content_hash


def test_only_the_changed_chunks_of_a_changed_file_are_embedded(
    docs, add_item, index, found, embedder: FakeEmbedder
):
    item = add_item(docs)
    before = index(item)
    embedder.embedded_texts.clear()
    changed = [*PARAGRAPHS]
    changed[4] = changed[4].replace("speaks", "no longer speaks but tells of giraffes instead")
    write(docs / "first.md", "# First\n\n" + "\n\n".join(changed))
    result = index(item)
    assert embedder.embedded_texts
    far_away = ("topic0", "topic1", "topic2", "topic7")
    assert not [text for text in embedder.embedded_texts if any(word in text for word in far_away)]
    assert result.chunks_added == len(set(embedder.embedded_texts))
    assert result.chunks_unchanged > 0
    assert result.content_hash != before.content_hash
    assert "giraffes" in found("giraffes")[0]
    assert not any("speaks of topic4" in text for text in found("topic4"))


def test_chunks_that_merely_move_keep_their_id_and_get_new_lines(
    container: Container, docs, add_item, index, embedder: FakeEmbedder
):
    item = add_item(docs)
    index(item)
    request = SearchRequest("elephants", n_results=1)
    (before,) = container.searcher.search(request).results
    write(docs / "second.md", "\n\n\n# Second\n\nA text about elephants.")
    embedder.embedded_texts.clear()
    index(item)
    (after,) = container.searcher.search(request).results
    assert after.content.strip() == before.content.strip()
    assert after.end_line == before.end_line + 3
    assert container.maintenance.verify().problems == ()


def test_a_deleted_file_is_gone_from_search(docs, add_item, index, found):
    item = add_item(docs)
    index(item)
    assert "elephants" in found("elephants")[0]
    (docs / "second.md").unlink()
    result = index(item)
    assert result.chunks_removed == 1
    assert not any("elephants" in text for text in found("elephants"))


class DeletedOnceListed:
    """Opens folders of which a file goes after they were listed, as when an editor saves it."""

    def __init__(self, sources: SourceOpener, file: Path) -> None:
        self._sources = sources
        self._file = file

    def open(self, uri: str, document_type: str) -> "DeletedOnceListed":
        self._source = self._sources.open(uri, document_type)
        return self

    def scan(self) -> SourceListing:
        listing = self._source.scan()
        self._file.unlink()
        return listing

    def read(self, entry: SourceEntry) -> LoadedDocument:
        return self._source.read(entry)


def test_a_file_that_goes_after_it_was_listed_is_kept_until_a_listing_lacks_it(
    container: Container, docs, add_item, index, found
):
    item = add_item(docs)
    index(item)
    sources = DeletedOnceListed(container.sources, docs / "second.md")
    indexer = Indexer(
        database=container.database,
        pipeline=container.pipeline_for(sources),
        publisher=container.publisher,
        metrics=container.metrics,
    )
    (note,) = indexer.index(item.id, force=True).skipped
    assert note.reason.startswith("File not found")
    assert "elephants" in found("elephants")[0]
    assert index(item).chunks_removed == 1


def test_an_emptied_file_of_a_folder_is_gone_from_search_and_reported(docs, add_item, index, found):
    item = add_item(docs)
    index(item)
    write(docs / "second.md", "\n")
    result = index(item)
    assert result.success
    assert [skipped.reason for skipped in result.skipped] == ["No content to index"]
    assert not any("elephants" in text for text in found("elephants"))


def test_equal_text_is_embedded_once_even_across_items_and_after_a_delete(
    container: Container, docs, add_item, index, embedder: FakeEmbedder
):
    item = add_item(docs)
    index(item)
    twin = add_item(docs)
    container.knowledge.delete(item.id)
    embedder.embedded_texts.clear()
    result = index(twin)
    assert result.success
    assert result.chunks_added > 0
    assert embedder.embedded_texts == []


def test_new_times_of_files_that_say_the_same_are_noted_in_one_statement(
    container: Container, source_root: Path, add_item, index
):
    """As after a fresh checkout of a large folder: nobody else can write meanwhile."""
    pages = [source_root / f"{number}.md" for number in range(30)]
    for page in pages:
        write(page, f"Text of {page.stem}.")
    item = add_item(source_root)
    index(item)
    for page in pages:
        os.utime(page, (1_600_000_000, 1_600_000_000))
    updates: list[str] = []

    @event.listens_for(container.database._engine, "before_cursor_execute")
    def note(_1: object, _2: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE documents"):
            updates.append(statement)

    index(item)
    assert len(updates) == 1
    with container.database.read() as session:
        noted = set(session.scalars(select(DocumentRow.modified_at)))
    assert noted == {datetime.fromtimestamp(1_600_000_000, UTC)}


class MeetingEmbedder(FakeEmbedder):
    """Answers once as many as `met` wants are asking."""

    def __init__(self) -> None:
        super().__init__()
        self.met = threading.Barrier(2)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.met.wait(30)
        return super().embed_documents(texts)


def test_two_that_embed_the_same_texts_at_once_store_each_vector_once(container: Container) -> None:
    texts = {sha256_hex(text): text for text in PARAGRAPHS}
    backwards = dict(reversed(texts.items()))
    embedder = MeetingEmbedder()
    with ThreadPoolExecutor(2) as pool:
        done = [
            pool.submit(embed_unknown, container.database, embedder, wanted)
            for wanted in (texts, backwards)
        ]
    assert [each.exception() for each in done] == [None, None]
    with container.database.read() as session:
        stored = list(session.scalars(select(EmbeddingRow.text_hash)))
    assert sorted(stored) == sorted(texts)
