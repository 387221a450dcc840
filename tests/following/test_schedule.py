"""Items that have fallen due get a job, each in its time."""

import queue
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import event, select, text

from app.clock import now
from app.errors import UnavailableError
from app.following.schedule import (
    BUSY_SECONDS,
    LOCAL_SPREAD_SECONDS,
    LONGEST_SLEEP_SECONDS,
    MOST_OPEN_JOBS,
    WEB_SPREAD_SECONDS,
    RefreshSchedule,
)
from app.indexing.item_queries import finish_item
from app.jobs.claim_queries import MOST_ATTEMPTS, claim_job, requeue_running
from app.jobs.records import Outcome
from app.jobs.running_queries import finish_job, retry_later
from app.knowledge.host_queries import note_host_pause
from app.knowledge.refreshing import (
    LOCAL_SECONDS,
    LONGEST_RETRY_SECONDS,
    MOST_SECONDS,
    WEB_SECONDS,
)
from app.models import ItemRow
from tests.databases import sqlite_only
from tests.following.conftest import AddFollowed, Clock
from tests.light_service import LightService
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def schedule(service: LightService, clock: Clock) -> Iterator[RefreshSchedule]:
    def add_job(item_id: int) -> object:
        return service.jobs.add("index", {"knowledge_id": item_id, "force": False})

    schedule = RefreshSchedule(service.database, add_job, moment=clock, chance=lambda: 0.5)
    yield schedule
    schedule.close()


def jobs_of(service: LightService) -> list[int]:
    """The items of all jobs, oldest first."""
    return [job.arguments["knowledge_id"] for job in reversed(service.jobs.list(None, None, 1000))]


def end_all_jobs(service: LightService) -> None:
    with service.database.write() as session:
        while job := claim_job(session):
            finish_job(session, job, Outcome("succeeded", {}), None)


def seconds_until_due(service: LightService, clock: Clock) -> list[float]:
    with service.database.read() as session:
        followed = ItemRow.refresh_interval.is_distinct_from(0)
        times = session.scalars(
            select(ItemRow.next_refresh_at).where(followed).order_by(ItemRow.id)
        ).all()
    return [(time - clock.moment).total_seconds() for time in times if time]


def test_a_due_item_gets_an_ordinary_job_and_the_others_none(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed
) -> None:
    due = add_followed(due_in=-1)
    add_followed(due_in=90)
    assert schedule.dispatch() == BUSY_SECONDS
    (job,) = service.jobs.list(None, None, 10)
    assert (job.kind, job.arguments) == ("index", {"knowledge_id": due, "force": False})
    assert schedule.dispatch() == 90
    assert len(service.jobs.list(None, None, 10)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "pending"},
        {"status": "archived"},
        {"refresh_interval": 0},
        {"due_in": None},
    ],
    ids=["pending", "archived", "never", "no time"],
)
def test_what_is_not_followed_gets_no_job(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, fields
) -> None:
    add_followed(**fields)
    assert schedule.dispatch() == LONGEST_SLEEP_SECONDS
    assert jobs_of(service) == []


def test_an_item_in_error_is_tried_again(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed
) -> None:
    item = add_followed(status="error")
    schedule.dispatch()
    assert jobs_of(service) == [item]


def test_a_job_that_never_tells_how_it_ended_is_followed_by_another_after_the_interval(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    item = add_followed()
    schedule.dispatch()
    end_all_jobs(service)  # cancelled, say: nothing was written to the item
    assert schedule.dispatch() == LOCAL_SECONDS
    clock.forward(LOCAL_SECONDS)
    schedule.dispatch()
    assert jobs_of(service) == [item, item]


def test_an_item_whose_job_waits_or_runs_gets_no_second_one(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    item = add_followed()
    service.jobs.add("index", {"knowledge_id": item, "force": True})
    schedule.dispatch()
    assert jobs_of(service) == [item]
    with service.database.write() as session:
        assert claim_job(session) is not None
    clock.forward(LOCAL_SECONDS)
    schedule.dispatch()
    assert jobs_of(service) == [item]
    assert seconds_until_due(service, clock) == [LOCAL_SECONDS]


def test_an_interval_that_is_changed_as_its_job_is_added_counts_from_then_on(
    service: LightService, add_followed: AddFollowed, clock: Clock
) -> None:
    """The schedule has read the old one, and writes the time that follows from it afterwards."""
    item = add_followed(refresh_interval=86_400)

    def add_job(item_id: int) -> object:
        return service.knowledge.update(item_id, {"refresh_interval": 60})

    RefreshSchedule(service.database, add_job, moment=clock).dispatch()
    with service.database.read() as session:
        set_by_the_change = session.get_one(ItemRow, item).next_refresh_at
    assert set_by_the_change is not None
    assert abs((set_by_the_change - now()).total_seconds() - 60) < 30


def test_a_run_that_ends_before_its_job_is_noted_says_when_the_next_one_is(
    service: LightService, add_followed: AddFollowed, clock: Clock
) -> None:
    item = add_followed("https://a.example/")
    asked_for = now() + timedelta(days=5)

    def add_job(item_id: int) -> object:
        with service.database.write() as session:
            session.get_one(ItemRow, item_id).next_refresh_at = asked_for
        return item_id

    RefreshSchedule(service.database, add_job, moment=clock).dispatch()
    with service.database.read() as session:
        assert session.get_one(ItemRow, item).next_refresh_at == asked_for


def test_of_each_host_one_page_at_a_time_is_fetched(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    first, second, other = (
        add_followed(uri)
        for uri in ("https://a.example/1", "https://A.example/2", "https://b.example/")
    )
    schedule.dispatch()
    assert jobs_of(service) == [first, other]
    clock.forward(BUSY_SECONDS)
    schedule.dispatch()
    assert jobs_of(service) == [first, other]
    end_all_jobs(service)
    schedule.dispatch()
    assert jobs_of(service) == [first, other, second]


def test_a_host_that_asked_to_be_left_alone_is_left_alone_whatever_falls_due_meanwhile(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    until = clock.moment + timedelta(seconds=3600)
    with service.database.write() as session:
        note_host_pause(session, "a.example:443", clock.moment, until)
        note_host_pause(session, "a.example:443", clock.moment, clock.moment + timedelta(seconds=9))
    paused = add_followed("https://a.example/1", refresh_interval=3)
    other_port = add_followed("https://a.example:8443/")
    schedule.dispatch()
    assert jobs_of(service) == [other_port]
    clock.forward(3599)
    schedule.dispatch()
    assert jobs_of(service) == [other_port]
    clock.forward(1)
    schedule.dispatch()
    assert jobs_of(service) == [other_port, paused]


def test_the_queue_is_never_flooded_and_the_longest_due_come_first(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed
) -> None:
    items = [add_followed(f"/srv/{n}", due_in=-n) for n in range(MOST_OPEN_JOBS + 8)]
    schedule.dispatch()
    assert jobs_of(service) == items[:7:-1]
    with service.database.write() as session:
        assert claim_job(session) is not None, "what runs counts, too"
    assert schedule.dispatch() == BUSY_SECONDS
    assert len(jobs_of(service)) == MOST_OPEN_JOBS
    end_all_jobs(service)
    schedule.dispatch()
    assert jobs_of(service)[MOST_OPEN_JOBS:] == items[7::-1]


def test_jobs_that_are_tried_again_later_keep_no_other_item_waiting(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    for number in range(MOST_OPEN_JOBS):
        add_followed(f"/srv/{number}")
    schedule.dispatch()
    timed_out = Outcome("failed", error="It did not arrive.", is_transient=True)
    with service.database.write() as session:
        while job := claim_job(session):
            retry_later(session, job, timed_out, timedelta(hours=1))
    clock.moment = now()  # that of the jobs
    healthy = add_followed("/srv/healthy")
    schedule.dispatch()
    assert jobs_of(service)[MOST_OPEN_JOBS:] == [healthy]


def test_a_job_that_cannot_be_added_leaves_its_item_due(
    service: LightService, add_followed: AddFollowed, clock: Clock
) -> None:
    add_followed()

    def full(item_id: int) -> object:
        raise UnavailableError("The queue is full.")

    schedule = RefreshSchedule(service.database, full, moment=clock)
    with pytest.raises(UnavailableError):
        schedule.dispatch()
    assert seconds_until_due(service, clock) == [0]


def test_after_a_week_off_nothing_starts_at_once_and_everything_starts_soon(
    service: LightService, add_followed: AddFollowed, clock: Clock
) -> None:
    for n in range(20):
        add_followed(f"/srv/{n}")
        add_followed(f"https://{n}.example/")
    add_followed("/srv/often", refresh_interval=2)
    clock.forward(7 * 86_400)
    chances = iter(n / 41 for n in range(41))
    schedule = RefreshSchedule(
        service.database, service.jobs.get, moment=clock, chance=lambda: next(chances)
    )
    schedule.spread_overdue()
    waits = seconds_until_due(service, clock)
    assert len(set(waits)) == 41
    assert sum(wait < 1 for wait in waits) < 4
    assert max(waits[:40:2]) <= LOCAL_SPREAD_SECONDS
    assert LOCAL_SPREAD_SECONDS < max(waits[1:40:2]) <= WEB_SPREAD_SECONDS
    assert waits[40] <= 2


def test_whatever_is_overdue_gets_its_time_in_one_statement(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    """Nobody else can write meanwhile."""
    for number in range(20):
        add_followed(f"/srv/{number}")
    clock.forward(86_400)
    updates: list[str] = []

    @event.listens_for(service.database._engine, "before_cursor_execute")
    def note(_1: object, _2: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE"):
            updates.append(statement)

    schedule.spread_overdue()
    assert len(updates) == 1
    assert seconds_until_due(service, clock) == [LOCAL_SPREAD_SECONDS / 2] * 20


def test_what_is_not_overdue_keeps_its_time_over_a_restart(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    add_followed("https://example.com/", due_in=WEB_SECONDS)
    schedule.spread_overdue()
    assert seconds_until_due(service, clock) == [WEB_SECONDS]
    assert schedule.dispatch() == LONGEST_SLEEP_SECONDS


DAYS = 86_400


@pytest.mark.parametrize("is_restarted", [True, False], ids=["at the start", "while it runs"])
def test_after_the_clock_was_put_back_what_lies_too_far_ahead_is_looked_at_soon(
    service: LightService,
    schedule: RefreshSchedule,
    add_followed: AddFollowed,
    clock: Clock,
    is_restarted: bool,
) -> None:
    add_followed("/srv/docs", due_in=LOCAL_SECONDS)
    add_followed("/srv/weekly", due_in=7 * DAYS, refresh_interval=7 * DAYS)
    add_followed("https://a.example/", due_in=WEB_SECONDS)
    schedule.dispatch()
    clock.forward(-10 * DAYS)
    if is_restarted:
        schedule.spread_overdue()
    else:
        schedule.dispatch()
    waits = seconds_until_due(service, clock)
    assert waits == [LOCAL_SPREAD_SECONDS / 2] * 2 + [WEB_SPREAD_SECONDS / 2]


def test_what_may_have_been_asked_for_keeps_its_time(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    times = [LONGEST_RETRY_SECONDS, 7 * DAYS, 366 * DAYS]
    add_followed("/srv/docs", due_in=times[0])  # it failed for long
    add_followed("https://a.example/", due_in=times[1])  # its host asked for a week
    add_followed("https://b.example/", due_in=times[2], refresh_interval=MOST_SECONDS)
    with service.database.write() as session:
        until = clock.moment + timedelta(seconds=times[1])
        note_host_pause(session, "c.example:443", clock.moment, until)
    schedule.spread_overdue()
    clock.forward(-1)  # put right by a moment
    add_followed("https://c.example/")
    schedule.dispatch()
    assert seconds_until_due(service, clock) == [time + 1 for time in [*times, times[1]]]
    assert jobs_of(service) == []


def test_after_the_clock_was_put_back_a_pause_of_a_host_does_not_last_longer_than_any(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    def pause(seconds: float) -> None:
        with service.database.write() as session:
            until = clock.moment + timedelta(seconds=seconds)
            note_host_pause(session, "a.example:443", clock.moment, until)

    pause(7 * DAYS)
    clock.forward(-10 * DAYS)
    item = add_followed("https://a.example/", refresh_interval=5)
    schedule.dispatch()
    assert jobs_of(service) == [item]
    end_all_jobs(service)
    pause(30)
    clock.forward(30)
    schedule.dispatch()
    assert jobs_of(service) == [item, item]


def test_what_is_watched_again_is_looked_at_within_a_minute_each_at_its_time(
    service: LightService, add_followed: AddFollowed, clock: Clock
) -> None:
    watched = [add_followed(f"/srv/{n}", due_in=LOCAL_SECONDS) for n in range(10)]
    watched.append(add_followed("/srv/daily", due_in=WEB_SECONDS, refresh_interval=WEB_SECONDS))
    add_followed("/srv/unwatched", due_in=LOCAL_SECONDS)
    add_followed("https://example.com/", due_in=WEB_SECONDS)
    never = add_followed("/srv/never", due_in=LOCAL_SECONDS, refresh_interval=0)
    chances = iter(n / 11 for n in range(11))
    schedule = RefreshSchedule(
        service.database, service.jobs.get, moment=clock, chance=lambda: next(chances)
    )
    schedule.look_soon([*watched, never])
    waits = seconds_until_due(service, clock)
    assert waits[11:] == [LOCAL_SECONDS, WEB_SECONDS]
    assert len(set(waits[:11])) == 11
    assert max(waits[:11]) < LOCAL_SPREAD_SECONDS


def test_starting_again_and_again_has_nothing_looked_at_more_often(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    item = add_followed(due_in=LOCAL_SECONDS)
    for _ in range(3):
        schedule.look_soon([item])
        clock.forward(LOCAL_SPREAD_SECONDS / 8)
    assert seconds_until_due(service, clock) == [LOCAL_SPREAD_SECONDS / 8]


def give_up(service: LightService, item_id: int) -> None:
    """A job of the item ends the service at each of its starts."""
    service.jobs.add("index", {"knowledge_id": item_id, "force": False})
    with service.database.write() as session:
        for _ in range(MOST_ATTEMPTS):
            assert claim_job(session) is not None
            requeue_running(session)


def test_an_item_that_the_service_does_not_outlive_is_not_looked_at_for_a_start(
    service: LightService, schedule: RefreshSchedule, add_followed: AddFollowed, clock: Clock
) -> None:
    item, other = add_followed(due_in=LOCAL_SECONDS), add_followed(due_in=LOCAL_SECONDS)
    give_up(service, item)
    schedule.look_soon([item, other])
    assert seconds_until_due(service, clock) == [LOCAL_SPREAD_SECONDS / 2]


@pytest.mark.parametrize("uri", ["/srv/docs", "https://example.com/"])
def test_what_was_given_up_is_not_started_by_the_schedule_until_a_run_of_it_has_ended(
    service: LightService,
    schedule: RefreshSchedule,
    add_followed: AddFollowed,
    clock: Clock,
    uri: str,
) -> None:
    item = add_followed(uri)
    give_up(service, item)
    for _ in range(3):
        schedule.spread_overdue()
        clock.forward(MOST_SECONDS)
        assert schedule.dispatch() == LONGEST_SLEEP_SECONDS
    assert jobs_of(service) == [item], "no other than the one that was given up"
    with service.database.write() as session:
        finish_item(session, item, (uri, "folder"))  # somebody has mended and indexed it
        due = session.get_one(ItemRow, item).next_refresh_at
    assert due is not None
    clock.moment = due
    schedule.dispatch()
    assert jobs_of(service) == [item, item]


def test_an_unexpected_error_ends_neither_the_start_nor_the_thread(
    service: LightService,
    add_followed: AddFollowed,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("app.following.schedule.FAILURE_SECONDS", 0.01)
    monkeypatch.setattr("app.following.schedule.LEAST_SLEEP_SECONDS", 0.01)
    added: queue.SimpleQueue[int] = queue.SimpleQueue()
    failures = [ValueError("of a row that is damaged"), ValueError("of another one")]

    def chance() -> float:
        if failures:
            raise failures.pop()
        return 0.0

    schedule = RefreshSchedule(service.database, added.put, chance=chance)
    item = add_followed()
    schedule.start()
    # The second failure comes when the item is postponed: it stays due, and its job is promised.
    assert [added.get(timeout=PATIENCE_SECONDS) for _ in range(2)] == [item, item]
    schedule.close()
    assert "of a row that is damaged" in caplog.text
    assert "of another one" in caplog.text


def test_the_thread_adds_what_falls_due_and_ends_when_it_is_told(
    service: LightService, add_followed: AddFollowed
) -> None:
    added: queue.SimpleQueue[int] = queue.SimpleQueue()
    schedule = RefreshSchedule(service.database, added.put, chance=lambda: 0.0)
    item = add_followed()
    schedule.start()
    assert added.get(timeout=30) == item
    schedule.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "refresh-schedule"]


@sqlite_only
def test_an_item_whose_next_look_is_damaged_gets_a_time_again_at_the_start(
    service: LightService, add_followed: AddFollowed
) -> None:
    """It sorts after every time, so it would never come."""
    item = add_followed()
    with service.database.write() as session:
        session.execute(text("UPDATE knowledge_items SET next_refresh_at = 'zzz'"))
    added: list[int] = []
    schedule = RefreshSchedule(service.database, added.append, chance=lambda: 0.0)
    schedule.spread_overdue()
    schedule.dispatch()
    assert added == [item]
