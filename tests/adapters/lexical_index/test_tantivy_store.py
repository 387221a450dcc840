"""A tantivy index is opened only when it is complete, fits, and has passed its probe."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.lexical_index.lexical_store import NoLexicalIndexError
from app.adapters.lexical_index.probe import probe_tantivy
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.lexical_index.tantivy_store import COMPLETE_NAME, TantivyStore
from app.adapters.text_analysis.languages import Languages
from app.errors import LexicalIndexError
from app.protocols import LexicalRecord
from tests.contracts.lexical_index_contract import found, many

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def complete(tmp_path: Path) -> Path:
    """A folder with a complete index of 30 records."""
    store = TantivyStore(tmp_path)
    index = store.recreate()
    index.upsert(many(30))
    store.mark_complete()
    index.close()
    return tmp_path


def generation(directory: Path) -> Path:
    """The folder of the one generation."""
    (folder,) = directory.glob("generation-*")
    return folder


def test_a_complete_index_opens_again_with_its_records(complete: Path):
    for probe_first in (False, True):
        index = TantivyStore(complete, probe_first=probe_first).open()
        assert index.count() == 30
        assert len(found(index, "shared")) == 30
        index.close()


def test_nothing_and_what_is_incomplete_is_not_opened(complete: Path, tmp_path_factory):
    with pytest.raises(NoLexicalIndexError, match="not been built"):
        TantivyStore(tmp_path_factory.mktemp("empty") / "none").open()
    store = TantivyStore(complete)
    store.mark_incomplete()
    store.mark_incomplete()
    assert incomplete(store)


def incomplete(store: TantivyStore) -> bool:
    """Whether it is refused as what something is wrong with."""
    with pytest.raises(LexicalIndexError, match="not complete") as refusal:
        store.open()
    return not isinstance(refusal.value, NoLexicalIndexError) and not store.is_outdated()


def test_one_of_another_language_or_version_is_not_opened_and_not_called_damaged(complete: Path):
    german = TantivyStore(complete, languages=Languages("german"))
    note = json.loads((complete / COMPLETE_NAME).read_text())
    for store, change in (
        (german, {}),
        (TantivyStore(complete), {"analyser_version": -1}),
        (TantivyStore(complete), {"schema_version": -1}),
    ):
        (complete / COMPLETE_NAME).write_text(json.dumps(note | change))
        assert store.is_outdated()
        with pytest.raises(NoLexicalIndexError, match="of another version"):
            store.open()


def test_a_note_that_names_no_index_counts_for_none(complete: Path):
    note = json.loads((complete / COMPLETE_NAME).read_text())
    for folder in ("../x", "generation-77", "", None):
        (complete / COMPLETE_NAME).write_text(json.dumps(note | {"generation": folder}))
        assert incomplete(TantivyStore(complete))
    for text in ("", "[]", "null", "{", '{"generation": 5}', "\x00"):
        (complete / COMPLETE_NAME).write_text(text)
        assert incomplete(TantivyStore(complete))


def test_recreating_makes_a_new_generation_and_leaves_strangers_alone(complete: Path):
    stranger, linked = complete / "notes.txt", complete / "generation-7"
    stranger.write_text("mine")
    target = complete / "elsewhere"
    target.mkdir()
    linked.symlink_to(target)
    store = TantivyStore(complete)
    index = store.recreate()
    assert index.count() == 0
    assert not (complete / "generation-1").exists()
    assert (complete / "generation-2").is_dir()
    assert stranger.read_text() == "mine"
    assert linked.is_symlink()
    assert target.is_dir()
    index.close()


def test_a_folder_that_cannot_be_made_is_our_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LexicalIndexError):
        TantivyStore(tmp_path / "file").recreate()
    with pytest.raises(LexicalIndexError):
        TantivyStore(tmp_path / "file").mark_complete()


def test_a_second_writer_is_refused(tmp_path: Path):
    one, other = TantivyIndex(tmp_path), TantivyIndex(tmp_path)
    one.upsert(many(1))
    with pytest.raises(LexicalIndexError, match="Lock"):
        other.upsert(many(1))
    one.close()
    other.upsert(many(2))
    assert other.count() == 2
    other.close()


def test_removals_are_on_the_disk_once_it_is_closed(tmp_path: Path):
    index = TantivyIndex(tmp_path)
    index.upsert(many(5))
    index.remove(["chunk-0000"])
    index.close()
    index = TantivyIndex(tmp_path)
    assert index.count() == 4
    index.close()


def on_the_disk(folder: Path) -> int:
    """How many records a process would find there that began now."""
    return int(TantivyIndex(folder).count())


def test_many_removals_are_put_on_the_disk_at_a_moment_of_rest(tmp_path: Path):
    index = TantivyIndex(tmp_path)
    index.upsert(many(300))
    few, more = (
        [record.chunk_id for record in many(300)[start:end]] for start, end in ((0, 10), (10, 290))
    )
    index.remove(few)
    index.keep()
    assert (index.count(), on_the_disk(tmp_path)) == (290, 300)
    index.remove(more)
    assert (index.count(), on_the_disk(tmp_path)) == (10, 300)
    index.keep()
    assert (index.count(), on_the_disk(tmp_path)) == (10, 10)
    assert len(found(index, "shared")) == 10
    index.close()


def test_ever_more_removals_do_not_wait_for_a_moment_of_rest(tmp_path: Path):
    index = TantivyIndex(tmp_path)
    index.upsert(many(2500))
    for start in range(0, 2100, 100):
        index.remove([record.chunk_id for record in many(2500)[start : start + 100]])
    assert index.count() == 400
    assert on_the_disk(tmp_path) <= 500
    index.close()


def test_what_was_added_is_on_the_disk_once_it_is_closed(tmp_path: Path):
    index = TantivyIndex(tmp_path)
    index.add(many(5))
    index.close()
    index = TantivyIndex(tmp_path)
    assert index.count() == 5
    index.close()


def test_an_index_whose_making_was_interrupted_opens_as_unfinished_only(tmp_path: Path):
    store = TantivyStore(tmp_path)
    assert store.open_unfinished() is None
    index = store.recreate()
    index.add(many(30))
    index.close()
    store = TantivyStore(tmp_path, probe_first=True)
    assert incomplete(store)
    unfinished = store.open_unfinished()
    assert unfinished is not None
    assert unfinished.count() == 30
    store.mark_complete()
    unfinished.close()
    assert TantivyStore(tmp_path).open_unfinished() is None
    index = TantivyStore(tmp_path).open()
    assert index.count() == 30
    index.close()


def test_an_unfinished_index_that_fails_its_probe_fits_no_more_or_was_given_up_is_no_use(
    tmp_path: Path,
):
    store = TantivyStore(tmp_path)
    index = store.recreate()
    index.add(many(30))
    index.close()
    assert TantivyStore(tmp_path, languages=Languages("german")).open_unfinished() is None
    path = max(generation(tmp_path).glob("*.idx"), key=lambda file: file.stat().st_size)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert TantivyStore(tmp_path, probe_first=True).open_unfinished() is None
    path.write_bytes(data)
    store.mark_incomplete()
    assert TantivyStore(tmp_path).open_unfinished() is None


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        *((suffix, "flipped") for suffix in (".idx", ".pos", ".term", ".store", ".fast")),
        *((".fieldnorm", damage) for damage in ("flipped", "cut", "emptied", "gone")),
    ],
)
def test_a_damaged_file_fails_the_probe(complete: Path, suffix: str, damage: str):
    path = max(generation(complete).glob(f"*{suffix}"), key=lambda file: file.stat().st_size)
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[len(data) // 8] ^= 0x40
        path.write_bytes(data)
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "emptied":
        path.write_bytes(b"\x00" * len(data))
    else:
        path.unlink()
    with pytest.raises(LexicalIndexError, match="probe"):
        TantivyStore(complete, probe_first=True).open()


@pytest.mark.parametrize("text", ["", '{"segments": []}'])
def test_a_damaged_list_of_segments_fails_the_probe(complete: Path, text: str):
    (generation(complete) / "meta.json").write_text(text)
    assert probe_tantivy(generation(complete), 30) is not None


def test_a_file_that_claims_terabytes_fails_the_probe_at_once(complete: Path):
    with (generation(complete) / "runaway.idx").open("wb") as file:
        file.truncate(1 << 41)
    assert "claims" in (probe_tantivy(generation(complete), 30) or "")


def test_a_probe_that_takes_too_long_is_given_up(complete: Path):
    assert "answer" in (probe_tantivy(generation(complete), 0.001) or "")


def test_files_that_go_right_before_they_are_opened_leave_no_empty_index(
    complete: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = generation(complete)

    def there_and_gone(_path: str) -> bool:
        shutil.rmtree(folder)
        return True

    looking = SimpleNamespace(Index=SimpleNamespace(exists=there_and_gone))
    monkeypatch.setattr("app.adapters.lexical_index.tantivy_store.tantivy", looking)
    with pytest.raises(LexicalIndexError, match="be opened"):
        TantivyStore(complete).open()
    assert not folder.exists()


def test_lost_files_are_an_error_and_not_a_new_empty_index(complete: Path):
    (generation(complete) / "meta.json").unlink()
    with pytest.raises(LexicalIndexError):
        TantivyStore(complete).open()
    shutil.rmtree(generation(complete))
    with pytest.raises(LexicalIndexError):
        TantivyStore(complete).open()


WRITER = """
import sys
from pathlib import Path
from app.adapters.lexical_index.tantivy_store import TantivyStore
from tests.contracts.lexical_index_contract import many
index = TantivyStore(Path(sys.argv[1])).open()
for number in range(1000):
    index.upsert(many(20, f"r{number}"))
    index.remove([f"r{number}-0000"])
    print(number, flush=True)
"""


BUILDER = """
import sys
from pathlib import Path
from app.adapters.lexical_index import filling
from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.lexical_index.tantivy_store import TantivyStore
from tests.contracts.lexical_index_contract import many
filling.KEPT_EVERY_RECORDS = 40
def pages():
    for number in range(1000):
        yield many(20, f"p{number:04}")
        print(number, flush=True)
HealingLexicalIndex(TantivyStore(Path(sys.argv[1])), pages).rebuild()
"""


def test_a_build_that_was_killed_goes_on_where_it_was(tmp_path: Path):
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert builder.stdout is not None
    for _ in range(5):
        assert builder.stdout.readline()
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    builder.stdout.close()
    unfinished = TantivyStore(tmp_path, probe_first=True).open_unfinished()
    assert unfinished is not None
    kept = unfinished.count()
    unfinished.close()
    assert kept >= 80
    # Meanwhile the database has lost a page, and another one came.
    wanted = [record for page in (0, 2, 3, 4, 2000) for record in many(20, f"p{page:04}")]
    healing = HealingLexicalIndex(
        TantivyStore(tmp_path, probe_first=True), lambda: iter([sorted(wanted, key=by_id)])
    )
    healing.open(trusted=False)
    assert healing.chunk_ids() == {record.chunk_id for record in wanted}
    assert len(found(healing, "shared")) == len(wanted)
    healing.close()
    index = TantivyStore(tmp_path).open()
    assert index.count() == len(wanted)
    index.close()


def by_id(one: LexicalRecord) -> str:
    """What pages of the source are sorted by."""
    return one.chunk_id


def test_what_a_killed_writer_had_not_committed_is_no_damage(complete: Path):
    index = TantivyStore(complete).open()
    index.remove(["chunk-0000"])
    index.close()
    folder = generation(complete)
    segment = next(folder.glob("*.idx")).stem
    assert list(folder.glob(f"{segment}.*.del"))
    for name in (f"{'0' * 32}.fieldnorm", f"{'0' * 32}.idx", f"{segment}.99999.del"):
        (folder / name).write_bytes(b"cut")
    assert probe_tantivy(folder, 30) is None


@pytest.mark.parametrize("rounds", [1, 9])
def test_what_was_written_survives_a_kill_and_the_index_heals(complete: Path, rounds: int):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(complete)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert writer.stdout is not None
    for _ in range(rounds):
        assert writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    index = TantivyStore(complete, probe_first=True).open()
    expected = {r.chunk_id for n in range(rounds) for r in many(20, f"r{n}")[1:]}
    assert index.chunk_ids() >= expected
    index.close()
    healing = HealingLexicalIndex(
        TantivyStore(complete, probe_first=True), lambda: iter([many(30), many(20, "r0")])
    )
    healing.open(trusted=False)
    assert healing.chunk_ids() == {r.chunk_id for r in [*many(30), *many(20, "r0")]}
    healing.close()
