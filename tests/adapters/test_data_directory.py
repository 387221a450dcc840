"""The data directory: one process at a time, and it knows how it was left."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.adapters.data_directory import DataDirectory
from app.errors import StartupError

HOLDER = """
import sys
from pathlib import Path
from app.adapters.data_directory import DataDirectory
directory = DataDirectory(Path(sys.argv[1]))
directory.acquire()
print(directory.mark_open(), flush=True)
sys.stdin.read()
"""

ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from app.adapters.data_directory import DataDirectory
from app.errors import StartupError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
first, second = (DataDirectory(Path(sys.argv[1])) for _ in range(2))
for directory in (first, second):
    try:
        directory.acquire()
    except StartupError as error:
        print(error.detail)
"""


def start_holder(path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_it_is_made_for_its_owner_alone(tmp_path: Path):
    path = tmp_path / "deep" / "data"
    directory = DataDirectory(path)
    directory.acquire()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    directory.release()


def test_a_second_process_is_refused_by_the_first_ones_number_until_it_is_killed(tmp_path: Path):
    directory = DataDirectory(tmp_path)
    with start_holder(tmp_path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        with pytest.raises(StartupError) as refusal:
            directory.acquire()
        assert f"in use by process {holder.pid}" in refusal.value.detail
        assert "--url" in refusal.value.detail
        assert "DATA_DIR" in refusal.value.detail
        holder.kill()
    directory.acquire()
    assert (tmp_path / "groundwork.pid").read_text() == f"{os.getpid()}\n"
    directory.release()


def test_a_second_holder_in_the_same_process_is_refused(tmp_path: Path):
    first, second = DataDirectory(tmp_path), DataDirectory(tmp_path)
    first.acquire()
    with pytest.raises(StartupError, match="in use"):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()


def test_a_new_directory_counts_as_clean_and_one_left_without_the_mark_does_not(tmp_path: Path):
    directory = DataDirectory(tmp_path / "data")
    directory.acquire()
    assert directory.mark_open()
    (directory.path / "groundwork.db").write_text("something to lose")
    assert not directory.mark_open()
    directory.mark_clean()
    assert directory.mark_open()
    assert not directory.mark_open(), "the mark is taken away when it is read"
    directory.release()


@pytest.mark.parametrize("name", ["models", "lost+found"])
def test_a_converted_model_or_a_disk_of_its_own_are_no_unclean_stop(tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    directory = DataDirectory(tmp_path)
    directory.acquire()
    assert directory.mark_open()
    (tmp_path / "chroma").mkdir()
    assert not directory.mark_open()
    directory.release()


def test_a_killed_holder_leaves_no_clean_mark(tmp_path: Path):
    directory = DataDirectory(tmp_path)
    directory.acquire()
    (tmp_path / "groundwork.db").write_text("something to lose")
    directory.mark_clean()
    directory.release()
    with start_holder(tmp_path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        holder.kill()
    directory.acquire()
    assert not directory.mark_open()
    directory.release()


def test_a_path_that_is_no_directory_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(StartupError, match="cannot be written") as refusal:
            DataDirectory(path).acquire()
        assert str(path) in refusal.value.detail


@pytest.mark.parametrize("target", ["file", "missing"])
def test_a_link_to_what_is_no_directory_is_said_to_be_none(tmp_path: Path, target: str):
    (tmp_path / "file").touch()
    (tmp_path / "data").symlink_to(tmp_path / target)
    with pytest.raises(StartupError, match="data cannot be written: it is no folder"):
        DataDirectory(tmp_path / "data").acquire()


def test_what_nobody_can_look_at_is_not_said_to_be_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(_path: Path, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    for function in ("stat", "mkdir"):
        monkeypatch.setattr(Path, function, fail)
    with pytest.raises(StartupError, match="data cannot be written: Permission denied"):
        DataDirectory(tmp_path / "data").acquire()


def test_a_full_disk_is_named_and_the_directory_is_not_held_for_it(tmp_path: Path):
    result = subprocess.run(
        [sys.executable, "-c", ON_A_FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout.count("cannot be written: File too large") == 2
    assert "Free space" in result.stdout


def test_a_directory_that_went_away_is_named(tmp_path: Path):
    directory = DataDirectory(tmp_path / "never made")
    with pytest.raises(StartupError, match="No such file"):
        directory.mark_clean()
    with pytest.raises(StartupError, match="No such file"):
        directory.mark_open()
