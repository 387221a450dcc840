import os
import shutil
import subprocess
import time

import pytest

from app.adapters.loading import folder_scan
from app.adapters.loading.folder_scan import FolderScan, stamp_of
from app.adapters.loading.local_sources import FileSource, FolderSource
from app.adapters.loading.path_guard import PathGuard
from app.errors import (
    SourceNotFoundError,
    SourceRefusedError,
    SourceUnavailableError,
    SourceUnreadableError,
)
from app.protocols import SourceEntry, SourceListing
from tests.processor_speed import is_within


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def source(root):
    guard = PathGuard([root.parent])
    return FolderSource(guard, guard.locate(str(root)), max_bytes=1000)


def write(root, *names, text="# Text"):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def keys(source):
    return [entry.key for entry in source.scan().entries]


def reasons(source, root):
    return {os.path.relpath(skip.uri, root): skip.reason for skip in source.scan().skipped}


def test_text_documents_are_listed_in_order_at_any_depth(source, root):
    write(root, "b.md", "a/z.RST", "a/b/c.markdown", "a.txt", "a/x.mdx")
    listing = source.scan()
    assert [e.key for e in listing.entries] == [
        "a.txt",
        "a/b/c.markdown",
        "a/x.mdx",
        "a/z.RST",
        "b.md",
    ]
    assert listing.entries[0].uri == f"{root}/a.txt"
    assert listing.skipped == listing.incomplete == ()


def test_everything_left_out_is_reported_with_its_reason(source, root, tmp_path):
    write(root, "ok.md", "data.json", "Makefile", ".hidden.md", ".git/x.md", "node_modules/p/r.md")
    write(root, "big.md", text="x" * 1001)
    write(root, "skipped/deep/x.md", "skipped/y.md")
    write(root, ".gitignore", text="skipped/\n")
    os.mkfifo(root / "pipe.md")
    (root / "link.md").symlink_to("ok.md")
    (root / "loop").symlink_to(root)
    (root / "out.md").symlink_to(tmp_path)
    told = reasons(source, root)
    assert keys(source) == ["ok.md"]
    assert told.keys() == {
        *("data.json", "Makefile", ".hidden.md", ".git", "node_modules", "big.md", "skipped"),
        *("pipe.md", "link.md", "loop", "out.md"),
    }
    assert told["data.json"] == "not a text document (.json)"
    assert told["big.md"].startswith("too large: 1,001 bytes")
    assert told["skipped"] == "excluded by .gitignore"
    assert "symbolic link" in told["loop"]


def test_a_name_that_is_no_utf8_is_reported_and_its_report_can_be_sent(source, root):
    (root / os.fsdecode(b"caf\xe9.md")).write_text("x")
    (skip,) = source.scan().skipped
    assert skip.uri.encode().endswith("caf\ufffd.md".encode())
    assert "UTF-8" in skip.reason


def test_reports_are_cut_and_the_rest_is_counted(source, root):
    write(root, *(f"{n}.json" for n in range(folder_scan.MAX_SKIPPED + 5)))
    listing = source.scan()
    assert len(listing.skipped) == folder_scan.MAX_SKIPPED
    assert listing.skipped_unreported == 5


def test_what_nobody_expects_to_be_skipped_is_told_before_a_tree_of_code(source, root):
    write(root, *(f"{n}.py" for n in range(folder_scan.MAX_SKIPPED + 5)))
    write(root, "zoo/handbook.md", text="x" * 1001)
    listing = source.scan()
    assert listing.skipped[0].uri.endswith("zoo/handbook.md")
    assert listing.skipped[0].reason.startswith("too large")
    assert len(listing.skipped) == folder_scan.MAX_SKIPPED
    assert listing.skipped_unreported == 6


def test_nested_ignore_files_hold_below_their_folder(source, root):
    write(root, "x.md", "a/x.md", "a/b/x.md", "a/keep.md", "a/b/keep.md")
    write(root, ".gitignore", text="keep.md\n")
    write(root, "a/.gitignore", text="/x.md\n!keep.md\n")
    assert keys(source) == ["a/b/keep.md", "a/b/x.md", "a/keep.md", "x.md"]


def test_the_own_ignore_file_has_the_last_word(source, root):
    write(root, "a/gen.md", "a/out.md", "b.md", "build/doc.md", "dist/doc.md")
    write(root, "a/.gitignore", text="gen.md\n")
    write(root, ".ragignore", text="!gen.md\nout.md\n!build/\n")
    assert keys(source) == ["a/gen.md", "b.md", "build/doc.md"]


class DenyingGuard(PathGuard):
    """May read everything but one file, as if its permissions said so."""

    def __init__(self, roots, denied):
        super().__init__(roots)
        self.denied = denied

    def read_bytes(self, target, max_bytes):
        if target.path == self.denied:
            raise SourceUnavailableError(f"Permission denied: {target.path}.")
        return super().read_bytes(target, max_bytes)


@pytest.mark.parametrize("name", [".gitignore", ".ragignore"])
def test_a_folder_whose_ignore_file_cannot_be_read_is_incomplete_and_not_published(root, name):
    write(root, "sub/secret.md", "sub/deep/secret.md", "y.md")
    write(root, f"sub/{name}", text="secret.md\n")
    guard = DenyingGuard([root.parent], root / "sub" / name)
    listing = FolderSource(guard, guard.locate(str(root)), 1000).scan()
    assert [entry.key for entry in listing.entries] == ["y.md"]
    assert listing.incomplete == ("sub/",)
    (told,) = listing.skipped
    assert told.reason.startswith(f"What {name} leaves out is not known. Permission denied")


def test_a_folder_whose_own_ignore_file_cannot_be_read_is_an_error_that_names_it(root):
    write(root, "secret.md", ".gitignore")
    guard = DenyingGuard([root.parent], root / ".gitignore")
    with pytest.raises(SourceUnavailableError, match=r"Permission denied: .*\.gitignore"):
        FolderSource(guard, guard.locate(str(root)), 1000).scan()


def test_in_a_work_tree_the_rules_above_the_folder_must_be_known(tmp_path, root):
    write(root, "secret.md")
    write(tmp_path, ".gitignore", text="secret.md\n")
    guard = DenyingGuard([root.parent], tmp_path / ".gitignore")
    source = FolderSource(guard, guard.locate(str(root)), 1000)
    assert keys(source) == ["secret.md"]
    (tmp_path / ".git").mkdir()
    with pytest.raises(SourceUnavailableError, match=r"Permission denied: .*\.gitignore"):
        source.scan()


def test_an_ignore_file_that_git_would_not_read_either_is_reported(source, root):
    write(root, "x.md", "rules")
    (root / ".gitignore").symlink_to("rules")
    assert keys(source) == ["x.md"]
    assert "not followed" in reasons(source, root)[".gitignore"]


@pytest.mark.parametrize("name", [".gitignore", ".ragignore"])
def test_an_ignore_file_in_utf_16_is_reported(source, root, name):
    write(root, "x.md")
    for encoding in ("utf-16-le", "utf-16-be"):
        (root / name).write_bytes("\ufeffx.md\n".encode(encoding))
        assert keys(source) == ["x.md"]
        assert "UTF-8, not UTF-16" in reasons(source, root)[name]


def test_in_a_work_tree_the_rules_above_the_folder_hold_too(tmp_path, root, source):
    write(root, "x.md", "gen/y.md", "sub/z.md")
    write(tmp_path, ".gitignore", text="docs/gen/\nz.md\n")
    assert keys(source) == ["gen/y.md", "sub/z.md", "x.md"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert keys(source) == ["x.md"]


@pytest.mark.parametrize("repository", [None, ".", "docs"])
def test_the_own_ignore_files_above_the_folder_hold_up_to_the_root(root, tmp_path, repository):
    write(root, "draft.md", "sub/z.md", "build/kept.md", "x.md")
    write(tmp_path, ".ragignore", text="/docs/draft.md\nz.md\nx.md\n!build/\n")
    write(root, ".ragignore", text="!x.md\n")
    if repository:
        (tmp_path / repository / ".git").mkdir()
    inner = PathGuard([tmp_path])
    assert keys(FolderSource(inner, inner.locate(str(root)), 1000)) == ["build/kept.md", "x.md"]
    sub = FolderSource(inner, inner.locate(str(root / "sub")), 1000)
    assert keys(sub) == []
    narrow = PathGuard([root / "sub"])
    assert keys(FolderSource(narrow, narrow.locate(str(root / "sub")), 1000)) == ["z.md"]


def test_a_folder_that_the_rules_above_leave_out_is_read_as_an_item_of_its_own(root, source):
    write(root, "x.md")
    write(root.parent, ".ragignore", text="docs/\n")
    assert keys(source) == ["x.md"]


def test_the_own_rules_above_the_folder_must_be_known(tmp_path, root):
    write(root, "secret.md")
    write(tmp_path, ".ragignore", text="secret.md\n")
    guard = DenyingGuard([tmp_path], tmp_path / ".ragignore")
    with pytest.raises(SourceUnavailableError, match=r"Permission denied: .*\.ragignore"):
        FolderSource(guard, guard.locate(str(root)), 1000).scan()


def test_the_stamp_changes_with_the_file_and_only_then(root):
    write(root, "a.md", "b.md")
    an_hour_on = time.time_ns() + 3_600_000_000_000
    status, other = (root / "a.md").stat(), (root / "b.md").stat()
    before = stamp_of(status, "a.md", an_hour_on)
    write(root, "a.md", text="# Tent")
    os.utime(root / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    # Same size and the same mtime: the inode's own time still tells.
    assert before != stamp_of((root / "a.md").stat(), "a.md", an_hour_on)
    again = (root / "b.md").stat()
    assert stamp_of(other, "b.md", an_hour_on) == stamp_of(again, "b.md", an_hour_on)
    # A folder that is renamed leaves times as they are, but every citation would be wrong.
    assert stamp_of(other, "b.md", an_hour_on) != stamp_of(other, "moved/b.md", an_hour_on)


def test_a_file_is_read_again_by_other_rules_of_reading(root, monkeypatch):
    write(root, "a.md")
    status, an_hour_on = (root / "a.md").stat(), time.time_ns() + 3_600_000_000_000
    before = stamp_of(status, "a.md", an_hour_on)
    monkeypatch.setattr(folder_scan, "FILE_READING_RULES", "another")
    assert before != stamp_of(status, "a.md", an_hour_on)


def test_files_of_one_size_and_tick_that_change_places_have_other_stamps(root):
    write(root, "a.md", text="one")
    write(root, "b.md", text="two")
    an_hour_on = time.time_ns() + 3_600_000_000_000
    first, second = (root / "a.md").stat(), (root / "b.md").stat()
    # As a clock with a coarse grain has it: only the inodes (field 1) still differ.
    same_tick = os.stat_result(
        (second[0], second[1], *first[2:10]),
        {"st_mtime_ns": first.st_mtime_ns, "st_ctime_ns": first.st_ctime_ns},
    )
    assert stamp_of(first, "a.md", an_hour_on) != stamp_of(same_tick, "a.md", an_hour_on)


def test_a_file_that_changed_just_now_has_no_stamp_yet(source, root):
    write(root, "a.md")
    assert [entry.stamp for entry in source.scan().entries] == [None]


def test_an_empty_folder_is_an_empty_listing(source):
    assert source.scan().entries == ()


def test_a_missing_folder_is_not_found(source, root):
    root.rmdir()
    with pytest.raises(SourceNotFoundError) as missing:
        source.scan()
    assert missing.value.detail == f"Folder not found: {root}"


def test_a_folder_with_an_impossible_name_is_not_found(root):
    guard = PathGuard([root])
    folder = guard.locate(str(root / ("x" * 300)))
    with pytest.raises(SourceNotFoundError, match="Folder not found"):
        FolderSource(guard, folder, 1000).scan()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_source_without_permission_is_an_error_that_says_so(source, root):
    root.chmod(0)
    try:
        with pytest.raises(SourceUnavailableError, match="Permission denied"):
            source.scan()
    finally:
        root.chmod(0o700)


def test_a_file_in_place_of_the_folder_is_an_error_that_names_the_type(source, root):
    root.rmdir()
    root.write_text("x")
    with pytest.raises(SourceUnreadableError, match="document_type 'markdown'"):
        source.scan()


def test_a_document_that_is_gone_is_not_found(source, root):
    write(root, "a.md", "b.md")
    entries = source.scan().entries
    (root / "a.md").unlink()
    with pytest.raises(SourceNotFoundError):
        source.read(entries[0])
    assert source.read(entries[1]).document_id == "b.md"


def test_a_folder_that_went_away_says_nothing_about_its_documents(source, root):
    write(root, "sub/a.md")
    entries = source.scan().entries
    shutil.rmtree(root)
    with pytest.raises(SourceUnavailableError, match="went away"):
        source.read(entries[0])


def test_what_lies_too_deep_is_incomplete_and_not_gone(source, root):
    deep = root / "/".join(["d"] * (folder_scan.MAX_DEPTH + 1))
    write(deep, "x.md")
    write(root, "y.md")
    listing = source.scan()
    assert [entry.key for entry in listing.entries] == ["y.md"]
    assert listing.incomplete == ("d/" * (folder_scan.MAX_DEPTH + 1),)
    assert "deep" in listing.skipped[0].reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_without_permission_is_incomplete_and_not_gone(source, root):
    write(root, "sub/x.md", "y.md")
    (root / "sub").chmod(0)
    listing = source.scan()
    assert listing.incomplete == ("sub/",)
    assert "Permission denied" in listing.skipped[0].reason


def test_what_another_listing_cannot_tell_of_is_still_there(source, root, monkeypatch):
    write(root, "a.md", "sub/b.md")
    keys = {"a.md", "sub/b.md", "c.md"}
    assert source.still_there(keys) == {"a.md", "sub/b.md"}
    assert source.still_there({"c.md"}) == frozenset()
    incomplete = SourceListing((), incomplete=("sub/",))
    monkeypatch.setattr(FolderScan, "run", lambda _scan: incomplete)
    assert source.still_there(keys) == {"sub/b.md"}


def test_keys_that_leave_the_folder_are_not_read(source, root, tmp_path):
    write(tmp_path, "secret.md")
    with pytest.raises(SourceRefusedError, match="SOURCE_ROOTS"):
        source.read(SourceEntry("../secret.md", "x"))


def test_binary_and_empty_documents_are_unreadable(source, root):
    write(root, "a.md", text="")
    (root / "b.md").write_bytes(b"\x89PNG\0\0")
    for entry, message in zip(
        source.scan().entries, ["No content to index", "binary"], strict=True
    ):
        with pytest.raises(SourceUnreadableError, match=message):
            source.read(entry)


def test_ten_thousand_files_are_listed_in_under_a_second(source, root):
    for folder in range(100):
        write(root, *(f"{folder}/{n}.md" for n in range(100)), text="")
    write(root, ".gitignore", text="".join(f"*.tmp{n}\nout{n}/\n" for n in range(10)))
    started = time.process_time()
    assert len(source.scan().entries) == 10_000
    assert is_within(1, started)


def test_a_single_file_is_one_entry(root):
    write(root, "guide.md", text="# Guide\n")
    guard = PathGuard([root])
    source = FileSource(guard, guard.locate(f"file://{root}/guide.md"), 1000)
    (entry,) = source.scan().entries
    assert (entry.key, entry.uri) == ("guide.md", f"{root}/guide.md")
    loaded = source.read(entry)
    assert (loaded.title, loaded.document_id) == ("Guide", "guide.md")
    assert loaded.source_uri == f"{root}/guide.md"
    (root / "guide.md").unlink()
    with pytest.raises(SourceNotFoundError, match=r"^File not found: "):
        source.scan()
