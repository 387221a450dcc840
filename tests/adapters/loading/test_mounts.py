"""What is not mounted any more is not taken for deleted."""

import pytest

from app.adapters.loading.folder_scan import FolderScan
from app.adapters.loading.path_guard import PathGuard
from app.errors import SourceUnavailableError
from app.protocols import SourceEntry, SourceListing


def identity(status):
    return status.st_dev, status.st_ino


@pytest.fixture
def scan(tmp_path):
    """Lists a folder in which the given ones lie on devices of their own."""
    (tmp_path / "docs/share/deep").mkdir(parents=True)
    (tmp_path / "docs/share/deep/a.md").write_text("A")
    guard = PathGuard([tmp_path])

    def run(*mounted: str) -> SourceListing:
        devices = {}
        for number, name in enumerate(mounted, 1):
            for place in [tmp_path / name, *(tmp_path / name).rglob("*")]:
                devices[identity(place.stat())] = number
        folder = guard.locate(str(tmp_path / "docs"))
        found = FolderScan(guard, folder, 1000, lambda status: devices.get(identity(status), 0))
        return found.run()

    return run


def test_a_listing_names_what_is_mounted_in_it(scan):
    assert scan("docs/share").mounts == ("share/",)
    assert scan("docs/share", "docs/share/deep").mounts == ("share/", "share/deep/")
    assert scan().mounts == ()


def test_a_listing_names_what_is_mounted_above_it(scan, tmp_path):
    assert scan("docs").mounts == ("",)
    assert scan(".").mounts == (str(tmp_path),)
    assert scan(".", "docs").mounts == ("", str(tmp_path))


def test_what_is_mounted_while_it_is_listed_says_nothing_of_its_files(tmp_path):
    guard = PathGuard([tmp_path])
    answers = iter([1])
    scan = FolderScan(guard, guard.locate(str(tmp_path)), 1000, lambda _: next(answers, 2))
    with pytest.raises(SourceUnavailableError, match="while it was read"):
        scan.run()


LISTED = (SourceEntry("a.md", "/docs/a.md"), SourceEntry("share/note.md", "/docs/share/note.md"))


@pytest.mark.parametrize(
    ("now", "before", "lost", "keys"),
    [
        (SourceListing(LISTED), ["share/"], ("share/",), ["a.md"]),
        (SourceListing(()), ["share/"], ("share/",), []),
        (SourceListing(LISTED), [""], ("",), []),
        (SourceListing(LISTED), ["/usb"], ("",), []),
        (SourceListing(LISTED, mounts=("share/",)), ["share/"], (), ["a.md", "share/note.md"]),
        (SourceListing(LISTED, mounts=("/usb",)), ["/usb"], (), ["a.md", "share/note.md"]),
        (SourceListing(LISTED), [], (), ["a.md", "share/note.md"]),
        (SourceListing(LISTED[:1], left_out=("share/",)), ["share/", "share/x/"], (), ["a.md"]),
    ],
    ids=[
        *("a note at the mount point", "nothing at the mount point", "the source itself"),
        *("below a mount point", "still mounted", "still mounted above", "never mounted"),
        "left out by rules",
    ],
)
def test_what_lies_where_a_file_system_was_mounted_says_nothing_of_its_files(
    now, before, lost, keys
):
    listing = now.without_lost_mounts(before)
    assert listing.incomplete == lost
    assert [entry.key for entry in listing.entries] == keys
    assert len(listing.skipped) == len(lost)
    # … however often it is looked at meanwhile.
    assert now.without_lost_mounts(listing.mounts).incomplete == lost


def test_rules_that_leave_a_mount_point_out_hold_when_it_is_gone(scan, tmp_path):
    (tmp_path / "docs/.ragignore").write_text("share/\n")
    assert scan().without_lost_mounts(["share/", "share/deep/"]).incomplete == ()
