"""What others do to the files of an open tantivy index is noticed; what tantivy does is not."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.adapters.lexical_index.segment_files import SegmentFiles
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from tests.adapters.no_files import no_file_to_open
from tests.adapters.two_looks import told_to_both
from tests.contracts.lexical_index_contract import many


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "generation-1"


@pytest.fixture
def index(folder: Path) -> Iterator[TantivyIndex]:
    index = TantivyIndex(folder)
    index.upsert(many(30))
    index.upsert(many(5, prefix="more"))
    yield index
    index.close()


def segment_file(folder: Path, suffix: str = ".store") -> Path:
    return max(folder.glob(f"*{suffix}"), key=lambda path: path.stat().st_size)


def cut(folder: Path) -> None:
    path = segment_file(folder)
    content = path.read_bytes()
    path.unlink()  # in place it would be cut under this very process, which has it mapped
    path.write_bytes(content[: len(content) // 2])


def delete_a_file(folder: Path) -> None:
    segment_file(folder, ".term").unlink()


def delete_the_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def replace_the_folder(folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    folder.rename(folder.with_name("old"))
    copy.rename(folder)


def garble_the_list(folder: Path) -> None:
    (folder / "meta.json").write_bytes(b"\xff\xfe")


def empty_the_list(folder: Path) -> None:
    (folder / "meta.json").write_text("[]")


def put_an_older_list_back(folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    meta["opstamp"] -= 6
    (folder / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "changed"),
        (delete_a_file, "deleted"),
        (delete_the_folder, "deleted"),
        (replace_the_folder, "replaced"),
        (garble_the_list, "cannot be read"),
        (empty_the_list, "cannot be read"),
        (put_an_older_list_back, "another list"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_others_do_is_noticed(
    folder: Path, index: TantivyIndex, damage: Callable[[Path], None], reason: str
):
    assert index.fault() is None
    damage(folder)
    assert reason in (index.fault() or "")


@pytest.mark.parametrize(
    "text",
    [
        *('{"segments": [1], "opstamp": 3}', '{"segments": [{}]}', '{"segments": null}', "null"),
        *('{"segments": [{"segment_id": 1}]}', '{"segments": [{"segment_id": "a", "deletes": 1}]}'),
        "[" * 100_000,
    ],
    ids=range(7),
)
def test_a_list_of_another_shape_is_noticed(folder: Path, index: TantivyIndex, text: str):
    (folder / "meta.json").write_text(text)
    assert "cannot be read" in (index.fault() or "")


def test_commits_merges_and_removals_are_no_fault(index: TantivyIndex):
    for round_ in range(40):
        index.upsert(many(8, prefix=f"round{round_}"))
        assert index.fault() is None
        index.remove([f"round{round_}-{number:04d}" for number in range(4)])
        assert index.fault() is None
    index.remove(list(index.chunk_ids()))
    index.upsert(many(8))
    assert index.fault() is None


def test_files_that_cannot_be_opened_for_want_of_descriptors_are_no_fault(
    folder: Path, index: TantivyIndex
):
    with no_file_to_open():
        assert index.fault() is None
    cut(folder)
    assert "changed" in (index.fault() or "")


def test_a_closed_index_has_no_fault(folder: Path, index: TantivyIndex):
    index.close()
    shutil.rmtree(folder)
    assert index.fault() is None


def test_whoever_asks_while_another_looks_is_told_as_well(
    index: TantivyIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    cut(folder)
    told = told_to_both(monkeypatch, SegmentFiles, "fault", index.fault)
    assert all("changed" in (said or "") for said in told)
