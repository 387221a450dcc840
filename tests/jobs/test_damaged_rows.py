"""A row of a job that cannot be read costs that job, and neither the worker nor the queue."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest
from sqlalchemy import text

from app.database import Database
from app.jobs import running_queries
from app.jobs.leases import LeaseKeeper
from app.jobs.service import JobService
from app.jobs.worker import JobWorker
from app.protocols import ProgressListener
from tests.databases import sqlite_only

PATIENCE_SECONDS = 20


def succeed(_arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
    return {}


def damage(database: Database, job_id: int, column: str, stored: str | bytes = "{broken") -> None:
    with database.write() as session:
        session.execute(
            text(f"UPDATE jobs SET {column} = :stored WHERE id = :id"),  # noqa: S608, our own names
            {"stored": stored, "id": job_id},
        )


@sqlite_only  # PostgreSQL itself takes nothing but JSON
@pytest.mark.parametrize("stored", ["{broken", "", b"\xff"], ids=["broken", "empty", "bytes"])
@pytest.mark.parametrize(
    ("column", "arguments"),
    [
        ("arguments", {}),
        ("progress", {"knowledge_id": 1}),
        ("result", {"knowledge_id": 1}),
    ],
)
def test_a_job_whose_row_cannot_be_read_fails_and_the_next_one_runs(
    jobs: JobService,
    database: Database,
    caplog: pytest.LogCaptureFixture,
    column: str,
    arguments: dict[str, Any],
    stored: str | bytes,
) -> None:
    damaged = jobs.add("index", {"knowledge_id": 1}).id
    good = jobs.add("index", {"knowledge_id": 2}).id
    damage(database, damaged, column, stored)
    with caplog.at_level(logging.ERROR):
        JobWorker(database, {"index": succeed}, 0).drain()
    job = jobs.get(damaged)
    assert (job.state, job.error) == ("failed", running_queries.UNREADABLE)
    assert (job.arguments, job.progress, job.result) == (arguments, {}, None)
    assert job.finished_at is not None
    assert f"Job {damaged} cannot be read" in caplog.text
    assert jobs.get(good).state == "succeeded"
    assert [each.id for each in jobs.list(None, None, 9)] == [good, damaged]


@sqlite_only
def test_what_is_left_of_a_damaged_job_can_be_retried(jobs: JobService, database: Database) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    damage(database, job_id, "progress")
    worker = JobWorker(database, {"index": succeed}, 0)
    worker.drain()
    assert jobs.retry(job_id).state == "queued"
    worker.drain()
    assert jobs.get(job_id).state == "succeeded"


def start(database: Database) -> None:
    worker = JobWorker(database, {}, 0)
    worker.start()
    worker.close()


def beat(database: Database) -> None:
    LeaseKeeper(database, on_reclaimed=lambda: None).beat()


@sqlite_only
@pytest.mark.parametrize("settle", [start, beat])
def test_a_damaged_row_that_a_crash_left_running_stops_neither_the_start_nor_the_heartbeat(
    jobs: JobService, database: Database, settle: Callable[[Database], None]
) -> None:
    damaged, good = (jobs.add("index", {"knowledge_id": number}).id for number in (1, 2))
    with database.write() as session:
        while running_queries.claim_job(session):
            pass
        session.execute(text("UPDATE jobs SET lease_expires_at = '2026-01-01 00:00:00.000000'"))
    damage(database, damaged, "progress")
    settle(database)
    assert (jobs.get(damaged).state, jobs.get(good).state) == ("failed", "queued")


def test_an_unexpected_error_ends_no_thread_of_the_worker(
    jobs: JobService, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    done, failures = threading.Event(), [RuntimeError("of a part that it asks")]

    def fail_once() -> Collection[int]:
        if failures:
            raise failures.pop()
        return ()

    def note(*_: object) -> dict[str, Any]:
        done.set()
        return {}

    worker = JobWorker(database, {"index": note}, 1, fail_once, retry_seconds=0.01)
    with caplog.at_level(logging.ERROR):
        jobs.add("index", {})
        worker.start()
        assert done.wait(PATIENCE_SECONDS)
        worker.close()
    assert "The worker goes on after an unexpected error" in caplog.text
    assert "of a part that it asks" in caplog.text
