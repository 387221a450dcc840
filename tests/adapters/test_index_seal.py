"""A seal holds exactly as long as nothing below it has changed and both sides know its stamp."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.index_seal import SEAL_NAME, IndexSeal


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*.bin") if path.is_file())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    (folder / "segment").mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"first")
    (folder / "segment" / "b.bin").write_bytes(b"second")
    return folder


@pytest.fixture
def seal(folder: Path) -> IndexSeal:
    return IndexSeal(folder, files)


def cut(folder: Path) -> None:
    os.truncate(folder / "a.bin", 2)


def touch(folder: Path) -> None:
    os.utime(folder / "a.bin", (1, 1))


def lose_a_file(folder: Path) -> None:
    (folder / "segment" / "b.bin").unlink()


def gain_a_file(folder: Path) -> None:
    (folder / "c.bin").write_bytes(b"")


def lose_everything(folder: Path) -> None:
    shutil.rmtree(folder)


def garble_the_list(folder: Path) -> None:
    (folder / SEAL_NAME).write_bytes(b"\xff{")


def make_the_list_another_thing(folder: Path) -> None:
    (folder / SEAL_NAME).write_text("[1]")


@pytest.mark.parametrize(
    "change",
    [
        cut, touch, lose_a_file, gain_a_file, lose_everything, garble_the_list,
        make_the_list_another_thing,
    ],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_any_change_breaks_the_seal(folder: Path, seal: IndexSeal, change: Callable[[Path], None]):
    stamp = seal.renew()
    assert seal.holds(stamp)
    change(folder)
    assert not seal.holds(stamp)


def test_an_older_copy_with_its_own_seal_does_not_hold(folder: Path, seal: IndexSeal):
    older = seal.renew()
    shutil.copytree(folder, folder.with_name("copy"))
    (folder / "a.bin").write_bytes(b"later")
    newer = seal.renew()
    assert seal.holds(newer)
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("copy"), folder)
    assert seal.holds(older), "the copy itself is whole"
    assert not seal.holds(newer), "and is not the one that was closed last"


def test_a_stamp_that_nobody_has_given_holds_nothing(seal: IndexSeal):
    assert not seal.holds(None)
    seal.renew()
    assert not seal.holds(None)
    assert not seal.holds("")


def test_what_is_not_of_the_index_may_change(folder: Path, seal: IndexSeal):
    stamp = seal.renew()
    (folder / "notes.txt").write_text("a stranger's")
    assert seal.holds(stamp)


def test_a_seal_that_cannot_be_written_is_none(tmp_path: Path):
    assert IndexSeal(tmp_path / "missing", lambda _: []).renew() is None
