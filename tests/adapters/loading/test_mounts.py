"""What is not mounted any more is not taken for deleted."""

import pytest

from app.adapters.loading.folder_scan import FolderScan
from app.adapters.loading.path_guard import PathGuard
from app.protocols import SourceListing


@pytest.fixture
def scan(tmp_path):
    """Lists a folder in which the given ones lie on devices of their own."""
    (tmp_path / "docs/share/deep").mkdir(parents=True)
    (tmp_path / "docs/share/deep/a.md").write_text("A")
    guard = PathGuard([tmp_path])

    def run(*mounted: str) -> SourceListing:
        inner = {"docs/share": ("docs/share", "docs/share/deep")}
        devices = {
            (tmp_path / path).stat().st_ino: number
            for number, name in enumerate(mounted, 1)
            for path in inner.get(name, (name,))
        }
        folder = guard.locate(str(tmp_path / "docs"))
        found = FolderScan(guard, folder, 1000, lambda status: devices.get(status.st_ino, 0))
        return found.run()

    return run


def test_a_listing_names_what_is_mounted_in_it_and_what_is_empty(scan, tmp_path):
    (tmp_path / "docs/empty").mkdir()
    listing = scan("docs/share")
    assert listing.mounts == ("share/",)
    assert listing.empty == ("empty/",)
    assert scan().mounts == ()


@pytest.mark.parametrize(
    ("listing", "before", "incomplete"),
    [
        (SourceListing((), empty=("share/",)), ["share/"], ("share/",)),
        (SourceListing((), empty=("",)), [""], ("",)),
        (SourceListing((), empty=("share/",)), [], ()),
        (SourceListing((), empty=("share/",), mounts=("share/",)), ["share/"], ()),
        (SourceListing(()), ["share/"], ()),
    ],
    ids=["unmounted", "unmounted itself", "emptied", "emptied while mounted", "in use otherwise"],
)
def test_an_empty_place_where_something_was_mounted_says_nothing_of_its_files(
    listing, before, incomplete
):
    now = listing.without_lost_mounts(before)
    assert now.incomplete == incomplete
    if incomplete:  # however often it is looked at meanwhile
        assert listing.without_lost_mounts(now.mounts).incomplete == incomplete
