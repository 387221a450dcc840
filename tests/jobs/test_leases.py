"""A running job belongs to one worker: its lease is kept, or lost for good."""

import logging
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from app.clock import now
from app.database import Database
from app.jobs import claim_queries, running_queries
from app.jobs.leases import LeaseKeeper
from app.jobs.records import Job, Outcome
from app.jobs.service import JobService
from app.jobs.worker import JobWorker
from app.models import JobRow
from app.protocols import Progress, ProgressListener
from tests.patience import PATIENCE_SECONDS


def claim(database: Database) -> Job:
    with database.write() as session:
        job = claim_queries.claim_job(session)
    assert job is not None
    return job


def expire_lease(database: Database, job_id: int) -> None:
    """As if its worker had given no sign of life for long."""
    with database.write() as session:
        past = now() - timedelta(seconds=1)
        session.execute(update(JobRow).where(JobRow.id == job_id).values(lease_expires_at=past))


def take_over(database: Database, job_id: int) -> Job:
    """Another worker finds the lease expired, and runs the job."""
    expire_lease(database, job_id)
    LeaseKeeper(database, on_reclaimed=lambda: None).beat()
    return claim(database)


def row_of(database: Database, job_id: int) -> JobRow:
    with database.read() as session:
        return session.scalars(select(JobRow).where(JobRow.id == job_id)).one()


def test_every_claim_has_a_token_of_its_own_and_a_lease(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    first = claim(database)
    second = take_over(database, job_id)
    assert (first.attempt_token, second.attempt_token) == (1, 2)
    lease_ends = row_of(database, job_id).lease_expires_at
    assert lease_ends is not None
    assert lease_ends > now()


def test_a_job_whose_lease_has_expired_starts_over_and_somebody_is_told(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    claim(database)
    told: list[str] = []
    keeper = LeaseKeeper(database, on_reclaimed=lambda: told.append("woken"))
    keeper.beat()
    assert (jobs.get(job_id).state, told) == ("running", [])
    expire_lease(database, job_id)
    keeper.beat()
    assert (jobs.get(job_id).state, told) == ("queued", ["woken"])


def test_a_job_that_only_waits_keeps_its_lease(jobs: JobService, database: Database) -> None:
    job_id = jobs.add("index", {}).id
    job = claim(database)
    keeper = LeaseKeeper(database, on_reclaimed=lambda: None)
    with keeper.holding(job) as lease:
        for _ in range(3):
            expire_lease(database, job_id)  # the machine slept, and nobody has taken it over
            keeper.beat()
            assert (jobs.get(job_id).state, lease.lost) == ("running", False)
    keeper.close()


def test_who_has_lost_a_lease_knows_after_the_next_heartbeat(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    keeper = LeaseKeeper(database, on_reclaimed=lambda: None)
    with keeper.holding(claim(database)) as lease:
        take_over(database, job_id)
        keeper.beat()
        assert lease.lost
        assert keeper.held() == ()
    keeper.close()


def test_nothing_is_written_with_an_old_token(jobs: JobService, database: Database) -> None:
    job_id = jobs.add("index", {}).id
    old = claim(database)
    take_over(database, job_id)
    before = jobs.get(job_id)
    success = Outcome("succeeded", {"by": "the old worker"})
    failure = Outcome("failed", error="The old worker failed.", is_transient=True)
    with database.write() as session:
        token = old.attempt_token
        assert running_queries.note_progress(session, job_id, token, {"chunks_total": 7}) is None
        assert not running_queries.finish_job(session, old, success, {"chunks_total": 7})
        assert not running_queries.retry_later(session, old, failure, timedelta())
        assert not running_queries.hand_back(session, old)
        assert not running_queries.renew_lease(session, job_id, token)
    assert jobs.get(job_id) == before


@pytest.mark.parametrize("told_by", ["its progress", "a heartbeat", "its end"])
def test_a_worker_that_was_taken_for_dead_stops_with_a_log_line_and_writes_nothing(
    jobs: JobService, database: Database, caplog: pytest.LogCaptureFixture, told_by: str
) -> None:
    taken: list[Job] = []

    def sleep_too_long(_arguments: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        taken.append(take_over(database, job_id))
        if told_by == "a heartbeat":
            worker._leases.beat()
        if told_by != "its end":
            listener(Progress(documents_done=3))
            raise AssertionError("it went on")
        return {"by": "the old worker"}

    job_id = jobs.add("index", {}).id
    worker = JobWorker(database, {"index": sleep_too_long}, 1)
    with caplog.at_level(logging.WARNING):
        worker.drain()
    worker.close()
    assert "was taken over by another worker" in caplog.text
    assert jobs.get(job_id) == taken[0]


def test_a_start_on_a_shared_database_leaves_alone_what_others_run(
    jobs: JobService, database: Database
) -> None:
    alive, dead = (jobs.add("index", {"knowledge_id": number}).id for number in (1, 2))
    claim(database)
    claim(database)
    expire_lease(database, dead)
    with database.write() as session:
        assert claim_queries.requeue_running(session, only_expired=True) == (1, 0)
    assert (jobs.get(alive).state, jobs.get(dead).state) == ("running", "queued")


def test_a_job_of_which_no_worker_lives_long_is_given_up_by_its_leases(
    jobs: JobService, database: Database
) -> None:
    """What waited for it can run then, and somebody is told."""
    job_id = jobs.add("index", {}).id
    told: list[str] = []
    keeper = LeaseKeeper(database, on_reclaimed=lambda: told.append(jobs.get(job_id).state))
    for _ in range(claim_queries.MOST_ATTEMPTS):
        claim(database)
        expire_lease(database, job_id)
        keeper.beat()
    assert jobs.get(job_id).state == "failed"
    assert told == ["queued"] * (claim_queries.MOST_ATTEMPTS - 1) + ["failed"]


def test_a_running_job_that_has_lost_its_lease_time_starts_over(
    jobs: JobService, database: Database
) -> None:
    """A damaged row may hold none; no comparison of times would ever find it expired."""
    job_id = jobs.add("index", {}).id
    claim(database)
    with database.write() as session:
        session.execute(update(JobRow).where(JobRow.id == job_id).values(lease_expires_at=None))
    LeaseKeeper(database, on_reclaimed=lambda: None).beat()
    assert jobs.get(job_id).state == "queued"


def test_a_stop_queues_a_job_again_that_does_not_come_to_a_step_in_time(
    jobs: JobService, database: Database
) -> None:
    started, go_on = threading.Event(), threading.Event()

    def hang(_arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        started.set()
        go_on.wait(PATIENCE_SECONDS)
        return {}

    job_id = jobs.add("index", {}).id
    worker = JobWorker(database, {"index": hang}, 1)
    worker.start()
    assert started.wait(PATIENCE_SECONDS)
    closing = threading.Thread(target=worker.close, args=(0.0,))
    closing.start()
    while jobs.get(job_id).state == "running":
        assert closing.is_alive()
    assert (jobs.get(job_id).state, jobs.get(job_id).attempts) == ("queued", 0)
    go_on.set()
    closing.join(PATIENCE_SECONDS)
    assert jobs.get(job_id).state == "queued"
