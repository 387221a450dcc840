"""Indexing again does no more than what changed asks for."""

import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import event, select

from app.adapters.loading.folder_scan import FolderScan
from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.errors import EmbeddingError, ItemStoppedError, WorkStoppedError
from app.indexing import pipeline
from app.indexing.documents import sha256_hex
from app.indexing.embedding import GROUP_CHUNKS, TextsUnderWay, embed_unknown
from app.indexing.indexer import Indexer
from app.indexing.results import IndexingResult
from app.knowledge.items import KnowledgeItem
from app.models import DocumentRow, EmbeddingRow
from app.protocols import (
    LoadedDocument,
    Progress,
    SourceEntry,
    SourceListing,
    SourceOpener,
    VectorRecord,
    Vectors,
)
from app.search.requests import SearchRequest
from tests.fakes import FakeEmbedder
from tests.indexing.conftest import AddItem

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


def test_chunks_of_a_document_that_only_moves_to_another_address_are_told_it(
    docs, add_item, index, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
):
    told: dict[str, object] = {}
    upsert = ExactVectorIndex.upsert

    def note(vectors: ExactVectorIndex, records: Sequence[VectorRecord]) -> None:
        told.update((record.chunk_id, record.metadata["uri"]) for record in records)
        upsert(vectors, records)

    monkeypatch.setattr(ExactVectorIndex, "upsert", note)
    moving = "---\nsource_url: https://example.com/{}\n---\n\n# Third\n\nA text about zebras."
    write(docs / "third.md", moving.format("old"))
    item = add_item(docs)
    index(item)
    (chunk_id,) = [each for each, uri in told.items() if uri == "https://example.com/old"]
    write(docs / "third.md", moving.format("newer"))
    embedder.embedded_texts.clear()
    index(item)
    assert told[chunk_id] == "https://example.com/newer"
    assert embedder.embedded_texts == []


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


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_a_listing_misses_stays_if_it_is_there_and_goes_if_it_is_left_out(
    docs: Path, add_item, index, found, monkeypatch: pytest.MonkeyPatch, *, there: bool
):
    """As one may be missed that is replaced by a rename just then."""
    item = add_item(docs)
    index(item)
    list_all, listings = FolderScan.run, []

    def miss_one(scan: FolderScan) -> SourceListing:
        listing = list_all(scan)
        if not there or not listings:
            rest = [entry for entry in listing.entries if entry.key != "second.md"]
            listing = replace(listing, entries=tuple(rest))
        listings.append(listing)
        return listing

    monkeypatch.setattr(FolderScan, "run", miss_one)
    result = index(item)
    assert result.success
    assert (result.chunks_removed == 0) == there
    assert len(listings) == 2
    monkeypatch.undo()
    index(item)
    assert index(item).documents == result.documents + (not there)


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


def test_nothing_is_looked_for_that_would_belong_to_a_document_that_is_new(
    container: Container, docs: Path, add_item, index
):
    """That took half of the time of storing documents, in which nobody else can write."""
    asked: list[str] = []
    tables = "chunks", "document_tags", "generation_documents"

    @event.listens_for(container.database._engine, "before_cursor_execute")
    def note(_1: object, _2: object, statement: str, *_: object) -> None:
        of_one = re.search(r"FROM (\w+) *\s*WHERE \w+\.(?:generation|document)_id = ", statement)
        if of_one and of_one[1] in tables:
            asked.append(f"{statement.split(maxsplit=1)[0]} {of_one[1]}")

    item = add_item(docs)
    index(item)
    assert asked == []
    write(docs / "first.md", "# First\n\nAnother text.")
    index(item)
    assert sorted(asked) == [
        "DELETE chunks",  # of other generations
        "DELETE document_tags",
        "DELETE generation_documents",
        "SELECT chunks",
        "SELECT generation_documents",
    ]


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


def test_work_that_is_to_stop_embeds_no_further_batch_and_keeps_what_it_has(
    container: Container,
) -> None:
    texts = {sha256_hex(text): text for text in (f"part {n}" for n in range(2 * GROUP_CHUNKS + 1))}
    embedder = FakeEmbedder()

    def stop_after_the_first() -> None:
        if embedder.embedded_texts:
            raise ItemStoppedError("The item was deleted.")

    with pytest.raises(ItemStoppedError):
        embed_unknown(container.database, embedder, texts, check=stop_after_the_first)
    assert len(embedder.embedded_texts) == GROUP_CHUNKS
    embed_unknown(container.database, embedder, texts)
    assert sorted(embedder.embedded_texts) == sorted(texts.values())


class HesitantEmbedder(FakeEmbedder):
    """Its first call ends once there is a second one, or once a second has passed without."""

    fails_first = False

    def __init__(self) -> None:
        super().__init__()
        self.first_came = threading.Event()
        self.second_came = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.first_came.is_set():
            self.second_came.set()
            return super().embed_documents(texts)
        self.first_came.set()
        self.second_came.wait(1)
        if self.fails_first:
            raise EmbeddingError("The endpoint answered 500.")
        return super().embed_documents(texts)


class TestSameTextsAtOnce:
    @pytest.fixture
    def embedder(self) -> HesitantEmbedder:
        return HesitantEmbedder()

    @pytest.fixture
    def items(self, source_root: Path, add_item: AddItem) -> list[KnowledgeItem]:
        """Two, whose files say the same."""
        for name in ("one", "two"):
            (source_root / name).mkdir()
            write(source_root / name / "guide.md", "# Guide\n\n" + "\n\n".join(PARAGRAPHS))
        return [add_item(source_root / name) for name in ("one", "two")]

    def test_two_items_that_are_indexed_at_once_have_each_text_embedded_once(
        self, container: Container, embedder: HesitantEmbedder, items: list[KnowledgeItem]
    ) -> None:
        results = index_at_once(container, embedder, items)
        assert all(result.success for result in results)
        assert len(embedder.embedded_texts) == len(set(embedder.embedded_texts)) > 1
        assert sorted(result.chunks_embedded for result in results)[0] == 0
        assert results[0].chunks_indexed == results[1].chunks_indexed > 1
        assert container.maintenance.verify().problems == ()

    def test_what_failed_for_the_one_is_embedded_for_the_other(
        self, container: Container, embedder: HesitantEmbedder, items: list[KnowledgeItem]
    ) -> None:
        embedder.fails_first = True
        results = index_at_once(container, embedder, items)
        assert [result.success for result in results] == [False, True]
        assert results[1].chunks_embedded == results[1].chunks_indexed > 1

    def test_what_another_has_stored_just_now_is_not_embedded_again(
        self, container: Container
    ) -> None:
        """It was missing when that was looked at, and is there once nobody embeds it."""
        texts = {sha256_hex(text): text for text in PARAGRAPHS}
        embedder, under_way = FakeEmbedder(), TextsUnderWay()

        def store_meanwhile() -> None:
            embed_unknown(container.database, embedder, texts, under_way=under_way)

        embed_unknown(
            container.database, embedder, texts, under_way=under_way, check=store_meanwhile
        )
        assert sorted(embedder.embedded_texts) == sorted(texts.values())

    def test_who_waits_for_the_vectors_of_another_can_be_stopped(
        self, container: Container
    ) -> None:
        texts = {sha256_hex(text): text for text in PARAGRAPHS}
        embedder, under_way = FakeEmbedder(), TextsUnderWay()
        checks = iter([None, None])

        def stop_at_the_third() -> None:
            if next(checks, "none left") is not None:
                raise ItemStoppedError("The item was deleted.")

        with under_way.taken(embedder.fingerprint, list(texts)), pytest.raises(ItemStoppedError):
            embed_unknown(
                container.database, embedder, texts, under_way=under_way, check=stop_at_the_third
            )
        assert embedder.embedded_texts == []


def index_at_once(
    container: Container, embedder: HesitantEmbedder, items: Sequence[KnowledgeItem]
) -> list[IndexingResult]:
    """Index the second while the first is being embedded."""
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(container.indexer.index, items[0].id)
        assert embedder.first_came.wait(30)
        second = pool.submit(container.indexer.index, items[1].id)
    return [first.result(), second.result()]


def test_files_that_were_all_touched_are_noted_some_at_a_time(
    container: Container, source_root: Path, add_item, index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever else writes need not wait for all of them: what is noted stays when the run stops."""
    at_once = 5
    monkeypatch.setattr(pipeline, "RESTAMPED_AT_ONCE", at_once)
    for number in range(at_once + 2):
        (source_root / f"{number}.md").write_text("The same.")
    item = add_item(source_root)
    index(item)
    before = fetch_times(container)
    for path in source_root.iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))

    def stop_once_some_are_noted(_: Progress) -> None:
        if fetch_times(container) != before:
            raise WorkStoppedError("The job was cancelled.")

    with pytest.raises(WorkStoppedError):
        index(item, progress=stop_once_some_are_noted)
    after = fetch_times(container)
    assert sum(after[key] != before[key] for key in before) == at_once
    assert index(item).success


def fetch_times(container: Container) -> dict[str, datetime]:
    with container.database.read() as session:
        rows = session.execute(select(DocumentRow.key, DocumentRow.fetched_at))
        return {row.key: row.fetched_at for row in rows}
