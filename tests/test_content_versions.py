"""Searches see whole versions, and neither they nor the publisher wait for ever."""

import threading
import time

import pytest

from app import content_versions
from app.content_versions import ContentVersions

PATIENCE_SECONDS = 10.0


class Publishing:
    """Shows new versions as fast as it can, until it is stopped."""

    def __init__(self, versions: ContentVersions, block_seconds: float = 0.0) -> None:
        self._versions = versions
        self._block_seconds = block_seconds
        self._stopped = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            with self._versions.changing():
                if self._block_seconds:
                    threading.Event().wait(self._block_seconds)

    def stop(self) -> None:
        self._stopped.set()
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive()


def test_no_version_comes_while_searches_keep_it_waiting_and_both_sides_get_on() -> None:
    versions = ContentVersions()
    publishing = Publishing(versions)
    seen: list[tuple[int, int]] = []

    def search() -> None:
        for _ in range(20):
            with versions.kept():
                before = versions.number
                threading.Event().wait(0.002)
                seen.append((before, versions.number))

    searches = [threading.Thread(target=search) for _ in range(4)]
    for thread in searches:
        thread.start()
    for thread in searches:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
    publishing.stop()
    assert len(seen) == 80
    assert all(before == after for before, after in seen)
    assert len({before for before, _ in seen}) > 1, "versions came between the searches"


def test_searches_begin_between_versions_that_follow_each_other_without_a_pause() -> None:
    versions = ContentVersions()
    publishing = Publishing(versions, block_seconds=0.005)
    waits: list[float] = []

    def search() -> None:
        for _ in range(10):
            started = time.monotonic()
            with versions.kept():
                waits.append(time.monotonic() - started)
                threading.Event().wait(0.002)

    searches = [threading.Thread(target=search) for _ in range(3)]
    for thread in searches:
        thread.start()
    for thread in searches:
        thread.join(PATIENCE_SECONDS)
    publishing.stop()
    for thread in searches:
        thread.join(PATIENCE_SECONDS)
    assert len(waits) == 30
    assert max(waits) < content_versions.LONGEST_WAIT_SECONDS / 2
    assert versions.number > 2, "versions came between the searches"


def test_who_gave_up_waiting_for_a_version_does_not_hold_up_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(content_versions, "LONGEST_WAIT_SECONDS", 0.2)
    versions = ContentVersions()
    with versions.changing(), versions.kept():
        pass
    monkeypatch.setattr(content_versions, "LONGEST_WAIT_SECONDS", PATIENCE_SECONDS)
    started = time.monotonic()
    with versions.changing():
        assert time.monotonic() - started < PATIENCE_SECONDS / 2


def test_a_search_that_takes_too_long_holds_nobody_up_for_ever_and_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(content_versions, "LONGEST_WAIT_SECONDS", 0.05)
    versions = ContentVersions()
    with versions.kept():
        before = versions.number
        started = time.monotonic()
        with versions.changing():
            assert time.monotonic() - started >= 0.05
        assert versions.number != before


def test_a_change_that_fails_keeps_nobody_out() -> None:
    versions = ContentVersions()
    with pytest.raises(OSError, match="full"), versions.changing():
        raise OSError("The disk is full.")
    with versions.kept():
        assert versions.number == 1
