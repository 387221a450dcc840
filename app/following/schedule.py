"""Looks at sources again when their time has come: adds a job for each item that is due."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.adapters.web_hosts import host_of
from app.chance import draw
from app.clock import now
from app.column_types import UNKNOWN_TIME
from app.database import Database
from app.errors import AppError
from app.following import queries
from app.following.records import FollowedItem
from app.jobs.queries import count_due, count_running
from app.knowledge.host_queries import paused_hosts
from app.knowledge.items import is_web_address
from app.knowledge.refreshing import (
    LONGEST_RETRY_SECONDS,
    interval_seconds,
    longest_wait_seconds,
    next_refresh,
)
from app.surviving import survive

logger = logging.getLogger(__name__)

MOST_OPEN_JOBS = 32
"""While this many jobs wait or run, no scheduled one is added."""

BUSY_SECONDS = 5.0
"""Pause before items are tried again that are due but have to wait; also between two pages of
one host."""

FAILURE_SECONDS = 30.0
"""Pause after jobs could not be added."""

LONGEST_SLEEP_SECONDS = 600.0
"""The longest sleep: the clock may be put forward in the meantime."""

LEAST_SLEEP_SECONDS = 1.0

LOCAL_SPREAD_SECONDS = 60.0
WEB_SPREAD_SECONDS = 3600.0
"""What fell due while the service was off is taken up within this time after its start, and so is
what lies on this machine and would be looked at later."""


class RefreshSchedule:
    """One thread that sleeps until the next item falls due. It never indexes anything itself.

    `add_job` adds a job that indexes an item. Tests may replace `moment` and `chance` (0 to 1).
    """

    def __init__(
        self,
        database: Database,
        add_job: Callable[[int], object],
        moment: Callable[[], datetime] = now,
        chance: Callable[[], float] = draw,
    ) -> None:
        self._database = database
        self._add_job = add_job
        self._moment = moment
        self._chance = chance
        self._dispatched_at = moment()
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="refresh-schedule", daemon=True)

    def start(self) -> None:
        """Spread what fell due while the service was off, then begin. Raises StorageError."""
        survive(self.spread_overdue, "What is overdue is not spread", (AppError,))
        self._thread.start()

    def wake(self) -> None:
        """Items have changed: perhaps one is due earlier."""
        self._woken.set()

    def stop(self) -> None:
        """Add no further jobs; waits for nothing."""
        self._stopped.set()
        self._woken.set()

    def close(self) -> None:
        """Stop, and wait for the thread."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.wait(self._seconds_after_dispatch())
            # Only now: everything it was woken for, above all its end, is handled before it waits.
            self._woken.clear()
            # However often it is woken, it does not ask the database more often than this.
            self._stopped.wait(LEAST_SLEEP_SECONDS)

    def _seconds_after_dispatch(self) -> float:
        try:
            seconds = survive(
                self.dispatch, "Sources that are due wait after an unexpected error", (AppError,)
            )
        except AppError as error:
            logger.warning("Sources that are due wait: %s", error.detail)
            return FAILURE_SECONDS
        return FAILURE_SECONDS if seconds is None else seconds

    def spread_overdue(self) -> None:
        """Give everything that is overdue, or due too far ahead, a time of its own, soon.

        A service that was off for a week must not do the work of a week at once.
        """
        moment = self._moment()
        with self._database.write() as session:
            self._spread(session, queries.due_items(session, moment), moment)
        self._bring_forward(moment)

    def _bring_forward(self, moment: datetime) -> None:
        """Spread what is due later than it could be, had the clock not been put back."""
        with self._database.write() as session:
            ahead = queries.items_due_after(
                session, moment + timedelta(seconds=LONGEST_RETRY_SECONDS)
            )
            self._spread(session, [item for item in ahead if _is_too_far(item, moment)], moment)

    def _spread(self, session: Session, items: Sequence[FollowedItem], moment: datetime) -> None:
        times: dict[FollowedItem, datetime | None] = {}
        for item in items:
            spread = WEB_SPREAD_SECONDS if is_web_address(item.uri) else LOCAL_SPREAD_SECONDS
            longest = min(spread, interval_seconds(item.refresh_interval, item.uri) or spread)
            times[item] = moment + timedelta(seconds=longest * self._chance())
        queries.set_next_refreshes(session, times)

    def look_soon(self, item_ids: Collection[int]) -> None:
        """Have items looked at within LOCAL_SPREAD_SECONDS, each at a time of its own.

        What is due by then anyway keeps its time, so that starts in a row bring nothing further
        forward. An item whose job was given up, as the service did not outlive it, has no time and
        gets none: it would end the service at every start.
        """
        moment = self._moment()
        latest = moment + timedelta(seconds=LOCAL_SPREAD_SECONDS)
        wanted = set(item_ids)
        with self._database.write() as session:
            times = {
                item: moment + timedelta(seconds=LOCAL_SPREAD_SECONDS * self._chance())
                for item in queries.items_due_after(session, latest)
                if item.id in wanted
            }
            queries.set_next_refreshes(session, times)
        self.wake()

    def dispatch(self) -> float:
        """Add jobs for what is due; gives the seconds after which to look again.

        Of each host one page at a time, and none while it asked to be left alone; an item that a
        job waits for already is left to that.
        Raises AppError when a job cannot be added; what was not added stays due.
        """
        moment = self._moment()
        if moment < self._dispatched_at:
            self._bring_forward(moment)
        self._dispatched_at = moment
        with self._database.read() as session:
            due = queries.due_items(session, moment)
            if not due:
                return self._seconds_until(queries.next_due_at(session, moment), moment)
            busy = queries.items_with_open_jobs(session)
            hosts = {host_of(uri) for uri in queries.addresses_with_open_jobs(session)}
            paused = paused_hosts(session, moment)
            room = MOST_OPEN_JOBS - count_due(session, moment) - count_running(session)
        due = self._left_after_pauses(due, paused)
        chosen = self._choose(due, busy, hosts, room)
        for item in chosen:
            if self._stopped.is_set():
                break
            self._add_job(item.id)
            # Until the run itself says when: it may be cancelled, or fail without a word.
            self._postpone([item], moment)
        self._postpone([item for item in due if item.id in busy], moment)
        return BUSY_SECONDS

    def _left_after_pauses(
        self, due: Sequence[FollowedItem], paused: Mapping[str, datetime]
    ) -> list[FollowedItem]:
        """Postpone what is due at hosts that asked to be left alone; gives the others."""
        times = {
            item: paused[host]
            for item in due
            if (host := host_of(item.uri)) is not None and host in paused
        }
        if times:
            with self._database.write() as session:
                queries.set_next_refreshes(session, times)
        return [item for item in due if item not in times]

    @staticmethod
    def _choose(
        due: Sequence[FollowedItem],
        busy: set[int],
        hosts: set[str | None],
        room: int,
    ) -> list[FollowedItem]:
        chosen: list[FollowedItem] = []
        for item in due:
            if len(chosen) >= room:
                break
            host = host_of(item.uri)
            if item.id in busy or (host and host in hosts):
                continue
            hosts = hosts | {host}
            chosen.append(item)
        return chosen

    def _postpone(self, items: Sequence[FollowedItem], moment: datetime) -> None:
        times = {
            item: next_refresh(moment, item.refresh_interval, item.uri, chance=self._chance)
            for item in items
        }
        if times:
            with self._database.write() as session:
                queries.set_next_refreshes(session, times)

    @staticmethod
    def _seconds_until(due_at: datetime | None, moment: datetime) -> float:
        if due_at is None:
            return LONGEST_SLEEP_SECONDS
        seconds = (due_at - moment).total_seconds()
        return min(max(seconds, LEAST_SLEEP_SECONDS), LONGEST_SLEEP_SECONDS)


def _is_too_far(item: FollowedItem, moment: datetime) -> bool:
    """Of an item that is due later, as the database compares; a damaged time never comes."""
    if item.next_refresh_at is UNKNOWN_TIME:
        return True
    longest = timedelta(seconds=longest_wait_seconds(item.refresh_interval, item.uri))
    return item.next_refresh_at is not None and item.next_refresh_at - moment > longest
