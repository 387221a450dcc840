"""What a run writes into the history of its item."""

from pathlib import Path
from typing import Any

import pytest

from app.container import Container
from app.errors import StorageError, WorkStoppedError
from app.indexing.pipeline import WITHDRAWN_AT_ONCE
from app.indexing.tally import MOST_KEYS
from app.knowledge.history_records import IndexingRun
from app.models import ItemRow
from app.protocols import Progress


@pytest.fixture
def history(container: Container):
    def read(item) -> list[IndexingRun]:
        return list(container.history.list(item.id, 50, None).items)

    return read


def test_a_run_names_what_came_changed_and_went(source_root: Path, add_item, index, history):
    for name in ("a", "b", "c"):
        (source_root / f"{name}.md").write_text(f"Text of {name}.")
    item = add_item(source_root)
    index(item)
    (source_root / "a.md").write_text("Another text.")
    (source_root / "b.md").unlink()
    (source_root / "d.md").write_text("New.")
    (source_root / "e.md").write_text("")
    result = index(item)
    latest, first = history(item)
    assert (first.outcome, first.added, first.documents_added) == (
        "changed",
        ("a.md", "b.md", "c.md"),
        3,
    )
    assert (latest.added, latest.changed, latest.removed) == (("d.md",), ("a.md",), ("b.md",))
    assert (latest.documents_unchanged, latest.documents_skipped) == (1, 1)
    assert (latest.chunks_added, latest.chunks_removed) == (
        result.chunks_added,
        result.chunks_removed,
    )
    assert latest.started_at <= latest.finished_at


def test_runs_without_a_change_are_counted_in_one_entry(source_root, add_item, index, history):
    (source_root / "a.md").write_text("A")
    item = add_item(source_root)
    for _ in range(5):
        index(item)
    assert [(run.outcome, run.runs) for run in history(item)] == [("unchanged", 4), ("changed", 1)]


def test_a_failed_run_says_why_and_what_it_changed_all_the_same(
    source_root, add_item, index, history
):
    (source_root / "a.md").write_text("A")
    item = add_item(source_root)
    index(item)
    (source_root / "a.md").unlink()
    result = index(item)
    run = history(item)[0]
    assert (run.outcome, run.error, run.removed) == ("failed", "No content to index", ("a.md",))
    assert (result.chunks_added, result.chunks_removed) == (0, 1)
    assert (run.chunks_added, run.chunks_removed) == (0, 1)


def test_a_run_that_cannot_look_at_the_source_counts_what_stays_as_it_was(
    source_root, add_item, index, history
):
    (source_root / "docs").mkdir()
    for name in ("a", "b"):
        (source_root / f"docs/{name}.md").write_text(f"Text of {name}.")
    item = add_item(source_root / "docs")
    index(item)
    (source_root / "docs").rename(source_root / "away")
    index(item)
    run = history(item)[0]
    assert (run.outcome, run.documents_removed, run.documents_unchanged) == ("failed", 0, 2)


def test_an_item_of_which_nothing_is_left_is_in_error(
    container: Container, source_root, add_item, index
):
    (source_root / "a.md").write_text("A")
    item = add_item(source_root)
    index(item)
    (source_root / "a.md").unlink()
    index(item)
    assert container.knowledge.get(item.id).status == "error"
    (source_root / "a.md").write_text("A")
    index(item)
    assert container.knowledge.get(item.id).status == "active"


def test_no_more_documents_are_named_than_there_is_room_for(source_root, add_item, index, history):
    for number in range(MOST_KEYS + 7):
        (source_root / f"{number:03}.md").write_text(f"Text {number}.")
    item = add_item(source_root)
    index(item)
    (run,) = history(item)
    assert (run.documents_added, len(run.added), run.truncated) == (MOST_KEYS + 7, MOST_KEYS, True)


def test_a_run_that_is_stopped_leaves_what_it_had_stored_in_the_history(
    container: Container, source_root, add_item, history
):
    for number in range(300):
        (source_root / f"{number:03}.md").write_text(
            "\n".join(f"Line {line} of text {number}." for line in range(20))
        )
    item = add_item(source_root)

    def cancel(progress: Progress) -> None:
        if progress.chunks_total > 0:
            raise WorkStoppedError("cancelled")

    with pytest.raises(WorkStoppedError):
        container.indexer.index(item.id, progress=cancel)
    (run,) = history(item)
    assert run.outcome == "stopped"
    assert 0 < run.documents_added < 300


@pytest.mark.parametrize("groups_before", [0, 1])
def test_a_full_disk_is_not_said_to_have_changed_nothing_where_it_had_room_at_first(
    container: Container, source_root, add_item, monkeypatch, groups_before
):
    for number in range(300):
        (source_root / f"{number:03}.md").write_text(
            "\n".join(f"Line {line} of text {number}." for line in range(20))
        )
    item = add_item(source_root)
    publish, groups = container.publisher.publish, []

    def publish_until_it_is_full(*arguments: Any) -> Any:
        groups.append(1)
        if len(groups) > groups_before:
            raise StorageError("The disk is full. Nothing was changed; free some space.")
        return publish(*arguments)

    monkeypatch.setattr(container.publisher, "publish", publish_until_it_is_full)
    said = "What was indexed before stays as it is" if groups_before else "Nothing was changed"
    with pytest.raises(StorageError, match=f"full. {said}; free"):
        container.indexer.index(item.id)
    assert bool(container.maintenance.stats().total_chunks) == bool(groups_before)


def test_taking_an_item_out_of_the_index_forgets_what_its_history_names(
    container: Container, source_root, add_item, index, history
):
    (source_root / "secret.md").write_text("A")
    item = add_item(source_root)
    index(item)
    container.indexer.remove(item.id)
    (run,) = history(item)
    assert (run.outcome, run.added, run.removed) == ("removed", (), ())
    assert (run.documents_removed, run.chunks_removed) == (1, 1)
    container.indexer.remove(item.id)
    assert len(history(item)) == 1


def test_a_place_that_is_not_mounted_any_more_loses_nothing(
    container: Container, source_root, add_item, index, found
):
    """As it looks when a file system goes: its mount point is left, and empty."""
    (source_root / "share").mkdir()
    (source_root / "share" / "a.md").write_text("A lighthouse.")
    item = add_item(source_root / "share")
    index(item)
    with container.database.write() as session:
        session.get_one(ItemRow, item.id).mounts = [""]
    (source_root / "share" / "a.md").unlink()
    result = index(item)
    assert "is not now; nothing was removed" in result.error
    assert "lighthouse" in found("lighthouse")[0]
    assert container.knowledge.get(item.id).status == "active"


def test_what_lies_at_a_place_that_is_not_mounted_any_more_is_taken_in_only_after_a_fresh_start(
    container: Container, source_root, add_item, index, found
):
    (source_root / "share").mkdir()
    (source_root / "share" / "a.md").write_text("A lighthouse.")
    (source_root / "top.md").write_text("A windmill.")
    item = add_item(source_root)
    index(item)
    with container.database.write() as session:
        row = session.get_one(ItemRow, item.id)
        row.mounts = [*(row.mounts or ()), "share/"]
    (source_root / "share" / "a.md").unlink()
    (source_root / "share" / "note.md").write_text("Nothing is mounted here.")
    for force in (False, True):
        result = index(item, force=force)
        assert (result.success, result.documents, result.chunks_removed) == (True, 2, 0)
        assert [note.uri for note in result.skipped] == ["share/"]
    container.indexer.remove(item.id)
    assert index(item).documents == 2
    assert not [text for text in found("lighthouse") if "lighthouse" in text]


def test_where_a_former_source_was_mounted_says_nothing_of_another(
    container: Container, source_root, add_item, index
):
    for name in ("share", "disk"):
        (source_root / name).mkdir()
        (source_root / name / "a.md").write_text(f"A lighthouse of the {name}.")
    item = add_item(source_root / "share")
    index(item)
    with container.database.write() as session:
        session.get_one(ItemRow, item.id).mounts = [""]
    container.knowledge.update(item.id, {"uri": str(source_root / "disk")})
    assert index(item).error is None


def test_indexing_again_by_force_changes_nothing_where_nothing_has_changed(
    source_root, add_item, index, history
):
    (source_root / "a.md").write_text("A")
    item = add_item(source_root)
    index(item)
    index(item, force=True)
    newest = history(item)[0]
    assert (newest.outcome, newest.changed, newest.documents_changed) == ("unchanged", (), 0)


def test_a_run_that_takes_many_documents_out_can_be_stopped_between(
    container: Container, source_root: Path, add_item, index, history
):
    names = [f"{number:03}.md" for number in range(WITHDRAWN_AT_ONCE + 2)]
    for name in names:
        (source_root / name).write_text(f"Text of {name}.")
    item = add_item(source_root)
    index(item)
    for name in names[1:]:
        (source_root / name).unlink()

    def stop_once_some_are_gone(_: Progress) -> None:
        if container.stats().total_documents < len(names):
            raise WorkStoppedError("The job was cancelled.")

    with pytest.raises(WorkStoppedError):
        index(item, progress=stop_once_some_are_gone)
    assert container.stats().total_documents == 2
    run = history(item)[0]
    assert (run.outcome, run.documents_removed) == ("stopped", WITHDRAWN_AT_ONCE)
    assert index(item).chunks_indexed == 1
