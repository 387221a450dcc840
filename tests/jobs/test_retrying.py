"""What passes by itself is tried again, later each time; what does not fails at once."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from app import errors
from app.clock import now
from app.database import Database
from app.errors import AppError
from app.jobs import claim_queries
from app.jobs.records import BACKGROUND, FailedWithAnswer, Job, Outcome
from app.jobs.retrying import LONGEST_DELAY_SECONDS, MOST_RETRIES, retry_delay
from app.jobs.service import JobService
from app.jobs.worker import JobWorker
from app.models import JobRow
from app.protocols import Progress, ProgressListener
from tests.jobs.test_worker import crash_and_start_again

PASSES = Outcome("failed", error="The page did not answer.", is_transient=True)
JOB = Job(
    id=1,
    kind="index",
    arguments={},
    state="running",
    cancel_requested=False,
    priority=0,
    attempts=1,
    retryable=True,
    retries=0,
    not_before=None,
    attempt_token=1,
    progress={},
    result=None,
    error=None,
    problem=None,
    created_at=now(),
    started_at=None,
    finished_at=None,
)


def failing(error: Exception) -> Callable[..., dict[str, Any]]:
    def fail(_arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        raise error

    return fail


def run(database: Database, error: Exception | None = None) -> None:
    """Run what can be run now, with a handler that fails so."""
    handler = failing(error) if error else lambda *_: {"done": True}
    worker = JobWorker(database, {"index": handler}, 1)
    worker.drain()
    worker.close()


def let_time_pass(database: Database) -> None:
    """Until what is to be tried again is due."""
    with database.write() as session:
        due = now() - timedelta(seconds=1)
        session.execute(update(JobRow).where(JobRow.not_before.is_not(None)).values(not_before=due))


@pytest.mark.parametrize(
    ("kind", "is_transient"),
    [
        (errors.SourceUnavailableError, True),
        (errors.EmbeddingError, True),
        (errors.VectorIndexError, True),
        (errors.LexicalIndexError, True),
        (errors.StorageError, True),
        (errors.OverloadedError, True),
        (errors.EmbeddingRefusedError, False),
        (errors.SourceNotFoundError, False),
        (errors.SourceRefusedError, False),
        (errors.SourceUnreadableError, False),
        (errors.NotFoundError, False),
        (errors.ConflictError, False),
        (errors.AppError, False),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_a_job_is_tried_again_if_its_error_may_pass_by_itself(
    jobs: JobService, database: Database, kind: type[AppError], is_transient: bool
) -> None:
    job_id = jobs.add("index", {}).id
    run(database, kind("It went wrong."))
    job = jobs.get(job_id)
    assert (job.state, job.retries) == (("queued", 1) if is_transient else ("failed", 0))
    assert (job.error, job.problem) == ("It went wrong.", kind.slug)
    assert (job.not_before is not None) == is_transient


def test_a_job_is_not_tried_again_before_its_source_asked_for_it(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    run(
        database,
        FailedWithAnswer("Busy.", {}, is_transient=True, retry_after_seconds=5000.0),
    )
    not_before = jobs.get(job_id).not_before
    assert not_before is not None
    assert not_before - now() > timedelta(seconds=4900)
    short = replace(PASSES, retry_after_seconds=0.5)
    assert retry_delay(JOB, short, lambda: 0.5) == retry_delay(JOB, PASSES, lambda: 0.5)


def test_a_job_is_not_tried_again_before_its_time_and_then_it_is(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    before = now()
    run(database, errors.StorageError("The disk is full."))
    waiting = jobs.get(job_id)
    assert waiting.not_before is not None
    assert waiting.not_before > before
    run(database)
    assert jobs.get(job_id) == waiting
    let_time_pass(database)
    run(database)
    job = jobs.get(job_id)
    assert (job.state, job.error, job.not_before, job.retries) == ("succeeded", None, None, 1)


def test_after_the_clock_was_put_back_a_job_is_tried_again_at_once(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    run(database, errors.StorageError("The disk is full."))
    ahead = timedelta(days=1)
    job = jobs.get(job_id)
    assert job.started_at is not None
    assert job.not_before is not None
    with database.write() as session:
        times = {"started_at": job.started_at + ahead, "not_before": job.not_before + ahead}
        session.execute(update(JobRow).values(times))
    run(database)
    assert jobs.get(job_id).state == "succeeded"


def test_the_worker_knows_when_the_next_job_is_due(jobs: JobService, database: Database) -> None:
    with database.read() as session:
        assert claim_queries.seconds_until_due(session) is None
    jobs.add("index", {"knowledge_id": 1})
    run(database, errors.StorageError("The disk is full."))
    jobs.add("index", {"knowledge_id": 2})
    with database.read() as session:
        seconds = claim_queries.seconds_until_due(session)
    assert seconds is not None
    assert 0 < seconds <= 12.5


def test_a_job_that_never_gets_better_fails_in_the_end_with_its_last_error(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {"force": False}).id
    for number in range(MOST_RETRIES + 1):
        assert jobs.get(job_id).state == "queued"
        run(database, errors.StorageError(f"The disk is full, time {number}."))
        let_time_pass(database)
    job = jobs.get(job_id)
    assert (job.state, job.retries) == ("failed", MOST_RETRIES)
    assert job.error == f"The disk is full, time {MOST_RETRIES}."
    assert jobs.retry(job_id).retries == 0


def test_a_job_that_failed_by_itself_is_begun_anew_though_the_service_had_ended_before(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    for _ in range(claim_queries.MOST_ATTEMPTS):
        crash_and_start_again(database, Progress(documents_done=90))
    run(database, errors.SourceUnavailableError("No answer."))
    assert (jobs.get(job_id).attempts, jobs.get(job_id).retries) == (0, 1)
    let_time_pass(database)
    for number in range(claim_queries.MOST_ATTEMPTS + 1):
        left = crash_and_start_again(database, Progress(documents_done=number + 1))
        assert left is not None
        assert left.state == "queued", number


def test_what_a_client_waits_for_fails_the_first_time(jobs: JobService, database: Database) -> None:
    job_id = jobs.add("index", {}, waited_for=True).id
    run(database, errors.StorageError("The disk is full."))
    assert jobs.get(job_id).state == "failed"


@pytest.mark.parametrize("waited_first", [True, False], ids=["waited first", "promised first"])
def test_what_was_also_promised_in_the_background_is_tried_again(
    jobs: JobService, database: Database, waited_first: bool
) -> None:
    job_id = jobs.add("index", {}, waited_for=waited_first).id
    assert jobs.add("index", {}, waited_for=not waited_first).id == job_id
    run(database, errors.StorageError("The disk is full."))
    assert (jobs.get(job_id).state, jobs.get(job_id).retries) == ("queued", 1)


@pytest.mark.parametrize("by_hand", [True, False], ids=["by hand", "by itself"])
def test_what_is_tried_again_goes_behind_what_a_client_waits_for(
    jobs: JobService, database: Database, by_hand: bool
) -> None:
    job_id = jobs.add("index", {"force": False}, waited_for=True).id
    if not by_hand:
        jobs.add("index", {"force": False})
    run(database, errors.StorageError("The disk is full."))
    job = jobs.retry(job_id) if by_hand else jobs.get(job_id)
    assert (job.state, job.priority) == ("queued", BACKGROUND)


def test_asking_again_does_not_wait_for_the_next_try(jobs: JobService, database: Database) -> None:
    job_id = jobs.add("index", {}).id
    run(database, errors.StorageError("The disk is full."))
    assert jobs.add("index", {}, waited_for=True).id == job_id
    run(database)
    assert jobs.get(job_id).state == "succeeded"


def test_a_job_that_waits_for_its_next_try_is_cancelled_at_once(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    run(database, errors.StorageError("The disk is full."))
    job = jobs.cancel(job_id)
    assert (job.state, job.not_before) == ("cancelled", None)


def test_a_job_that_was_cancelled_while_it_failed_is_not_tried_again(
    jobs: JobService, database: Database
) -> None:
    def be_cancelled(*_: object) -> dict[str, Any]:
        jobs.cancel(job_id)
        raise errors.StorageError("The disk is full.")

    job_id = jobs.add("index", {}).id
    worker = JobWorker(database, {"index": be_cancelled}, 1)
    worker.drain()
    worker.close()
    assert jobs.get(job_id).state == "cancelled"


def test_what_a_failure_answers_is_kept_with_the_job(jobs: JobService, database: Database) -> None:
    lasting, passing = (jobs.add("index", {"knowledge_id": number}).id for number in (1, 2))
    run(database, FailedWithAnswer("Gone\udcff", {"success": False}, is_transient=False))
    assert jobs.get(lasting).state == "failed"
    assert jobs.get(lasting).error == "Gone\\udcff"
    assert jobs.get(lasting).result == {"success": False}
    assert jobs.get(passing).state == "failed"


@given(retries=st.integers(0, MOST_RETRIES - 1), chance=st.floats(0, 1))
def test_delays_grow_and_are_bounded(retries: int, chance: float) -> None:
    delay = retry_delay(replace(JOB, retries=retries), PASSES, lambda: chance)
    assert delay is not None
    assert timedelta(seconds=7) < delay <= timedelta(seconds=1.25 * LONGEST_DELAY_SECONDS)
    shortest_next = retry_delay(replace(JOB, retries=retries + 1), PASSES, lambda: 0.0)
    if retries + 1 < MOST_RETRIES - 1:
        assert shortest_next is not None
        assert shortest_next > delay


@pytest.mark.parametrize(
    ("job", "outcome"),
    [
        (JOB, Outcome("succeeded", {})),
        (JOB, Outcome("failed", error="File not found")),
        (JOB, Outcome("cancelled", error="The job was cancelled.", is_transient=True)),
        (replace(JOB, retryable=False), PASSES),
        (replace(JOB, retries=MOST_RETRIES), PASSES),
    ],
    ids=["success", "lasting", "cancelled", "waited for", "too often"],
)
def test_there_is_no_next_try_of(job: Job, outcome: Outcome) -> None:
    assert retry_delay(job, outcome) is None
