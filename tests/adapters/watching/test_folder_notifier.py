"""The operating system tells what changes, just where it was asked to look."""

import os
import threading
from pathlib import Path

import pytest

from app.adapters.watching.folder_notifier import (
    FolderNotifier,
    MissedChangesError,
    WatchLimitError,
    told_error,
)
from app.errors import UnavailableError

LONG = 30.0
"""Nothing waits for it to pass: changes come within a second."""


def never() -> bool:
    return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "watched"
    (path / "inner").mkdir(parents=True)
    (path / "old.md").write_text("old")
    return path


@pytest.fixture
def notifier(folder: Path):
    made = FolderNotifier([str(folder), str(folder.parent / "not there")])
    yield made
    made.close()


def test_a_new_a_changed_and_a_deleted_file_are_told_apart(notifier, folder: Path) -> None:
    (folder / "new.md").write_text("new")
    assert notifier.wait(LONG, never) == {str(folder / "new.md"): True}
    (folder / "old.md").write_text("changed")
    assert notifier.wait(LONG, never) == {str(folder / "old.md"): False}
    (folder / "old.md").unlink()
    assert notifier.wait(LONG, never) == {str(folder / "old.md"): True}


def test_a_name_that_is_no_utf_8_is_said_to_be_missed_and_what_follows_is_told(
    notifier, folder: Path
) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.md")).write_text("bad")
    with pytest.raises(MissedChangesError, match="decode"):
        notifier.wait(LONG, never)
    (folder / "new.md").write_text("new")
    assert notifier.wait(LONG, never) == {str(folder / "new.md"): True}


def test_what_lies_deeper_is_not_told_nor_what_is_merely_read(notifier, folder: Path) -> None:
    (folder / "inner" / "deep.md").write_text("deep")
    (folder / "old.md").read_text()
    assert notifier.wait(0.3, never) == {}


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path.resolve() / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    notifier = FolderNotifier([str(folder), str(folder / "link")])
    (outside / "secret.md").write_text("secret")
    assert notifier.wait(0.3, never) == {}
    notifier.close()


def test_waiting_can_be_interrupted(notifier) -> None:
    interrupted = threading.Event()
    interrupted.set()
    assert notifier.wait(LONG, interrupted.is_set) == {}


def test_what_is_interrupted_forgets_nothing(notifier, folder: Path) -> None:
    interrupted = threading.Event()
    interrupted.set()
    (folder / "new.md").write_text("new")
    told = notifier.wait(LONG, interrupted.is_set) or notifier.wait(LONG, never)
    assert told == {str(folder / "new.md"): True}


def test_nothing_to_watch_is_no_error() -> None:
    notifier = FolderNotifier([])
    assert notifier.wait(0.01, never) == {}
    notifier.close()


@pytest.mark.parametrize(
    ("message", "kind", "advice"),
    [
        ('OS file watch limit reached. about ["/x"]', WatchLimitError, "max_user_watches"),
        ("No space left on device (os error 28)", WatchLimitError, "max_user_watches"),
        ("Too many open files (os error 24)", UnavailableError, "max_user_instances"),
        ("something else", UnavailableError, "something else"),
    ],
)
def test_the_systems_limits_are_told_with_what_to_do(message, kind, advice) -> None:
    error = told_error(OSError(message), 5)
    assert type(error) is kind
    assert advice in error.detail
