"""What changes below an item has it indexed: with a notifier that tells what the test says."""

import errno
import os
import queue
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from app.adapters.loading.footprints import Footprint, Footprints
from app.adapters.loading.path_guard import GuardedPath, PathGuard
from app.adapters.watching.folder_notifier import MissedChangesError, WatchLimitError
from app.errors import SourceUnavailableError, UnavailableError
from app.following.records import FollowedItem
from app.following.watch import RECHECK_SECONDS, SourceWatch
from app.following.watch_pauses import BURST, FIRST_SECONDS
from tests.following.conftest import Clock
from tests.patience import PATIENCE_SECONDS

MISSED = "missed"
"""Told of as a path: something changed, and nobody can say what."""


class FakeNotifier:
    """Tells what it was given, and remembers what it was opened with."""

    def __init__(self, folders: Collection[str], told: dict[str, bool]) -> None:
        self.folders = set(folders)
        self.told = told
        self.closed = False

    def wait(self, seconds: float, interrupted: Callable[[], bool]) -> Mapping[str, bool]:  # noqa: ARG002
        assert not self.closed
        if MISSED in self.told:
            self.told.clear()
            raise MissedChangesError("A name cannot be told.")
        told = {path: how for path, how in self.told.items() if self._sees(path)}
        self.told.clear()
        return told

    def _sees(self, path: str) -> bool:
        return path in self.folders or path.rpartition("/")[0] in self.folders

    def close(self) -> None:
        self.closed = True


class RefusingFootprints(Footprints):
    """Of folders with a certain name, the system refuses to say anything."""

    refused = "nothing"

    def take(self, uri: str, document_type: str) -> Footprint | None:
        if uri.endswith(self.refused):
            raise OSError(errno.EIO, "Input/output error", uri)
        return super().take(uri, document_type)


class LockedFolder:
    """Denies all access to a folder, also to a superuser, whom permissions do not hold back."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder: Path | None = folder
        really_open, really_ask = PathGuard.open_folder, os.access

        def open_folder(guard: PathGuard, place: GuardedPath) -> AbstractContextManager[int]:
            if self._holds(place.path):
                raise SourceUnavailableError(f"Permission denied: {place.path}.")
            return really_open(guard, place)

        def access(path: str, mode: int, *, dir_fd: int | None = None) -> bool:
            return not self._holds(Path(path)) and really_ask(path, mode, dir_fd=dir_fd)

        monkeypatch.setattr(PathGuard, "open_folder", open_folder)
        monkeypatch.setattr(os, "access", access)

    def _holds(self, path: Path) -> bool:
        return self._folder is not None and path.is_relative_to(self._folder)

    def open(self) -> None:
        """Let everybody in again."""
        self._folder = None


class Desk:
    """A watch with everything around it in the test's hands."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self.items: list[FollowedItem] = []
        self.jobs: list[int] = []
        self.declined: set[int] = set()
        """Items that are not followed at the moment at which a job would be added."""
        self.soon: list[int] = []
        self.notifiers: list[FakeNotifier] = []
        self.told: dict[str, bool] = {}
        self.most_folders = 1000
        self.footprints = RefusingFootprints(PathGuard([root]))
        self.watch = SourceWatch(
            items=lambda: list(self.items),
            footprints=self.footprints,
            add_job=self.add_job,
            look_soon=lambda item_ids: self.soon.extend(sorted(item_ids)),
            open_notifier=self._open,
            clock=clock.seconds,
        )

    def add_job(self, item_id: int) -> object:
        if item_id in self.declined:
            return None
        self.jobs.append(item_id)
        return f"job {len(self.jobs)}"

    def _open(self, folders: Collection[str]) -> FakeNotifier:
        beside = sum(len(one.folders) for one in self.notifiers if not one.closed)
        if len(folders) + beside > self.most_folders:
            raise WatchLimitError("There are too many folders.")
        self.notifiers.append(FakeNotifier(folders, self.told))
        return self.notifiers[-1]

    def follow(self, path: Path, document_type: str = "folder") -> int:
        item = FollowedItem(len(self.items) + 1, str(path), document_type, None, None)
        self.items.append(item)
        self.watch.wake()
        return item.id

    def begin(self) -> None:
        self.watch.look(catch_up=False)

    def change(self, *paths: Path, came_or_went: bool = False) -> list[int]:
        """The items that get a job because of a change of these paths."""
        self.told |= {str(path): came_or_went for path in paths}
        return self.step()

    def step(self) -> list[int]:
        before = len(self.jobs)
        self.watch.look()
        self.watch.wait_and_dispatch()
        return self.jobs[before:]

    @property
    def watched(self) -> set[str]:
        return self.notifiers[-1].folders if self.notifiers else set()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    for name in ("docs/guide", "docs/.git/objects", "docs/node_modules/left-pad", "docs/private"):
        (folder / name).mkdir(parents=True)
    (folder / "docs/.gitignore").write_text("private/\n*.draft.md\n")
    (folder / "docs/a.md").write_text("A")
    (folder / "docs/guide/b.md").write_text("B")
    return folder


@pytest.fixture
def desk(root: Path, clock: Clock) -> Desk:
    return Desk(root, clock)


def test_the_folders_that_are_indexed_are_watched_and_no_others(desk: Desk, root: Path) -> None:
    (root / "docs/link").symlink_to(root / "docs/private")
    desk.follow(root / "docs")
    desk.begin()
    assert desk.watched == {str(root), str(root / "docs"), str(root / "docs/guide")}
    assert desk.step() == []


def test_what_is_watched_from_the_start_is_looked_at_soon_and_once(
    desk: Desk, root: Path, clock: Clock
) -> None:
    """It may have changed while nobody watched."""
    desk.items.append(FollowedItem(1, "https://example.com/", "website", None, None))
    folder, file = desk.follow(root / "docs"), desk.follow(root / "docs/a.md", "markdown")
    desk.begin()
    assert desk.soon == []  # watched first: nothing falls between the look and the watch
    assert desk.step() == []
    assert desk.soon == [folder, file]
    clock.forward(RECHECK_SECONDS)
    assert desk.step() == []
    assert desk.soon == [folder, file]


def test_an_unexpected_error_does_not_end_the_thread(
    desk: Desk, root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("app.following.watch.FAILURE_SECONDS", 0.01)
    item = desk.follow(root / "docs")
    failures = [RuntimeError("of a part that it asks"), RuntimeError("of the same part")]
    looked_at: queue.SimpleQueue[Collection[int]] = queue.SimpleQueue()

    def items() -> list[FollowedItem]:
        if failures:
            raise failures.pop()
        return desk.items

    watch = SourceWatch(
        items=items,
        footprints=desk.footprints,
        add_job=desk.add_job,
        look_soon=looked_at.put,
        open_notifier=desk._open,
    )
    watch.start()
    assert looked_at.get(timeout=PATIENCE_SECONDS) == {item}
    watch.close()
    assert "Watching folders pauses after an unexpected error" in caplog.text


def test_a_change_beside_the_start_does_not_wait_for_that_look(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    assert desk.change(root / "docs/a.md") == [item]


def test_a_look_that_cannot_be_noted_is_noted_later(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs")
    full = True

    def look_soon(item_ids: Collection[int]) -> None:
        if full:
            raise UnavailableError("The database does not answer.")
        desk.soon.extend(item_ids)

    desk.watch = SourceWatch(
        items=lambda: desk.items,
        footprints=desk.footprints,
        add_job=desk.add_job,
        look_soon=look_soon,
        open_notifier=desk._open,
    )
    desk.begin()
    with pytest.raises(UnavailableError):
        desk.step()
    full = False
    assert desk.step() == []
    assert desk.soon == [item]


def test_a_changed_document_has_its_item_indexed(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    assert desk.change(root / "docs/guide/b.md") == [item]
    assert desk.step() == []


def test_changes_that_cannot_be_told_have_all_watched_items_indexed(
    desk: Desk, root: Path, clock: Clock
) -> None:
    first, second = desk.follow(root / "docs"), desk.follow(root / "docs/guide")
    desk.begin()
    assert desk.change(Path(MISSED)) == [first, second]
    clock.forward(600)
    assert desk.change(root / "docs/a.md") == [first]


@pytest.mark.parametrize(
    "name",
    [
        *("docs/picture.png", "docs/.hidden.md", "docs/x.draft.md", "docs/guide/.git"),
        *("docs/private", "other.md", "docs/node_modules", "docs/.git"),
    ],
)
@pytest.mark.parametrize("came_or_went", [True, False], ids=["came or went", "changed"])
def test_what_is_not_indexed_makes_no_work(
    desk: Desk, root: Path, name: str, *, came_or_went: bool
) -> None:
    desk.follow(root / "docs")
    desk.begin()
    assert desk.change(root / name, came_or_went=came_or_went) == []
    assert len(desk.notifiers) == 1


def test_a_link_makes_work_only_when_it_comes_or_goes(desk: Desk, root: Path) -> None:
    """It may have taken the place of a document, which is then not to be found any more."""
    item = desk.follow(root / "docs")
    desk.begin()
    (root / "docs/a.md").unlink()
    (root / "docs/a.md").symlink_to(root / "docs/guide/b.md")
    assert desk.change(root / "docs/a.md") == []
    assert desk.change(root / "docs/a.md", came_or_went=True) == [item]


def test_a_document_that_went_makes_work(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    (root / "docs/a.md").unlink()
    assert desk.change(root / "docs/a.md", came_or_went=True) == [item]


def test_a_new_folder_is_watched_with_all_in_it_before_its_item_is_indexed(
    desk: Desk, root: Path
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    (root / "docs/new/deep").mkdir(parents=True)
    assert desk.change(root / "docs/new", came_or_went=True) == [item]
    assert str(root / "docs/new/deep") in desk.watched


def test_a_folder_that_was_replaced_is_watched_anew(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    shutil.rmtree(root / "docs/guide")
    (root / "docs/guide").mkdir()
    assert desk.change(root / "docs/guide", came_or_went=True) == [item]
    first, second = desk.notifiers
    assert first.closed
    assert second.folders == first.folders


@pytest.mark.parametrize("place", ["docs/guide", "docs", "."])
def test_a_folder_that_may_not_be_listed_for_a_while_is_looked_at_when_it_may_again(
    desk: Desk, root: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    locked = LockedFolder(root / place, monkeypatch)
    assert desk.change(root / place) == [item]
    clock.forward(1)
    (root / "docs/guide/c.md").write_text("C")  # nobody can tell of this
    locked.open()
    assert desk.change(root / place) == [item]
    assert str(root / "docs/guide") in desk.watched


def test_what_is_done_to_a_folder_makes_no_work_while_it_may_be_listed(
    desk: Desk, root: Path
) -> None:
    desk.follow(root / "docs")
    desk.begin()
    assert desk.change(root, root / "docs", root / "docs/guide") == []


def test_the_items_own_folder_may_go_and_come_again(desk: Desk, root: Path, clock: Clock) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    (root / "docs").rename(root / "away")
    assert desk.change(root / "docs", came_or_went=True) == [item]
    assert desk.watched == {str(root)}
    clock.forward(10)
    (root / "away").rename(root / "docs")
    assert desk.change(root / "docs", came_or_went=True) == [item]
    assert str(root / "docs/guide") in desk.watched


def test_changed_ignore_rules_change_what_is_watched(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    (root / "docs/.gitignore").write_text("guide/\n")
    assert desk.change(root / "docs/.gitignore") == [item]
    assert desk.watched == {str(root), str(root / "docs"), str(root / "docs/private")}


def test_a_single_file_is_watched_through_its_folder(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs/a.md", "markdown")
    desk.begin()
    assert desk.watched == {str(root), str(root / "docs")}
    assert desk.change(root / "docs/other.md") == []
    assert desk.change(root / "docs/a.md", came_or_went=True) == [item]


def test_items_of_one_folder_are_all_indexed(desk: Desk, root: Path, clock: Clock) -> None:
    whole, part = desk.follow(root / "docs"), desk.follow(root / "docs/guide")
    desk.begin()
    assert desk.change(root / "docs/guide/b.md") == [whole, part]
    clock.forward(10)
    assert desk.change(root / "docs/a.md") == [whole]


def test_an_item_that_comes_later_is_watched_and_looked_at_once(desk: Desk, root: Path) -> None:
    desk.begin()
    assert desk.watched == set()
    item = desk.follow(root / "docs")
    assert desk.step() == [item]
    assert str(root / "docs/guide") in desk.watched


def test_an_item_that_is_not_followed_any_more_is_not_watched(desk: Desk, root: Path) -> None:
    desk.follow(root / "docs/guide")
    desk.begin()
    desk.items.clear()
    desk.watch.wake()
    assert desk.change(root / "docs/guide/b.md") == []
    assert desk.notifiers[0].closed


def test_an_item_that_is_pointed_elsewhere_is_watched_there(desk: Desk, root: Path) -> None:
    desk.follow(root / "docs")
    desk.begin()
    desk.items[0] = FollowedItem(1, str(root / "docs/guide"), "folder", None, None)
    desk.watch.wake()
    desk.step()
    assert desk.watched == {str(root), str(root / "docs"), str(root / "docs/guide")}


def test_pages_and_what_may_not_be_read_are_not_watched(desk: Desk, root: Path) -> None:
    desk.items.append(FollowedItem(1, "https://example.com/", "website", None, None))
    desk.follow(root.parent.parent)
    desk.begin()
    assert desk.watched == set()


def test_a_file_that_changes_all_the_time_is_not_indexed_all_the_time(
    desk: Desk, root: Path, clock: Clock
) -> None:
    desk.follow(root / "docs")
    desk.begin()
    jobs = 0
    for _ in range(1200):  # ten minutes
        jobs += len(desk.change(root / "docs/a.md"))
        clock.forward(0.5)
    assert BURST < jobs < BURST + 20
    clock.forward(100)
    assert desk.step() in ([1], [])  # what came last is not forgotten …
    assert not desk.watch._changed


def test_what_the_system_does_not_tell_is_found_by_looking_now_and_then(
    desk: Desk, root: Path, clock: Clock
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    (root / "docs/mounted").mkdir()  # a file system that is mounted tells nobody
    assert desk.step() == []
    clock.forward(RECHECK_SECONDS)
    assert desk.step() == [item]
    assert str(root / "docs/mounted") in desk.watched


def replace_by_a_copy(folder: Path) -> None:
    before = folder.rename(f"{folder}.before")
    shutil.copytree(before, folder)


@pytest.mark.parametrize(
    ("place", "document_type"), [("docs/guide", "folder"), ("docs/guide/b.md", "markdown")]
)
@pytest.mark.parametrize("replaced", ["docs", "docs/guide"])
class TestWhenSomethingAboveIsReplaced:
    def test_it_is_watched_anew_as_soon_as_the_system_tells(
        self, desk: Desk, root: Path, place: str, document_type: str, replaced: str
    ) -> None:
        item = desk.follow(root / place, document_type)
        desk.begin()
        replace_by_a_copy(root / replaced)
        assert desk.change(root / replaced, came_or_went=True) == [item]
        first, second = desk.notifiers
        assert first.closed
        assert second.folders == first.folders

    def test_it_is_watched_anew_by_the_next_look_at_the_latest(
        self, desk: Desk, root: Path, clock: Clock, place: str, document_type: str, replaced: str
    ) -> None:
        item = desk.follow(root / place, document_type)
        desk.begin()
        clock.forward(RECHECK_SECONDS)
        assert desk.step() == []
        replace_by_a_copy(root / replaced)
        clock.forward(RECHECK_SECONDS)
        assert desk.step() == [item]
        assert desk.notifiers[-1].folders == desk.notifiers[0].folders


@pytest.mark.parametrize(
    ("link", "targets", "document_type"),
    [
        ("latest.md", ("docs/a.md", "docs/c.md"), "markdown"),
        ("latest", ("docs", "docs/guide"), "folder"),
    ],
    ids=["file", "folder"],
)
def test_a_link_that_leads_elsewhere_is_found_by_the_next_look(
    desk: Desk, root: Path, clock: Clock, link: str, targets: tuple[str, str], document_type: str
) -> None:
    (root / link).symlink_to(targets[0])
    item = desk.follow(root / link, document_type)
    desk.begin()
    (root / link).unlink()
    (root / link).symlink_to(targets[1])
    clock.forward(RECHECK_SECONDS)
    assert desk.step() == [item]


@pytest.mark.parametrize(
    ("uri", "document_type", "change"),
    [
        ("links/current", "folder", "v2/docs/new.md"),
        ("links/current/docs", "folder", "v2/docs/new.md"),
        ("links/current/docs/a.md", "markdown", "v2/docs/a.md"),
        ("links/over/docs", "folder", "v2/docs/new.md"),
    ],
    ids=["the item", "above a folder", "above a file", "behind another"],
)
def test_where_a_link_leads_from_now_on_is_watched_as_soon_as_the_system_tells(
    desk: Desk, root: Path, clock: Clock, uri: str, document_type: str, change: str
) -> None:
    shutil.copytree(root / "docs", root / "v1/docs")
    shutil.copytree(root / "docs", root / "v2/docs")
    (root / "links").mkdir()
    link = root / "links/current"
    link.symlink_to("../v1")
    (root / "links/over").symlink_to(link)
    item = desk.follow(root / uri, document_type)
    desk.begin()
    (root / change).write_text("not looked at yet")
    assert desk.change(root / change) == []
    link.unlink()
    link.symlink_to("../v2")
    assert desk.change(link) == [item]
    clock.forward(FIRST_SECONDS)
    (root / change).write_text("changed")
    assert desk.change(root / change) == [item]


def test_a_link_outside_of_what_may_be_read_is_not_watched(
    desk: Desk, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path.resolve() / "outside"
    outside.mkdir()
    (outside / "docs").symlink_to(root / "docs")
    item = desk.follow(outside / "docs")
    desk.begin()
    assert str(outside) not in desk.watched
    assert desk.change(root / "docs/a.md") == [item]


def test_a_link_that_led_out_of_bounds_is_watched_until_it_leads_back(
    desk: Desk, root: Path, clock: Clock
) -> None:
    link = root / "current"
    link.symlink_to("docs")
    item = desk.follow(link)
    desk.begin()
    for target, jobs in (("/", [item]), ("docs", [item])):
        link.unlink()
        link.symlink_to(target)
        clock.forward(FIRST_SECONDS)
        assert desk.change(link) == jobs
    clock.forward(FIRST_SECONDS)
    assert desk.change(root / "docs/a.md") == [item]


def test_a_circle_of_links_ends(desk: Desk, root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    desk.follow(root / "one/docs")
    desk.begin()
    assert str(root / "docs") not in desk.watched


def test_ignore_rules_above_the_item_make_work_for_folders_only(desk: Desk, root: Path) -> None:
    item = desk.follow(root / "docs/guide")
    desk.follow(root / "docs/guide/b.md", "markdown")
    desk.begin()
    assert desk.change(root / "docs/.gitignore") == [item]


def test_an_item_whose_folders_cannot_be_seen_keeps_no_other_from_being_watched(
    desk: Desk, root: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "broken").mkdir()
    broken, whole = desk.follow(root / "broken"), desk.follow(root / "docs")
    desk.footprints.refused = "/broken"
    desk.begin()
    assert desk.change(root / "docs/a.md") == [whole]
    assert [f"folders of item {broken}" in record.message for record in caplog.records] == [True]
    desk.footprints.refused = "nothing"
    clock.forward(RECHECK_SECONDS)
    assert desk.step() == [broken]
    assert str(root / "broken") in desk.watched


def test_folders_that_cannot_be_seen_for_a_while_stay_watched(
    desk: Desk, root: Path, clock: Clock
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    desk.footprints.refused = "/docs"
    clock.forward(RECHECK_SECONDS)
    assert desk.step() == []
    assert desk.change(root / "docs/a.md") == [item]


def test_all_is_watched_anew_now_and_then_for_what_was_mounted_again(
    desk: Desk, root: Path, clock: Clock
) -> None:
    desk.follow(root / "docs")
    desk.begin()
    clock.forward(RECHECK_SECONDS)
    assert desk.step() == []
    assert [one.closed for one in desk.notifiers] == [True, False]
    assert desk.step() == []
    assert len(desk.notifiers) == 2


def test_what_was_not_told_yet_when_all_is_watched_anew_is_not_lost(
    desk: Desk, root: Path, clock: Clock
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    clock.forward(RECHECK_SECONDS)
    desk.notifiers[0].told = {str(root / "docs/a.md"): False}
    assert desk.step() == [item]


def test_where_there_are_too_many_folders_the_largest_item_goes_unwatched_with_a_warning(
    desk: Desk, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(20):
        (root / f"large/{number}").mkdir(parents=True)
    desk.most_folders = 10
    small, large = desk.follow(root / "docs"), desk.follow(root / "large")
    desk.begin()
    assert str(root / "docs/guide") in desk.watched
    assert not any("large" in folder for folder in desk.watched)
    assert [f"Item {large} is not watched" in record.message for record in caplog.records] == [True]
    assert desk.change(root / "docs/a.md", root / "large/1/x.md") == [small]
    assert desk.soon == [small, large]  # that one, too, may have changed before


def test_the_folders_of_the_old_and_the_new_watch_need_not_both_find_room(
    desk: Desk, root: Path
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    desk.most_folders = len(desk.watched) + 1
    (root / "docs/new").mkdir()
    assert desk.change(root / "docs/new", came_or_went=True) == [item]
    assert str(root / "docs/new") in desk.watched


def test_a_job_that_cannot_be_added_is_added_later(root: Path, clock: Clock) -> None:
    desk = Desk(root, clock)
    full = True

    def add_job(item_id: int) -> object:
        if full:
            raise UnavailableError("The queue is full.")
        return desk.add_job(item_id)

    desk.watch = SourceWatch(
        items=lambda: desk.items,
        footprints=Footprints(PathGuard([root])),
        add_job=add_job,
        look_soon=desk.soon.extend,
        open_notifier=desk._open,
        clock=clock.seconds,
    )
    item = desk.follow(root / "docs")
    desk.begin()
    with pytest.raises(UnavailableError):
        desk.change(root / "docs/a.md")
    full = False
    assert desk.step() == [item]


def test_a_change_is_not_lost_where_its_item_is_not_followed_for_a_moment(
    desk: Desk, root: Path, clock: Clock
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    desk.declined = {item}
    assert desk.change(root / "docs/a.md") == []
    desk.declined = set()
    desk.watch.wake()
    clock.forward(FIRST_SECONDS)
    assert desk.step() == [item]
    clock.forward(FIRST_SECONDS)
    assert desk.step() == []


def test_who_is_not_followed_any_more_is_not_asked_for_again(
    desk: Desk, root: Path, clock: Clock
) -> None:
    item = desk.follow(root / "docs")
    desk.begin()
    desk.declined = {item}
    assert desk.change(root / "docs/a.md") == []
    desk.items.clear()
    desk.watch.wake()
    desk.step()
    desk.declined = set()
    clock.forward(RECHECK_SECONDS)
    assert desk.step() == []
