"""The states that jobs go through, whatever happens to them."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from app.database import Database
from app.errors import ConflictError, NotFoundError, SourceNotFoundError
from app.jobs import queries
from app.jobs.records import Job, JobHandler
from app.jobs.service import JobService
from app.jobs.worker import JobWorker, ServiceStopping
from app.protocols import Progress, ProgressListener

PATIENCE_SECONDS = 20

OpenWorker = Callable[..., JobWorker]


@pytest.fixture
def open_worker(database: Database) -> Iterator[OpenWorker]:
    """Makes workers for one kind of job, `index`, and closes them in the end."""
    with ExitStack() as opened:

        def open_one(handler: JobHandler, threads: int = 1) -> JobWorker:
            worker = JobWorker(database, {"index": handler}, threads)
            opened.callback(worker.close)
            return worker

        yield open_one


def succeed(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
    return {"did": dict(arguments)}


def fail(_arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
    raise SourceNotFoundError("File not found: /x")


def claim(database: Database) -> Job | None:
    """Take a job as a worker would that then dies."""
    with database.write() as session:
        return queries.claim_job(session)


def test_a_promised_job_is_queued_and_somebody_is_told(jobs: JobService, service: Any) -> None:
    job = jobs.add("index", {"knowledge_id": 5, "force": True})
    assert service.told == ["job queued"]
    assert (job.state, job.attempts, job.arguments) == (
        "queued",
        0,
        {"knowledge_id": 5, "force": True},
    )
    assert (job.started_at, job.finished_at, job.result, job.error) == (None, None, None, None)


def test_jobs_run_oldest_first(jobs: JobService, open_worker: OpenWorker) -> None:
    ran: list[int] = []

    def note(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        ran.append(arguments["n"])
        return {}

    for number in range(5):
        jobs.add("index", {"n": number})
    open_worker(note).drain()
    assert ran == [0, 1, 2, 3, 4]
    assert jobs.count_waiting() == 0


@pytest.mark.parametrize("result", [{"chunks": 3, "of": ["a", None, 1.5]}, {}])
def test_the_result_of_a_success_is_kept(
    jobs: JobService, open_worker: OpenWorker, result: dict[str, Any]
) -> None:
    job_id = jobs.add("index", {}).id
    open_worker(lambda *_: result).drain()
    job = jobs.get(job_id)
    assert (job.state, job.result, job.error, job.attempts) == ("succeeded", result, None, 1)
    assert job.started_at is not None
    assert job.finished_at is not None
    assert job.created_at <= job.started_at <= job.finished_at


def test_an_error_of_ours_fails_the_job_with_its_message(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    job_id = jobs.add("index", {}).id
    open_worker(fail).drain()
    job = jobs.get(job_id)
    assert (job.state, job.error, job.result) == ("failed", "File not found: /x", None)


def test_an_unexpected_error_fails_the_job_without_its_text_and_the_next_one_runs(
    jobs: JobService, open_worker: OpenWorker, caplog: pytest.LogCaptureFixture
) -> None:
    def break_once(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        if arguments["bad"]:
            raise ZeroDivisionError("password=hunter2")
        return {}

    bad, good = (jobs.add("index", {"bad": bad}).id for bad in (True, False))
    with caplog.at_level(logging.ERROR):
        open_worker(break_once).drain()
    job = jobs.get(bad)
    assert job.state == "failed"
    assert job.error
    assert "hunter2" not in job.error
    assert "hunter2" in caplog.text
    assert jobs.get(good).state == "succeeded"


def test_a_job_of_a_kind_that_nobody_knows_fails(jobs: JobService, open_worker: OpenWorker) -> None:
    job_id = jobs.add("mystery", {}).id
    open_worker(succeed).drain()
    assert jobs.get(job_id).state == "failed"


def test_an_outcome_that_cannot_be_stored_fails_the_job_and_not_the_worker(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    def half_a_character(*_: object) -> dict[str, Any]:
        raise SourceNotFoundError("File not found: /x/\udcff\x00")

    first = jobs.add("index", {}).id
    open_worker(lambda *_: {"a set": {1}}).drain()
    second = jobs.add("index", {}).id
    open_worker(half_a_character).drain()
    assert jobs.get(first).state == "failed"
    assert jobs.get(second).error == "File not found: /x/\\udcff\\x00"


def test_a_queued_job_is_cancelled_at_once_and_never_runs(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    job = jobs.cancel(jobs.add("index", {}).id)
    assert job.state == "cancelled"
    assert job.finished_at is not None
    open_worker(succeed).drain()
    assert jobs.get(job.id).attempts == 0


def test_a_running_job_is_cancelled_at_its_next_sign_of_progress(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    def be_cancelled(arguments: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        assert jobs.cancel(job_id).state == "running"
        listener(Progress(documents_found=9, documents_done=4))
        raise AssertionError("it went on")

    job_id = jobs.add("index", {}).id
    open_worker(be_cancelled).drain()
    job = jobs.get(job_id)
    assert (job.state, job.error, job.result) == ("cancelled", "The job was cancelled.", None)
    assert job.progress["documents_done"] == 4


@pytest.mark.parametrize("outcome", ["succeeded", "failed"])
def test_cancelling_what_has_ended_changes_nothing(
    jobs: JobService, open_worker: OpenWorker, outcome: str
) -> None:
    job_id = jobs.add("index", {}).id
    open_worker(succeed if outcome == "succeeded" else fail).drain()
    before = jobs.get(job_id)
    assert before.state == outcome
    assert jobs.cancel(job_id) == before


def test_a_failed_or_cancelled_job_runs_again_when_it_is_retried(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    failed, cancelled = jobs.add("index", {}).id, jobs.add("index", {}).id
    jobs.cancel(cancelled)
    open_worker(fail).drain()
    for job_id in (failed, cancelled):
        job = jobs.retry(job_id)
        assert (job.state, job.error, job.progress, job.finished_at) == ("queued", None, {}, None)
    open_worker(succeed).drain()
    assert [jobs.get(job_id).state for job_id in (failed, cancelled)] == ["succeeded"] * 2
    assert jobs.get(failed).attempts == 2


def test_a_job_that_was_cancelled_while_it_ran_is_not_cancelled_again_when_retried(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    def cancelled_the_first_time(
        _arguments: Mapping[str, Any], listener: ProgressListener
    ) -> dict[str, Any]:
        if jobs.get(job_id).attempts == 1:
            jobs.cancel(job_id)
        listener(Progress())
        return {}

    job_id = jobs.add("index", {}).id
    worker = open_worker(cancelled_the_first_time)
    worker.drain()
    jobs.retry(job_id)
    worker.drain()
    assert jobs.get(job_id).state == "succeeded"


def test_only_a_failed_or_cancelled_job_can_be_retried(
    jobs: JobService, database: Database, open_worker: OpenWorker
) -> None:
    job_id = jobs.add("index", {}).id
    with pytest.raises(ConflictError, match="queued"):
        jobs.retry(job_id)
    claim(database)
    with pytest.raises(ConflictError, match="running"):
        jobs.retry(job_id)
    worker = open_worker(succeed)
    worker.start()
    worker.close()
    worker = open_worker(succeed)
    worker.drain()
    with pytest.raises(ConflictError, match="succeeded"):
        jobs.retry(job_id)
    with pytest.raises(NotFoundError):
        jobs.retry(999)


def test_jobs_that_were_interrupted_start_over_and_come_first(
    jobs: JobService, database: Database, open_worker: OpenWorker
) -> None:
    ran: list[int] = []
    done = threading.Event()

    def note(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        ran.append(arguments["n"])
        if len(ran) == 3:
            done.set()
        return {}

    for number in range(3):
        jobs.add("index", {"n": number})
    assert claim(database) is not None
    assert claim(database) is not None
    open_worker(note).start()
    assert done.wait(PATIENCE_SECONDS)
    assert ran == [0, 1, 2]


def test_a_job_that_was_being_cancelled_when_the_process_died_stays_cancelled(
    jobs: JobService, database: Database, open_worker: OpenWorker
) -> None:
    job_id = jobs.add("index", {}).id
    claim(database)
    jobs.cancel(job_id)
    open_worker(succeed).start()
    job = jobs.get(job_id)
    assert job.state == "cancelled"
    assert job.finished_at is not None


def test_a_stop_ends_a_job_at_its_next_sign_of_progress_and_leaves_it_to_be_resumed(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work_for_ever(_arguments: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        try:
            while True:
                listener(Progress(documents_done=1))
                started.set()
                go_on.wait(PATIENCE_SECONDS)
        except ServiceStopping:
            ended.set()
            raise

    first, second = jobs.add("index", {}).id, jobs.add("index", {}).id
    worker = open_worker(work_for_ever)
    worker.start()
    assert started.wait(PATIENCE_SECONDS)
    worker.stop()
    go_on.set()
    worker.close()
    assert ended.is_set()
    assert (jobs.get(first).state, jobs.get(second).state) == ("running", "queued")
    again = open_worker(succeed)
    again.start()
    again.close()
    open_worker(succeed).drain()
    assert [jobs.get(job_id).state for job_id in (first, second)] == ["succeeded"] * 2


def test_work_that_is_finished_while_the_service_stops_is_not_done_again(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    started, go_on = threading.Event(), threading.Event()

    def finish(_arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        started.set()
        go_on.wait(PATIENCE_SECONDS)
        return {"done": True}

    job_id = jobs.add("index", {}).id
    worker = open_worker(finish)
    worker.start()
    assert started.wait(PATIENCE_SECONDS)
    worker.stop()
    go_on.set()
    worker.close()
    assert jobs.get(job_id).result == {"done": True}


def test_a_job_that_comes_in_wakes_a_waiting_worker(
    database: Database, open_worker: OpenWorker
) -> None:
    done = threading.Event()

    def note(*_: object) -> dict[str, Any]:
        done.set()
        return {}

    worker = open_worker(note, threads=2)
    worker.start()
    jobs = JobService(database, on_queued=worker.wake)
    for _ in range(5):
        done.clear()
        jobs.add("index", {})
        assert done.wait(PATIENCE_SECONDS)


def test_many_threads_run_every_job_exactly_once(jobs: JobService, open_worker: OpenWorker) -> None:
    ran: Counter[int] = Counter()
    lock, all_began = threading.Lock(), threading.Barrier(4)

    def note(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        with lock:
            ran[arguments["n"]] += 1
        if arguments["n"] < 4:
            all_began.wait(PATIENCE_SECONDS)  # all four threads work at the same time
        return {}

    for number in range(60):
        jobs.add("index", {"n": number})
    workers = [open_worker(note) for _ in range(4)]
    threads = [threading.Thread(target=worker.drain) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert ran == Counter(dict.fromkeys(range(60), 1))
    assert {job.state for job in jobs.list(None, None, 200)} == {"succeeded"}
    assert {job.attempts for job in jobs.list(None, None, 200)} == {1}


def test_progress_can_be_read_while_a_job_runs_and_its_end_is_exact(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    seen: list[Mapping[str, int]] = []

    def work(_arguments: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        for done in range(1, 2001):
            listener(Progress(documents_found=2000, documents_done=done))
            if done in (1, 2):
                seen.append(jobs.get(job_id).progress)
        return {}

    job_id = jobs.add("index", {}).id
    open_worker(work).drain()
    assert seen[0]["documents_found"] == 2000
    assert [progress["documents_done"] for progress in seen] == [1, 1]
    assert jobs.get(job_id).progress["documents_done"] == 2000
