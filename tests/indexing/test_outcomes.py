"""What an item says after indexing succeeded, failed or was interrupted."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.adapters.loading.folder_scan import MAX_SKIPPED
from app.container import Container
from app.errors import EmbeddingError, NotFoundError, WorkStoppedError
from app.fault_points import FaultPoint
from app.indexing import pipeline
from app.indexing.embedding import GROUP_CHUNKS
from app.indexing.results import MOST_NOTES, reported
from app.jobs.service import JobService
from app.knowledge.items import ItemDraft
from app.protocols import Progress, SourceNote, Vectors
from tests.fakes import MoodyEmbedder
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def embedder() -> MoodyEmbedder:
    return MoodyEmbedder()


@pytest.fixture
def guide(source_root: Path) -> Path:
    path = source_root / "guide.md"
    path.write_text("# Guide\n\nHow to configure the lighthouse.")
    return path


def test_success_makes_a_pending_item_active(container: Container, guide, add_item, index):
    item = add_item(guide, "markdown")
    result = index(item)
    after = container.knowledge.get(item.id)
    assert (item.status, after.status) == ("pending", "active")
    assert after.content_hash == result.content_hash
    assert after.indexed_at is not None
    assert after.last_fetched_at is not None
    assert after.chunk_count == result.chunks_indexed == 1


@pytest.mark.parametrize(
    ("content", "error"),
    [(None, "File not found: "), (b"", "No content to index"), (b" \n\t\n", "No content to index")],
)
def test_failure_makes_a_pending_item_an_error_that_says_why(
    container: Container, source_root, add_item, index, content, error
):
    path = source_root / "doc.md"
    if content is not None:
        path.write_bytes(content)
    item = add_item(path, "markdown")
    result = index(item)
    after = container.knowledge.get(item.id)
    assert (result.success, result.chunks_indexed, result.content_hash) == (False, 0, "")
    assert result.error.startswith(error)
    assert (after.status, after.error) == ("error", result.error)
    path.write_text("Now there is something.")
    assert index(item).success
    after = container.knowledge.get(item.id)
    assert (after.status, after.error) == ("active", None)


def test_a_failing_reindex_keeps_an_active_item_searchable(
    container: Container, guide, add_item, index, found
):
    item = add_item(guide, "markdown")
    index(item)
    guide.unlink()
    result = index(item)
    after = container.knowledge.get(item.id)
    assert result.error == after.error == f"File not found: {guide}"
    assert after.status == "active"
    assert "lighthouse" in found("lighthouse")[0]


def test_of_another_source_nobody_says_that_it_was_read(
    container: Container, source_root, guide, add_item, index
):
    item = add_item(guide, "markdown")
    index(item)
    elsewhere = container.knowledge.update(item.id, {"uri": str(source_root / "elsewhere.md")})
    assert (elsewhere.content_hash, elsewhere.last_fetched_at) == (None, None)
    assert elsewhere.indexed_at is not None  # what is searchable is still the other text


@pytest.mark.parametrize("how", ["the last file deleted", "the last file emptied"])
def test_an_emptied_folder_is_a_failure_that_leaves_nothing_to_find(
    container: Container, source_root, guide, add_item, index, found, how
):
    item = add_item(source_root)
    index(item)
    if how == "the last file deleted":
        guide.unlink()
    else:
        guide.write_text("")
    result = index(item)
    after = container.knowledge.get(item.id)
    assert (result.success, result.error) == (False, "No content to index")
    assert found("lighthouse") == []
    assert (after.chunk_count, after.content_hash, after.error) == (0, None, result.error)
    assert container.maintenance.verify().problems == ()


@pytest.mark.parametrize("was_indexed", [True, False])
def test_a_folder_of_which_nothing_can_be_read_says_why(
    source_root, guide, add_item, index, was_indexed
):
    item = add_item(source_root)
    if was_indexed:
        index(item)
    (source_root / "empty.md").write_text("")
    guide.write_bytes(b"\x00\x01" * 100)
    assert index(item).error == (
        f"No content to index; for example, {guide} was skipped: This is binary, not text."
    )


def test_what_could_not_be_read_is_named_before_what_every_folder_holds(
    source_root, guide, add_item, index
):
    item = add_item(source_root)
    (source_root / ".git").mkdir()
    (source_root / "build").mkdir()
    picture = source_root / "a.png"
    picture.write_bytes(b"\x89PNG")
    guide.write_bytes(b"\x00\x01" * 100)
    unreadable = index(item).error
    guide.unlink()
    no_document = index(item).error
    picture.unlink()
    (source_root / "build").rmdir()
    start = "No content to index; for example, "
    assert unreadable == f"{start}{guide} was skipped: This is binary, not text."
    assert no_document == f"{start}{picture} was skipped: not a text document (.png)"
    assert index(item).error == f"{start}{source_root / '.git'} was skipped: hidden"


def test_a_folder_whose_documents_are_all_ignored_by_now_says_so(
    source_root, guide, add_item, index
):
    item = add_item(source_root)
    index(item)
    (source_root / ".ragignore").write_text("*.md")
    assert index(item).error == (
        f"No content to index; for example, {guide} was skipped: excluded by .ragignore"
    )


def test_a_folder_that_is_gone_loses_nothing(source_root, guide, add_item, index, found):
    folder = source_root / "docs"
    folder.mkdir()
    guide.rename(folder / "guide.md")
    item = add_item(folder)
    index(item)
    folder.rename(source_root / "elsewhere")
    assert index(item).error.startswith("Folder not found")
    assert "lighthouse" in found("lighthouse")[0]


def test_an_item_pointed_elsewhere_while_it_is_indexed_stays_pending(
    container: Container, source_root, guide, add_item, index, found
):
    other = source_root / "other.md"
    other.write_text("A windmill stands here.")
    item = add_item(guide, "markdown")

    def point_elsewhere(_progress: Progress) -> None:
        container.knowledge.update(item.id, {"uri": str(other)})

    assert container.indexer.index(item.id, progress=point_elsewhere).success
    after = container.knowledge.get(item.id)
    assert (after.status, after.last_fetched_at) == ("pending", None)
    assert index(item).success
    assert container.knowledge.get(item.id).status == "active"
    assert "windmill" in found("windmill")[0]
    assert not any("lighthouse" in text for text in found("lighthouse"))


def test_an_item_pointed_elsewhere_while_its_source_fails_has_nothing_said_of_it(
    container: Container, source_root, guide, add_item, embedder: MoodyEmbedder
):
    item = add_item(guide, "markdown")
    embedder.failing = True

    def point_elsewhere(_progress: Progress) -> None:
        container.knowledge.update(item.id, {"uri": str(source_root / "other.md")})

    result = container.indexer.index(item.id, progress=point_elsewhere)
    after = container.knowledge.get(item.id)
    assert result.error == "The model is away."
    assert (after.status, after.error) == ("pending", None)


def test_a_name_that_is_not_utf8_is_an_error_that_says_so(container: Container, source_root):
    (source_root / "d").mkdir()
    draft = ItemDraft("odd", f"file://{source_root}/d%FF", "folder")
    result = container.indexer.index(container.knowledge.create(draft).id)
    assert "UTF-8" in result.error


def test_a_failing_model_changes_nothing_and_the_next_run_succeeds(
    container: Container, guide, add_item, index, found, embedder: MoodyEmbedder
):
    item = add_item(guide, "markdown")
    index(item)
    guide.write_text("# Guide\n\nHow to repaint the lighthouse.")
    embedder.failing = True
    result = index(item)
    assert (result.success, result.error) == (False, "The model is away.")
    assert "configure" in found("lighthouse")[0]
    embedder.failing = False
    assert index(item).success
    assert "repaint" in found("lighthouse")[0]
    assert container.maintenance.verify().problems == ()


def test_a_run_that_fails_half_way_answers_what_it_stored_as_the_history_does(
    container: Container, source_root, add_item, embedder: MoodyEmbedder
):
    for number in range(300):
        (source_root / f"{number:03}.md").write_text(
            "\n".join(f"Line {line} of text {number}." for line in range(20))
        )
    item = add_item(source_root)

    def fail_from_now_on(progress: Progress) -> None:
        embedder.failing = progress.chunks_embedded > 0

    result = container.indexer.index(item.id, progress=fail_from_now_on)
    (run,) = container.history.list(item.id, 50, None).items
    stored = container.knowledge.get(item.id).chunk_count
    assert (result.success, run.outcome) == (False, "failed")
    assert 0 < stored == run.chunks_added == result.chunks_added
    assert result.chunks_embedded == result.chunks_added


def test_a_run_that_fails_keeps_its_item_until_all_that_it_handed_in_is_stored(
    container: Container,
    source_root: Path,
    add_item,
    embedder: MoodyEmbedder,
    monkeypatch: pytest.MonkeyPatch,
):
    """Otherwise the next run, or a removal, would begin while the item is still written to."""
    monkeypatch.setattr(pipeline, "GROUP_CHUNKS", 1)
    for name in ("first", "second"):
        (source_root / f"{name}.md").write_text(f"The {name} text.")
    item = add_item(source_root)
    has_failed, in_use, ended = threading.Event(), [], threading.Event()

    def fail_from_now_on(progress: Progress) -> None:
        embedder.failing = progress.chunks_embedded > 0
        if embedder.failing:
            has_failed.set()

    def keep_the_writer_busy() -> None:
        assert has_failed.wait(PATIENCE_SECONDS)
        ended.wait(0.5)  # a run that waits for no write ends in less
        in_use.append(container.indexer.items_in_use())

    busy = container.publisher.between_changes(keep_the_writer_busy)
    result = container.indexer.index(item.id, progress=fail_from_now_on)
    ended.set()
    busy.result()
    assert (result.success, result.chunks_added) == (False, 1)
    assert in_use == [{item.id}]


def test_an_archived_item_stays_archived_and_unsearchable(
    container: Container, guide, add_item, index, found
):
    item = add_item(guide, "markdown")
    index(item)
    container.knowledge.update(item.id, {"status": "archived"})
    assert found("lighthouse") == []
    assert index(item).success
    assert container.knowledge.get(item.id).status == "archived"
    assert found("lighthouse") == []
    container.knowledge.update(item.id, {"status": "active"})
    assert "lighthouse" in found("lighthouse")[0]


def test_removing_an_item_from_the_index_keeps_the_item(
    container: Container, guide, add_item, index, found
):
    item = add_item(guide, "markdown")
    index(item)
    assert container.indexer.remove(item.id)
    assert not container.indexer.remove(item.id)
    assert found("lighthouse") == []
    after = container.knowledge.get(item.id)
    assert (after.status, after.chunk_count, after.content_hash) == ("pending", 0, None)
    assert container.maintenance.verify().problems == ()
    with pytest.raises(NotFoundError):
        container.indexer.remove(item.id + 1)


def test_an_archived_item_stays_archived_when_it_is_taken_out_of_the_index(
    container: Container, guide, add_item, index
):
    item = add_item(guide, "markdown")
    index(item)
    container.knowledge.update(item.id, {"status": "archived"})
    assert container.indexer.remove(item.id)
    after = container.knowledge.get(item.id)
    assert (after.status, after.chunk_count) == ("archived", 0)


def test_deleting_an_item_while_it_is_indexed_leaves_nothing_of_it(
    container: Container, source_root, add_item, found
):
    for number in range(200):
        (source_root / f"{number}.md").write_text(
            "\n".join(f"Lighthouse {number} blinks {n} times." for n in range(30))
        )
    item = add_item(source_root)

    def delete_half_way(progress: Progress) -> None:
        if progress.chunks_total > 200:
            container.knowledge.delete(item.id)

    with pytest.raises((WorkStoppedError, NotFoundError)):
        container.indexer.index(item.id, progress=delete_half_way)
    assert found("lighthouse") == []
    report = container.maintenance.verify()
    assert (report.chunks, report.index_records, report.problems) == (0, 0, ())


def test_an_interrupted_run_embeds_nothing_twice(
    container: Container, source_root, add_item, index, embedder: MoodyEmbedder
):
    for number in range(100):
        (source_root / f"{number}.md").write_text(
            "\n".join(f"Text {number} has a line {n}." for n in range(30))
        )
    item = add_item(source_root)

    class Interrupted(Exception):  # noqa: N818
        pass

    def interrupt(progress: Progress) -> None:
        if progress.chunks_embedded > 300:
            raise Interrupted

    with pytest.raises(Interrupted):
        container.indexer.index(item.id, progress=interrupt)
    result = index(item)
    assert result.success
    assert result.documents == 100
    assert len(embedder.embedded_texts) == len(set(embedder.embedded_texts))
    assert container.maintenance.verify().problems == ()


def test_progress_counts_what_is_stored_while_the_next_documents_are_embedded(
    container: Container, source_root: Path, add_item
):
    for number in range(6):
        body = "\n\n".join(f"Berth {number} takes boats of {n} m. " * 4 for n in range(60))
        (source_root / f"{number}.md").write_text(f"# Berth {number}\n\n{body}\n")
    item = add_item(source_root)
    seen: list[Progress] = []

    def follow(progress: Progress) -> None:
        seen.append(progress)
        container.publisher.settled().result(PATIENCE_SECONDS)

    result = container.indexer.index(item.id, progress=follow)
    assert GROUP_CHUNKS < result.chunks_embedded < 2 * GROUP_CHUNKS, "two groups"
    assert any(0 < progress.documents_stored < 6 for progress in seen)
    assert any(0 < progress.chunks_total < result.chunks_indexed for progress in seen)
    assert (seen[-1].documents_stored, seen[-1].chunks_total) == (6, result.chunks_indexed)


def test_the_last_progress_of_a_stopped_run_counts_what_it_has_stored(
    container: Container, source_root: Path, add_item
):
    for number in range(60):
        body = "\n\n".join(f"Berth {number} takes boats of {n} m. " * 4 for n in range(20))
        (source_root / f"{number}.md").write_text(f"# Berth {number}\n\n{body}\n")
    item = add_item(source_root)
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if progress.chunks_embedded > 300:
            raise WorkStoppedError("The job was cancelled.")

    with pytest.raises(WorkStoppedError):
        container.indexer.index(item.id, progress=interrupt)
    stored = container.maintenance.stats()
    assert 0 < stored.total_documents < 60
    assert seen[-1].chunks_total == stored.total_chunks
    assert seen[-1].documents_stored == stored.total_documents
    (run,) = container.history.list(item.id, 10, None).items
    assert run.documents_added == stored.total_documents


def test_progress_counts_all_chunks_of_the_item_not_just_those_that_a_run_stored(
    container: Container, source_root: Path, add_item, index
):
    for number in range(4):
        (source_root / f"{number}.md").write_text(f"Berth {number} is free.")
    item = add_item(source_root)
    assert index(item).chunks_indexed == 4
    seen: list[Progress] = []
    container.indexer.index(item.id, progress=seen.append)
    assert seen[-1].chunks_total == 4
    (source_root / "1.md").write_text("Berth 1 is taken.")
    (source_root / "2.md").unlink()
    (source_root / "3.md").unlink()
    result = container.indexer.index(item.id, progress=seen.append)
    assert seen[-1].chunks_total == result.chunks_indexed == 2


def test_files_that_cannot_be_read_are_listed_with_their_reason(
    source_root, guide, add_item, index
):
    (source_root / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 40)
    (source_root / "empty.md").touch()
    (source_root / "data.json").write_text("{}")
    result = index(add_item(source_root))
    reasons = {Path(skipped.uri).name: skipped.reason for skipped in result.skipped}
    assert result.success
    assert result.documents == 1
    assert set(reasons) == {"picture.md", "empty.md", "data.json"}
    assert "binary" in reasons["picture.md"]
    assert reasons["empty.md"] == "No content to index"


def test_of_very_many_notes_the_first_are_told_and_the_others_counted() -> None:
    notes = [SourceNote(f"/srv/{number}.md", "empty") for number in range(MOST_NOTES + 5)]
    assert reported(notes[:MOST_NOTES], "/srv") == tuple(notes[:MOST_NOTES])
    told = reported(notes, "/srv")
    assert told == (*notes[:MOST_NOTES], SourceNote("/srv", "and 5 more"))


def test_all_that_a_tree_of_code_leaves_out_is_counted_though_the_first_are_told(
    container: Container, source_root, add_item, index
):
    (source_root / "guide.md").write_text("How to configure the lighthouse.")
    for number in range(MAX_SKIPPED + 5):
        (source_root / f"{number}.py").touch()
    item = add_item(source_root)
    result = index(item)
    assert result.skipped[MAX_SKIPPED:] == (SourceNote(item.uri, "and 5 more"),)
    (run,) = container.history.list(item.id, 10, None).items
    assert run.documents_skipped == MAX_SKIPPED + 5


def test_what_is_promised_of_an_item_does_not_go_with_a_deleted_one_that_had_its_id(
    container: Container, guide, source_root, monkeypatch: pytest.MonkeyPatch
):
    container.knowledge.save(7, ItemDraft("Guide", str(guide), "markdown"))
    jobs = JobService(container.database, on_queued=lambda: None)
    promised = []

    def save_again(point: FaultPoint) -> None:
        if point is FaultPoint.ITEM_DELETED:
            container.knowledge.save(7, ItemDraft("Other", str(guide), "markdown"))
            promised.append(jobs.add("index", {"knowledge_id": 7, "force": False}).id)

    monkeypatch.setattr("app.knowledge.service.reached", save_again)
    container.knowledge.delete(7)
    (job_id,) = promised
    assert jobs.get(job_id).state != "cancelled"


@pytest.mark.parametrize("after", ["chunks_embedded", "documents_stored"])
def test_of_a_deleted_item_nothing_comes_into_another_that_has_its_id(
    container: Container, guide, found, after: str
):
    """Programs number items themselves, and may give a number again at once."""
    deleted = ItemDraft("Guide", str(guide), "markdown")
    container.knowledge.save(7, deleted)

    def number_anew(progress: Progress) -> None:
        if getattr(progress, after) and container.knowledge.get(7).title == "Guide":
            replace_item(container, guide)

    with pytest.raises((WorkStoppedError, NotFoundError)):
        container.indexer.index(7, progress=number_anew)
    assert found("lighthouse") == []
    assert_untouched(container)


@pytest.mark.parametrize("error", [EmbeddingError("The model is away."), ValueError("Oh.")])
def test_the_failure_of_a_deleted_item_is_not_told_of_another_that_has_its_id(
    container: Container,
    guide,
    embedder: MoodyEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
):
    container.knowledge.save(7, ItemDraft("Guide", str(guide), "markdown"))

    def replace_and_fail(_texts: Sequence[str]) -> Vectors:
        replace_item(container, guide)
        raise error

    monkeypatch.setattr(embedder, "embed_documents", replace_and_fail)
    assert not container.indexer.index(7).success
    assert_untouched(container)


def replace_item(container: Container, guide: Path) -> None:
    container.knowledge.delete(7)
    container.knowledge.save(7, ItemDraft("Other", str(guide), "markdown"))


def assert_untouched(container: Container) -> None:
    item = container.knowledge.get(7)
    assert (item.title, item.status, item.chunk_count) == ("Other", "pending", 0)
    assert item.error is None
    assert container.history.list(7, 10, None).items == ()
