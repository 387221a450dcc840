"""Where the documents of an item lie, and what a change there means."""

import os
from pathlib import Path

import pytest

from app.adapters.loading.footprints import Change, Footprint, Footprints
from app.adapters.loading.path_guard import GuardedPath, PathGuard
from app.errors import SourceUnavailableError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    (folder / "docs").mkdir(parents=True)
    return folder


@pytest.fixture
def footprints(root: Path) -> Footprints:
    return Footprints(PathGuard([root]))


def taken(footprints: Footprints, path: Path, document_type: str = "folder") -> Footprint:
    footprint = footprints.take(str(path), document_type)
    assert footprint is not None
    return footprint


def test_a_folder_that_cannot_be_looked_into_is_awaited_in_the_one_above(
    footprints: Footprints, root: Path
) -> None:
    footprint = taken(footprints, root / ("x" * 300))  # longer than the system allows a name
    assert not footprint.folders
    assert str(root) in footprint.watched


def test_a_folder_that_tells_names_alone_is_awaited_in_the_one_above(
    footprints: Footprints, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = (root / "docs").stat().st_ino

    def access(path: str, mode: int, *, dir_fd: int) -> bool:
        assert (path, mode) == (".", os.X_OK)
        return os.fstat(dir_fd).st_ino != docs

    with monkeypatch.context() as patched:
        patched.setattr(os, "access", access)
        footprint = taken(footprints, root)
    assert footprint.folders.keys() == {str(root)}
    assert footprint.meaning(str(root / "docs"), came_or_went=False) is Change.FOLDERS


@pytest.mark.parametrize("name", [".gitignore", ".ragignore"])
def test_an_ignore_file_above_the_folder_may_change_which_folders_count(
    footprints: Footprints, root: Path, name: str
) -> None:
    (root / "docs/guide").mkdir()
    (root / ".ragignore").write_text("docs/guide/")
    footprint = taken(footprints, root / "docs")
    assert footprint.folders.keys() == {str(root / "docs")}
    assert footprint.meaning(str(root / name), came_or_went=False) is Change.FOLDERS


class DenyingGuard(PathGuard):
    """Lets no ignore file be read, as if the permissions of all said so."""

    def read_bytes(self, target: GuardedPath, max_bytes: int) -> bytes:
        raise SourceUnavailableError(f"{target.path}, {max_bytes}")


def test_a_folder_whose_ignore_file_cannot_be_read_is_watched_for_that_to_change(
    root: Path,
) -> None:
    (root / "docs/secret").mkdir()
    (root / "docs/.ragignore").write_text("secret/")
    footprint = taken(Footprints(DenyingGuard([root])), root)
    assert footprint.folders.keys() == {str(root), str(root / "docs")}
    changed = footprint.meaning(str(root / "docs/.ragignore"), came_or_went=False)
    assert changed is Change.FOLDERS


def test_a_folder_that_could_not_be_listed_is_looked_at_again_when_anything_happens_to_it(
    footprints: Footprints, root: Path
) -> None:
    footprint = taken(footprints, root / "away")
    assert footprint.meaning(str(root / "away"), came_or_went=False) is Change.FOLDERS
