"""A row of a job that cannot be read costs that job, and neither worker, queue nor list."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.database import Database
from app.errors import StorageError
from app.jobs import claim_queries
from app.jobs.leases import LeaseKeeper
from app.jobs.record_queries import LOST
from app.jobs.records import Job
from app.jobs.service import JobService
from app.jobs.worker import JobWorker
from app.models import JobRow
from app.protocols import ProgressListener
from tests.databases import sqlite_only
from tests.patience import PATIENCE_SECONDS
from tests.web.problem_checks import assert_problem


def succeed(_arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
    return {}


NO_JSON = ["{broken", "", b"\xff"]
NO_TEXT = b"{\xff}"
"""SQLite itself refuses to give it out as text."""


def damage(database: Database, job_id: int, column: str, stored: str | bytes = "{broken") -> None:
    value = "CAST(:stored AS TEXT)" if stored == NO_TEXT else ":stored"
    with database.write() as session:
        session.execute(
            text(f"UPDATE jobs SET {column} = {value} WHERE id = :id"),  # noqa: S608, our own names
            {"stored": stored, "id": job_id},
        )


@sqlite_only  # PostgreSQL itself takes nothing but JSON
@pytest.mark.parametrize("stored", [*NO_JSON, NO_TEXT], ids=["broken", "empty", "bytes", "no text"])
@pytest.mark.parametrize(
    ("column", "arguments"),
    [
        ("arguments", {}),
        ("progress", {"knowledge_id": 1}),
        ("result", {"knowledge_id": 1}),
        ("created_at", {"knowledge_id": 1}),
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
    assert (job.state, job.error) == ("failed", claim_queries.UNREADABLE)
    assert (job.arguments, job.progress, job.result) == (arguments, {}, None)
    assert job.finished_at is not None
    assert f"Job {damaged} cannot be read" in caplog.text
    assert jobs.get(good).state == "succeeded"
    assert [each.id for each in jobs.list(None, None, 9)] == [good, damaged]


@sqlite_only
@pytest.mark.parametrize("stored", [*NO_JSON, NO_TEXT], ids=["broken", "empty", "bytes", "no text"])
@pytest.mark.parametrize("column", ["arguments", "progress", "result", "created_at"])
def test_what_is_left_of_a_damaged_job_is_answered_before_a_worker_has_seen_it(
    client: TestClient, jobs: JobService, database: Database, column: str, stored: str | bytes
) -> None:
    damaged = jobs.add("index", {"knowledge_id": 1}).id
    good = jobs.add("index", {"knowledge_id": 2}).id
    damage(database, damaged, column, stored)
    listed = client.get("/api/v1/jobs", params={"state": "queued"}).json()["items"]
    assert [job["id"] for job in listed] == [good, damaged]
    assert listed[0]["error"] is None
    job = client.get(f"/api/v1/jobs/{damaged}").json()
    assert job == listed[1]
    assert job["error"] == f"The database holds {column} of this job damaged."
    assert job["arguments"] == ({} if column == "arguments" else {"knowledge_id": 1})


OF_WRONG_SHAPE = [
    ("kind", NO_TEXT),
    ("kind", b"\xff"),
    *((column, json) for column in ("arguments", "progress") for json in ("[]", "null", "7")),
    ("progress", '{"documents_done": "5"}'),
    ("progress", '{"chunks_embedded": [1]}'),
    ("progress", '{"documents_found": "x"}'),
    ("progress", '{"skipped": 5}'),
    ("progress", '{"skipped": ["a.md"]}'),
    ("progress", '{"skipped": [{"uri": "a.md"}]}'),
    ("result", "[]"),
    ("result", '{"results": 5}'),
    ("result", '{"results": [{"success": true}]}'),
]
"""Columns with what is sound to the database, or to what reads JSON, and yet of no use."""


@sqlite_only
@pytest.mark.parametrize(("column", "stored"), OF_WRONG_SHAPE)
def test_a_value_of_a_wrong_shape_is_as_lost_as_one_that_cannot_be_read(
    client: TestClient, jobs: JobService, database: Database, column: str, stored: str | bytes
) -> None:
    damaged = jobs.add("index", {"knowledge_id": 1}).id
    good = jobs.add("index", {"knowledge_id": 2}).id
    damage(database, damaged, column, stored)
    lost = {"kind": "unreadable", "result": None}.get(column, {})
    waiting = client.get("/api/v1/jobs").json()["items"][1]
    assert waiting["error"] == f"The database holds {column} of this job damaged."
    JobWorker(database, {"index": succeed}, 0).drain()
    failed = client.get(f"/api/v1/jobs/{damaged}").json()
    assert (failed["state"], failed["error"]) == ("failed", claim_queries.UNREADABLE)
    if column != "progress":  # over HTTP, that is never empty
        assert waiting[column] == failed[column] == lost
    assert getattr(jobs.get(damaged), column) == lost
    assert jobs.get(good).state == "succeeded"


def test_something_stands_for_each_lost_value_that_may_not_be_empty() -> None:
    columns = JobRow.__table__.columns
    needed = {field.name for field in fields(Job) if not columns[field.name].nullable}
    assert needed - {"id"} == LOST.keys()


def test_a_job_of_a_kind_that_nobody_knows_is_listed(client: TestClient, jobs: JobService) -> None:
    jobs.add("inde8", {})
    assert [job["kind"] for job in client.get("/api/v1/jobs").json()["items"]] == ["unreadable"]


@sqlite_only
@pytest.mark.parametrize(
    ("column", "stored"), [("arguments", "{broken"), ("progress", "{broken"), *OF_WRONG_SHAPE]
)
def test_a_damaged_job_is_cancelled_like_any_other_and_is_in_no_ones_way(
    client: TestClient, jobs: JobService, database: Database, column: str, stored: str | bytes
) -> None:
    damaged, good = (jobs.add("index", {"knowledge_id": 1, "force": f}).id for f in (True, False))
    damage(database, damaged, column, stored)
    for job_id in (good, damaged):
        assert client.post(f"/api/v1/jobs/{job_id}/cancel").json()["state"] == "cancelled"


@sqlite_only
def test_a_job_that_was_damaged_after_its_end_keeps_its_own_error_and_can_be_retried(
    client: TestClient, jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    jobs.cancel(job_id)
    damage(database, job_id, "result")
    with database.write() as session:
        session.execute(text("UPDATE jobs SET error = 'of its own'"))
    assert client.get(f"/api/v1/jobs/{job_id}").json()["error"] == "of its own"
    assert client.post(f"/api/v1/jobs/{job_id}/retry").json()["error"] is None


@sqlite_only
@pytest.mark.parametrize(("column", "stored"), [("kind", b"\xff"), ("arguments", "{broken")])
def test_a_job_of_which_nothing_tells_what_it_was_to_do_is_not_retried(
    client: TestClient, jobs: JobService, database: Database, column: str, stored: str | bytes
) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    damage(database, job_id, column, stored)
    JobWorker(database, {"index": succeed}, 0).drain()
    failed = client.get(f"/api/v1/jobs/{job_id}").json()
    refused = client.post(f"/api/v1/jobs/{job_id}/retry")
    assert_problem(refused, 409, "conflict")
    assert "nothing tells any more what it was to do" in refused.json()["detail"]
    assert client.get(f"/api/v1/jobs/{job_id}").json() == failed


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
@pytest.mark.parametrize(("column", "stored"), [("progress", "{broken"), *OF_WRONG_SHAPE])
def test_a_damaged_row_that_a_crash_left_running_stops_neither_the_start_nor_the_heartbeat(
    jobs: JobService,
    database: Database,
    settle: Callable[[Database], None],
    column: str,
    stored: str | bytes,
) -> None:
    damaged, good = (jobs.add("index", {"knowledge_id": number}).id for number in (1, 2))
    with database.write() as session:
        while claim_queries.claim_job(session):
            pass
        session.execute(text("UPDATE jobs SET lease_expires_at = '2026-01-01 00:00:00.000000'"))
    damage(database, damaged, column, stored)
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


def test_an_outage_of_the_database_is_told_once_and_so_is_its_end(
    jobs: JobService, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """And the next one again: a line at every look would be ten thousand in an hour."""
    done: dict[int, threading.Event] = {1: threading.Event(), 2: threading.Event()}
    failures = [StorageError("It does not answer.")] * 20

    def fail_so_often() -> Collection[int]:
        if failures:
            raise failures.pop()
        return ()

    def note(arguments: Mapping[str, Any], _: object) -> dict[str, Any]:
        done[arguments["outage"]].set()
        return {}

    worker = JobWorker(database, {"index": note}, 1, fail_so_often, retry_seconds=0.001)
    with caplog.at_level(logging.INFO, "app.jobs.worker"):
        worker.start()
        for outage, event in done.items():
            jobs.add("index", {"outage": outage})
            worker.wake()
            assert event.wait(PATIENCE_SECONDS)
            failures.extend([StorageError("It does not answer.")] * 20)
        worker.close()
    waits = [message for message in caplog.messages if "waits for the database" in message]
    assert 2 <= len(waits) <= 3, "the third may have begun as it was closed"
    assert len([message for message in caplog.messages if "answers again" in message]) >= 1


def test_an_outage_is_not_over_because_another_thread_finds_nothing_to_do(
    jobs: JobService, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that is full refuses whoever takes a job, and nobody who only looks."""
    done = threading.Event()
    looks: list[str] = []

    def fail_the_one_that_would_write() -> Collection[int]:
        own = threading.current_thread().name
        looks.append(own)
        if looks.count("job-worker-1") < 20 and own == "job-worker-0":
            worker.wake()
            raise StorageError("The disk is full.")
        return ()

    worker = JobWorker(
        database,
        {"index": lambda *_: done.set() or {}},
        1,
        fail_the_one_that_would_write,
        express_threads=1,
        retry_seconds=0.01,
    )
    jobs.add("index", {})
    with caplog.at_level(logging.INFO, "app.jobs.worker"):
        worker.start()
        assert done.wait(PATIENCE_SECONDS)
        worker.close()
    told = ["waits for the database: The disk is full", "goes on: the database answers again"]
    counts = [sum(each in message for message in caplog.messages) for each in told]
    assert counts == [1, 1]


@sqlite_only
@pytest.mark.parametrize("stored", ["zzz", b"\xff", "2999-99-99 00:00:00.000000"])
def test_a_job_is_tried_at_once_whose_time_of_the_next_try_is_damaged(
    jobs: JobService, database: Database, caplog: pytest.LogCaptureFixture, stored: str | bytes
) -> None:
    """It sorts after every time, so it would never come."""
    damaged = jobs.add("index", {"knowledge_id": 1}).id
    damage(database, damaged, "not_before", stored)
    done = threading.Event()

    def note(*_: object) -> dict[str, Any]:
        done.set()
        return {}

    worker = JobWorker(database, {"index": note}, 1, retry_seconds=0.01)
    worker.start()
    try:
        assert done.wait(PATIENCE_SECONDS)
    finally:
        worker.close()
    assert "unexpected error" not in caplog.text
