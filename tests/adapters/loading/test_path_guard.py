import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest

from app.adapters.loading.path_guard import GuardedPath, PathGuard
from app.errors import (
    SourceNotFoundError,
    SourceRefusedError,
    SourceUnavailableError,
    SourceUnreadableError,
)
from tests.patience import run_in_time

LIMIT = 1000


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "doc.md").write_text("hello")
    (tmp_path / "secret.md").write_text("secret")
    return folder


@pytest.fixture
def guard(root):
    return PathGuard([root])


def read(guard, uri):
    return guard.read_bytes(guard.locate(str(uri)), LIMIT)


@dataclass
class NameOfWhatMoves(os.PathLike):
    """The name of a file that is exchanged when the system is told it for the `at`-th time."""

    name: str
    exchange: Callable[[], object]
    at: int
    times: int = 0

    def __fspath__(self):
        self.times += 1
        if self.times == self.at:
            self.exchange()
        return self.name


def test_reads_plain_paths_and_file_addresses(guard, root):
    (root / "a b%.md").write_text("odd")
    assert read(guard, root / "doc.md") == b"hello"
    assert read(guard, f"file://{root}/doc.md") == b"hello"
    assert read(guard, f"FILE://localhost{root}/doc.md") == b"hello"
    assert read(guard, f"file:{root}/doc.md") == b"hello"
    assert read(guard, f"file://{root}/a%20b%25.md") == b"odd"
    assert read(guard, f"file://{root}/a b%.md") == b"odd"


def test_an_address_of_another_machine_names_no_file_of_this_one(guard, root):
    with pytest.raises(SourceRefusedError, match="not of 'elsewhere'"):
        guard.locate(f"file://elsewhere{root}/doc.md")


def test_relative_paths_start_at_the_working_directory(guard, root):
    assert read(guard, os.path.relpath(root / "doc.md")) == b"hello"


def test_tilde_is_the_home_of_the_user(guard):
    with pytest.raises(SourceRefusedError, match="File not found: ~/nothing-here"):
        guard.locate("~/nothing-here.md")


@pytest.mark.parametrize("uri", ["~", "~/a.md"])
def test_a_home_that_there_is_not_is_refused(guard, monkeypatch, uri):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(SourceRefusedError, match="Give the path from / on"):
        guard.locate(uri)


def test_dots_that_stay_inside_are_allowed_and_those_that_leave_are_not(guard, root):
    (root / "sub").mkdir()
    assert read(guard, f"{root}/sub/../doc.md") == b"hello"
    for uri in (f"{root}/../secret.md", f"file://{root}/%2e%2e/secret.md"):
        with pytest.raises(SourceRefusedError, match="SOURCE_ROOTS"):
            guard.locate(uri)


def test_what_is_outside_is_answered_alike_whether_it_exists_or_not(guard, tmp_path):
    answers = []
    for name in ("secret.md", "nothing.md"):
        with pytest.raises(SourceRefusedError) as refused:
            guard.locate(str(tmp_path / name))
        answers.append(refused.value.detail.replace(name, "…"))
    assert answers[0] == answers[1]


def test_the_message_of_the_specification_holds_word_for_word(guard):
    with pytest.raises(SourceRefusedError) as refused:
        guard.locate("/nonexistent/path/file.md")
    assert refused.value.detail.startswith("File not found: /nonexistent/path/file.md")


def test_a_missing_file_below_a_root_is_not_found(guard, root):
    with pytest.raises(SourceNotFoundError) as missing:
        read(guard, f"file://{root}/none.md")
    assert missing.value.detail == f"File not found: {root}/none.md"


def test_a_name_longer_than_any_file_is_not_found(guard, root):
    with pytest.raises(SourceNotFoundError):
        read(guard, root / ("x" * 5000))


def test_links_that_leave_the_root_are_refused(guard, root, tmp_path):
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "up").symlink_to(tmp_path)
    for uri in (root / "out.md", root / "up" / "secret.md"):
        with pytest.raises(SourceRefusedError):
            guard.locate(str(uri))


def test_a_link_inside_the_root_leads_to_its_target(guard, root):
    (root / "in.md").symlink_to("doc.md")
    assert read(guard, root / "in.md") == b"hello"


def test_a_circle_of_links_is_refused(guard, root):
    (root / "a.md").symlink_to("b.md")
    (root / "b.md").symlink_to("a.md")
    with pytest.raises(SourceRefusedError, match="symbolic link"):
        read(guard, root / "a.md")


def test_a_link_put_in_place_after_the_check_is_not_followed(guard, root, tmp_path):
    file, inner = root / "doc.md", root / "sub"
    inner.mkdir()
    (inner / "deep.md").write_text("deep")
    located, deep = guard.locate(str(file)), guard.locate(str(inner / "deep.md"))
    file.unlink()
    file.symlink_to(tmp_path / "secret.md")
    (inner / "deep.md").unlink()
    inner.rmdir()
    (tmp_path / "deep.md").write_text("secret")
    inner.symlink_to(tmp_path)
    with pytest.raises(SourceRefusedError):
        guard.read_bytes(located, LIMIT)
    with pytest.raises((SourceRefusedError, SourceNotFoundError)):
        guard.read_bytes(deep, LIMIT)


@pytest.mark.parametrize("kind", ["link", "pipe"])
@pytest.mark.parametrize("at", [1, 2])
def test_what_takes_the_place_of_a_file_at_the_last_moment_is_refused(
    guard, root, tmp_path, kind, at
):
    (tmp_path / "link").symlink_to(tmp_path / "secret.md")
    os.mkfifo(tmp_path / "pipe")
    name = NameOfWhatMoves("doc.md", lambda: (tmp_path / kind).replace(root / "doc.md"), at)
    read_it = partial(guard.read_bytes, GuardedPath(root, (name,), "doc.md"), LIMIT)
    with pytest.raises((SourceRefusedError, SourceUnreadableError)):
        run_in_time(partial(anyio.to_thread.run_sync, read_it, abandon_on_cancel=True))


def test_hidden_files_are_read_only_where_their_folder_is_a_root(guard, root):
    hidden = root / ".notes"
    hidden.mkdir()
    (hidden / "doc.md").write_text("hidden")
    with pytest.raises(SourceRefusedError, match="hidden"):
        guard.locate(str(hidden / "doc.md"))
    assert read(PathGuard([root, hidden]), hidden / "doc.md") == b"hidden"


def test_pipes_devices_and_sockets_are_refused_without_waiting(guard, root):
    os.mkfifo(root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket.md"))
        for name in ("pipe.md", "socket.md"):
            with pytest.raises(SourceUnreadableError, match="pipe"):
                read(guard, root / name)
    with pytest.raises(SourceUnreadableError, match="device"):
        read(PathGuard([Path("/dev")]), "/dev/zero")


def test_files_over_the_limit_are_refused(guard, root):
    (root / "at.md").write_bytes(b"x" * LIMIT)
    (root / "over.md").write_bytes(b"x" * (LIMIT + 1))
    assert len(read(guard, root / "at.md")) == LIMIT
    with pytest.raises(SourceUnreadableError, match="FILE_MAX_BYTES"):
        read(guard, root / "over.md")


def test_a_file_that_holds_more_than_its_size_says_is_refused_as_well():
    guard = PathGuard([Path("/proc")])
    located = guard.locate("/proc/cpuinfo")
    assert guard.file_status(located).st_size == 0
    with pytest.raises(SourceUnreadableError, match="FILE_MAX_BYTES"):
        guard.read_bytes(located, 10)


def test_a_folder_where_a_file_is_meant_names_the_type_to_use(guard, root):
    (root / "sub").mkdir()
    for uri in (root, root / "sub"):
        with pytest.raises(SourceUnreadableError, match="document_type 'folder'"):
            read(guard, uri)


def test_a_file_where_a_folder_is_meant_names_the_type_to_use(guard, root):
    with (
        pytest.raises(SourceUnreadableError, match="document_type 'markdown'"),
        guard.open_folder(guard.locate(str(root / "doc.md"))),
    ):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_says_so(guard, root):
    (root / "doc.md").chmod(0)
    with pytest.raises(SourceUnavailableError, match="Permission denied"):
        read(guard, root / "doc.md")


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "a\0b.md",
        "file:///a%00b.md",
        "file://server/share/doc.md",
        "file://",
        "\ud800.md",
        "file://127.0.0.1/etc/passwd",
    ],
)
def test_malformed_addresses_are_refused_with_a_message_that_can_be_sent(guard, uri):
    with pytest.raises(SourceRefusedError) as refused:
        guard.locate(uri)
    assert refused.value.detail.encode()


@pytest.mark.parametrize(
    "key", ["../secret.md", "a/../../secret.md", ".hidden", "", "a//b", "/x", "a\0"]
)
def test_keys_cannot_leave_their_folder(guard, root, key):
    with pytest.raises(SourceRefusedError):
        GuardedPath(root, (), str(root)).below(key)
