"""The states that jobs go through, whatever happens to them."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from app.clock import now
from app.database import Database
from app.errors import (
    AppError,
    ConflictError,
    ItemStoppedError,
    NotFoundError,
    SourceNotFoundError,
    StoppingError,
    StorageError,
    UnavailableError,
    WorkStoppedError,
)
from app.jobs import claim_queries, queries, record_queries, running_queries
from app.jobs.listening import ServiceStopping
from app.jobs.records import FailedWithAnswer, Job, JobHandler, Outcome
from app.jobs.service import JobService
from app.jobs.worker import JobWorker
from app.knowledge.items import ItemDraft
from app.knowledge.queries import update_item
from app.models import ItemRow, JobRow
from app.protocols import Progress, ProgressListener, SourceNote
from app.rag.answers import indexing_answer
from tests.light_service import LightService
from tests.panics import panic
from tests.patience import PATIENCE_SECONDS

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
        return claim_queries.claim_job(session)


def crash_and_start_again(database: Database, progress: Progress | None = None) -> Job | None:
    """Take a job, come so far with it, die; gives what the next process finds queued."""
    with database.write() as session:
        job = claim_queries.claim_job(session)
        assert job is not None
        if progress is not None:
            running_queries.note_progress(session, job.id, job.attempt_token, asdict(progress))
    with database.write() as session:
        claim_queries.requeue_running(session)
        return record_queries.job_of(session, job.id)


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
        ran.append(arguments["knowledge_id"])
        return {}

    for number in range(5):
        jobs.add("index", {"knowledge_id": number})
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


def test_a_job_of_a_kind_that_nobody_knows_fails_and_the_next_one_runs(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    strange, good = jobs.add("dance", {}).id, jobs.add("index", {}).id
    open_worker(lambda *_: {}).drain()
    assert [jobs.get(each).state for each in (strange, good)] == ["failed", "succeeded"]


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


def test_a_panic_in_rust_fails_the_job_and_ends_no_thread(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    def break_once(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        return panic() if arguments["bad"] else {}

    bad, good = (jobs.add("index", {"bad": bad}).id for bad in (True, False))
    open_worker(break_once).drain()
    assert [jobs.get(each).state for each in (bad, good)] == ["failed", "succeeded"]


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


def test_a_job_whose_item_goes_while_it_runs_does_not_say_that_it_was_cancelled(
    jobs: JobService, open_worker: OpenWorker, database: Database
) -> None:
    def be_taken_out(_: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        with database.write() as session:
            queries.cancel_jobs_of_item(session, 1, "The item is gone.")
        listener(Progress(documents_found=9, documents_done=4))
        raise AssertionError("it went on")

    job_id = jobs.add("index", {"knowledge_id": 1}).id
    open_worker(be_taken_out).drain()
    job = jobs.get(job_id)
    assert (job.state, job.error) == ("cancelled", ItemStoppedError().detail)
    with pytest.raises(WorkStoppedError, match="deleted or removed from the index"):
        indexing_answer(job)


def test_with_a_job_goes_what_is_queued_to_do_the_very_same(
    jobs: JobService, database: Database
) -> None:
    arguments = {"knowledge_id": 1, "force": False}
    running = jobs.add("index", arguments).id
    claimed = claim(database)
    twin = jobs.add("index", arguments).id
    with database.write() as session:
        assert running_queries.hand_back(session, claimed)  # both are queued now
    claim(database)
    others = [
        jobs.add("index", {**arguments, "force": True}).id,
        jobs.add("index", {**arguments, "knowledge_id": 2}).id,
        jobs.add("index_all", {"status": None, "force": False}).id,
    ]
    assert jobs.cancel(running).state == "running", "it stops at its next step"
    assert (jobs.get(twin).state, jobs.get(twin).error) == (
        "cancelled",
        f"It was cancelled with job {running}, which did the same.",
    )
    assert {jobs.get(other).state for other in others} == {"queued"}


def test_cancelling_what_has_ended_leaves_what_was_queued_since(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    ended = jobs.add("index", {"knowledge_id": 1}).id
    open_worker(succeed).drain()
    queued = jobs.add("index", {"knowledge_id": 1}).id
    jobs.cancel(ended)
    assert jobs.get(queued).state == "queued"


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
    cancelled = jobs.cancel(jobs.add("index", {"knowledge_id": 1}).id).id
    failed = jobs.add("index", {"knowledge_id": 2}).id
    open_worker(fail).drain()
    for job_id in (failed, cancelled):
        job = jobs.retry(job_id)
        assert (job.state, job.error, job.progress, job.finished_at) == ("queued", None, {}, None)
    open_worker(succeed).drain()
    assert [jobs.get(job_id).state for job_id in (failed, cancelled)] == ["succeeded"] * 2
    assert jobs.get(failed).attempts == 1  # of those since it was retried


def test_a_job_that_was_cancelled_while_it_ran_is_not_cancelled_again_when_retried(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    asked: list[Job] = []

    def cancelled_the_first_time(
        _arguments: Mapping[str, Any], listener: ProgressListener
    ) -> dict[str, Any]:
        if not asked:
            asked.append(jobs.cancel(job_id))
        listener(Progress())
        return {}

    job_id = jobs.add("index", {"force": False}).id
    worker = open_worker(cancelled_the_first_time)
    worker.drain()
    jobs.retry(job_id)
    worker.drain()
    assert jobs.get(job_id).state == "succeeded"


def test_only_a_failed_or_cancelled_job_can_be_retried(
    jobs: JobService, database: Database, open_worker: OpenWorker
) -> None:
    job_id = jobs.add("index", {"force": False}).id
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


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_is_heeded_though_what_it_met_fails_on_its_way_out(
    jobs: JobService, open_worker: OpenWorker, interruption: type[BaseException]
) -> None:
    """It may come in the middle of anything, such as while a lock is let go."""

    def meet_it(_arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        lock = threading.Lock()
        try:
            raise interruption
        finally:
            lock.release()  # raises RuntimeError: it is not held

    with pytest.raises(interruption):
        open_worker(meet_it).run_here("index", {"knowledge_id": 5}, lambda _: None)
    (job,) = jobs.list(None, None, 10)
    assert (job.state, job.error) == ("cancelled", "It was interrupted.")


def test_jobs_that_were_interrupted_start_over_and_come_first(
    jobs: JobService, database: Database, open_worker: OpenWorker
) -> None:
    ran: list[int] = []
    done = threading.Event()

    def note(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        ran.append(arguments["knowledge_id"])
        if len(ran) == 3:
            done.set()
        return {}

    for number in range(3):
        jobs.add("index", {"knowledge_id": number})
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

    first, second = (jobs.add("index", {"knowledge_id": number}).id for number in (1, 2))
    worker = open_worker(work_for_ever)
    worker.start()
    assert started.wait(PATIENCE_SECONDS)
    worker.stop()
    go_on.set()
    worker.close()
    assert ended.is_set()
    handed_back = jobs.get(first)
    assert (handed_back.state, jobs.get(second).state) == ("queued", "queued")
    assert handed_back.attempts == 0  # a stop in order is nobody's failure
    assert handed_back.progress == {}  # nor is what it gained the next attempt's
    open_worker(succeed).drain()
    assert [jobs.get(job_id).state for job_id in (first, second)] == ["succeeded"] * 2


@pytest.mark.parametrize(
    "failure",
    [
        StoppingError(),
        FailedWithAnswer("Its parts are closed.", {"success": False}, is_transient=True),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_what_fails_for_now_while_the_service_stops_is_no_failure_and_goes_on_after_the_restart(
    jobs: JobService, open_worker: OpenWorker, failure: Exception
) -> None:
    def stop_and_fail(_arguments: object, _listener: ProgressListener) -> dict[str, Any]:
        worker.stop()
        raise failure

    job_id = jobs.add("index", {}, waited_for=True).id
    worker = open_worker(stop_and_fail)
    worker.drain()
    left = jobs.get(job_id)
    assert (left.state, left.error, left.attempts, left.retries) == ("queued", None, 0, 0)
    open_worker(succeed).drain()
    assert jobs.get(job_id).state == "succeeded"


def test_a_stop_waits_for_no_database_that_takes_no_outcome(
    jobs: JobService, open_worker: OpenWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is queued again, so that the next server does the work once more."""
    finish_job, refusals = running_queries.finish_job, [StorageError("The disk is full.")] * 3

    def refuse_so_often(*arguments: Any) -> str | None:
        if refusals:
            raise refusals.pop()
        return finish_job(*arguments)

    def stop_and_succeed(*_: object) -> dict[str, Any]:
        worker.stop()
        return {}

    monkeypatch.setattr(running_queries, "finish_job", refuse_so_often)
    job_id = jobs.add("index", {}).id
    worker = open_worker(stop_and_succeed)
    worker.drain()
    left = jobs.get(job_id)
    assert (left.state, left.attempts) == ("queued", 0)


def test_work_run_here_that_a_stop_ends_is_queued_and_its_start_does_not_count(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    def stop_on_the_way(_arguments: object, listener: ProgressListener) -> dict[str, Any]:
        worker.stop()
        listener(Progress())
        return {}

    worker = open_worker(stop_on_the_way)
    with pytest.raises(StoppingError):
        worker.run_here("index", {"knowledge_id": 5}, lambda _: None)
    (job,) = jobs.list(None, None, 10)
    assert (job.state, job.attempts) == ("queued", 0)


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


def test_a_job_that_falls_due_between_two_looks_is_not_slept_through(
    jobs: JobService, database: Database, open_worker: OpenWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.jobs.worker.LONGEST_SLEEP_SECONDS", 0.05)
    done = threading.Event()

    def note(*_: object) -> dict[str, Any]:
        done.set()
        return {}

    job_id = jobs.add("index", {}).id
    with database.write() as session:
        session.get_one(JobRow, job_id).not_before = now() + timedelta(hours=1)
    really_ask = claim_queries.seconds_until_due

    def fall_due_and_ask(session: Session) -> float | None:
        with database.write() as another:
            another.get_one(JobRow, job_id).not_before = now()
        monkeypatch.setattr(claim_queries, "seconds_until_due", really_ask)
        return really_ask(session)

    monkeypatch.setattr(claim_queries, "seconds_until_due", fall_due_and_ask)
    open_worker(note).start()
    assert done.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_only_a_job_that_is_tried_again_is_called_so(
    jobs: JobService,
    open_worker: OpenWorker,
    caplog: pytest.LogCaptureFixture,
    *,
    is_cancelled: bool,
) -> None:
    def fail_for_now(*_: object) -> dict[str, Any]:
        if is_cancelled:
            jobs.cancel(job_id)
        raise UnavailableError("The model does not answer.")

    job_id = jobs.add("index", {}).id
    with caplog.at_level(logging.INFO):
        open_worker(fail_for_now).drain()
    assert jobs.get(job_id).state == ("cancelled" if is_cancelled else "queued")
    assert ("is tried again" in caplog.text) is not is_cancelled


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
            ran[arguments["knowledge_id"]] += 1
        if arguments["knowledge_id"] < 4:
            all_began.wait(PATIENCE_SECONDS)  # all four threads work at the same time
        return {}

    for number in range(60):
        jobs.add("index", {"knowledge_id": number})
    workers = [open_worker(note) for _ in range(4)]
    threads = [threading.Thread(target=worker.drain) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert ran == Counter(dict.fromkeys(range(60), 1))
    assert {job.state for job in jobs.list(None, None, 200)} == {"succeeded"}
    assert {job.attempts for job in jobs.list(None, None, 200)} == {1}


@pytest.fixture
def one_note_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, the time to write progress down again does not come."""
    monkeypatch.setattr("app.jobs.listening.PROGRESS_SECONDS", 86_400.0)


@pytest.mark.usefixtures("one_note_a_day")
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


# Jobs of one item ------------------------------------------------------------------------------


def test_two_jobs_of_one_item_never_run_at_once_and_other_items_go_on(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    running: Counter[int] = Counter()
    at_once: list[int] = []
    lock, go_on, other_done = threading.Lock(), threading.Event(), threading.Event()

    def note(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        item_id = arguments["knowledge_id"]
        with lock:
            running[item_id] += 1
            at_once.append(running[item_id])
        if item_id == 2:
            other_done.set()
        else:
            go_on.wait(PATIENCE_SECONDS)
        with lock:
            running[item_id] -= 1
        return {}

    first = jobs.add("index", {"knowledge_id": 1, "force": False}).id
    second = jobs.add("index", {"knowledge_id": 1, "force": True}).id
    other = jobs.add("index", {"knowledge_id": 2, "force": False}).id
    worker = open_worker(note, threads=2)
    worker.start()
    assert other_done.wait(PATIENCE_SECONDS)  # though a job of item 1 stands before it
    assert jobs.get(second).state == "queued"
    assert jobs.cancel(second).state == "cancelled"
    third = jobs.add("index", {"knowledge_id": 1, "force": True}).id
    go_on.set()
    worker.close()
    open_worker(note).drain()
    states = {job_id: jobs.get(job_id).state for job_id in (first, second, other, third)}
    assert states == {
        first: "succeeded",
        second: "cancelled",
        other: "succeeded",
        third: "succeeded",
    }
    assert set(at_once) == {1}


def test_a_job_that_waited_for_one_of_its_item_begins_when_that_has_ended(
    database: Database,
) -> None:
    """Whoever ran that one may not take it: here, the thread for what clients wait for."""
    began = {name: threading.Event() for name in ("other", "first", "second")}
    go_on = {name: threading.Event() for name in began}
    looked = threading.Event()

    def note(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        name = arguments["name"]
        began[name].set()
        assert go_on[name].wait(PATIENCE_SECONDS)
        return {}

    def look() -> frozenset[int]:
        if go_on["other"].is_set() and threading.current_thread().name == "job-worker-0":
            looked.set()
        return frozenset()

    worker = JobWorker(database, {"index": note}, 1, look, express_threads=1)
    jobs = JobService(database, on_queued=worker.wake)
    worker.start()
    go_on["second"].set()
    jobs.add("index", {"knowledge_id": 2, "name": "other"})
    assert began["other"].wait(PATIENCE_SECONDS)
    jobs.add("index", {"knowledge_id": 1, "name": "first"}, waited_for=True)
    assert began["first"].wait(PATIENCE_SECONDS)
    jobs.add("index", {"knowledge_id": 1, "name": "second"})
    go_on["other"].set()
    assert looked.wait(PATIENCE_SECONDS)
    with database.write():
        pass  # it has looked, and found nothing that it may take
    go_on["first"].set()
    assert began["second"].wait(PATIENCE_SECONDS)
    worker.close()


def test_two_jobs_about_all_items_never_run_at_once(jobs: JobService, database: Database) -> None:
    first, second = (jobs.add("index_all", {"force": force}).id for force in (False, True))
    of_an_item = jobs.add("index", {"knowledge_id": 1}).id
    taken = [claim(database), claim(database), claim(database)]
    assert [job.id if job else None for job in taken] == [first, of_an_item, None]
    assert jobs.get(second).state == "queued"


def test_a_job_whose_item_is_in_use_waits_in_the_queue_until_it_is_free(
    jobs: JobService, database: Database
) -> None:
    in_use, ran, done = {1}, [], threading.Event()

    def note(arguments: Mapping[str, Any], _listener: ProgressListener) -> dict[str, Any]:
        ran.append(arguments["knowledge_id"])
        done.set()
        return {}

    jobs.add("index", {"knowledge_id": 1})
    jobs.add("index", {"knowledge_id": 2})
    worker = JobWorker(database, {"index": note}, 1, items_in_use=lambda: frozenset(in_use))
    worker.start()
    assert done.wait(PATIENCE_SECONDS)
    assert ran == [2]
    done.clear()
    in_use.clear()
    worker.wake()
    assert done.wait(PATIENCE_SECONDS)
    worker.close()
    assert ran == [2, 1]


def test_a_job_that_may_not_begin_stays_queued_until_it_may(
    jobs: JobService, database: Database
) -> None:
    may_begin, asked, done = threading.Event(), threading.Event(), threading.Event()

    def ask() -> bool:
        asked.set()
        return may_begin.is_set()

    def note(*_: Any) -> dict[str, Any]:
        done.set()
        return {}

    worker = JobWorker(database, {"index": note}, 1, may_begin=ask)
    job = jobs.add("index", {"knowledge_id": 1})
    worker.start()
    assert asked.wait(PATIENCE_SECONDS)
    worker.drain()  # by the same rule: it gives up at once
    assert jobs.get(job.id).state == "queued"
    assert jobs.get(job.id).started_at is None
    may_begin.set()
    worker.wake()
    assert done.wait(PATIENCE_SECONDS)
    worker.close()
    assert jobs.get(job.id).state == "succeeded"


def test_what_is_queued_already_is_not_queued_twice(jobs: JobService, database: Database) -> None:
    first = jobs.add("index", {"knowledge_id": 1, "force": False})
    assert jobs.add("index", {"force": False, "knowledge_id": 1}) == first
    others = [
        jobs.add("index", {"knowledge_id": 1, "force": True}),
        jobs.add("index", {"knowledge_id": 2, "force": False}),
        jobs.add("index_all", {"status": None, "force": False}),
    ]
    assert len({first.id, *(job.id for job in others)}) == 4
    assert jobs.add("index_all", {"status": None, "force": False}).id == others[2].id
    claim(database)
    assert jobs.add("index", {"knowledge_id": 1, "force": False}).id > others[2].id


def test_a_job_is_not_retried_beside_one_that_will_do_the_same(jobs: JobService) -> None:
    cancelled = jobs.cancel(jobs.add("index", {"knowledge_id": 1}).id).id
    queued = jobs.add("index", {"knowledge_id": 1}).id
    with pytest.raises(ConflictError, match=f"Job {queued} is queued already"):
        jobs.retry(cancelled)
    jobs.cancel(queued)
    assert jobs.retry(cancelled).state == "queued"


def test_the_jobs_of_an_item_are_cancelled_with_the_reason(
    jobs: JobService, database: Database
) -> None:
    running = jobs.add("index", {"knowledge_id": 1, "force": False}).id
    claim(database)
    queued = jobs.add("index", {"knowledge_id": 1, "force": True}).id
    other = jobs.add("index", {"knowledge_id": 2}).id
    with database.write() as session:
        queries.cancel_jobs_of_item(session, 1, "The item is gone.")
        assert running_queries.note_progress(
            session, running, 1, {}
        )  # it will stop at its next step
    assert (jobs.get(queued).state, jobs.get(queued).error) == ("cancelled", "The item is gone.")
    assert jobs.get(other).state == "queued"


def test_what_ended_jobs_told_of_an_item_goes_with_it(jobs: JobService, database: Database) -> None:
    def quote(arguments: Mapping[str, Any], _: ProgressListener) -> dict[str, Any]:
        if arguments["force"]:
            raise FailedWithAnswer("secret", {"error": "secret"}, is_transient=False)
        return {"skipped": ["secret"]}

    told = [jobs.add("index", {"knowledge_id": 1, "force": force}).id for force in (False, True)]
    other = jobs.add("index", {"knowledge_id": 2, "force": False}).id
    JobWorker(database, {"index": quote}, 1).drain()
    with database.write() as session:
        queries.cancel_jobs_of_item(session, 1, "The item is gone.")
    left = [jobs.get(job_id) for job_id in told]
    assert [(job.state, job.error) for job in left] == [
        ("succeeded", None),
        ("failed", "The item is gone."),
    ]
    assert "secret" not in str(left)
    with pytest.raises(ItemStoppedError):
        indexing_answer(left[0])
    assert "secret" in str(jobs.get(other))


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        (None, "succeeded"),
        (ItemStoppedError("The item is gone."), "cancelled"),
        (FailedWithAnswer("secret", {"error": "secret"}, is_transient=False), "failed"),
        (FailedWithAnswer("secret", {"error": "secret"}, is_transient=True), "cancelled"),
        (ServiceStopping(), "cancelled"),
    ],
    ids=["succeeds", "stops", "fails", "fails for now", "is handed back"],
)
def test_a_job_that_ends_when_its_item_goes_tells_nothing_of_it(
    jobs: JobService, database: Database, ending: Exception | None, state: str
) -> None:
    progress = Progress(documents_done=1, skipped=(SourceNote("secret.md", "It is empty."),))

    def tell(_: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        listener(progress)
        with database.write() as session:
            queries.cancel_jobs_of_item(session, 1, "The item is gone.")
        if ending is not None:
            raise ending
        return {"skipped": ["secret"]}

    job_id = jobs.add("index", {"knowledge_id": 1, "force": False}).id
    JobWorker(database, {"index": tell}, 1).drain()
    job = jobs.get(job_id)
    assert job.state == state
    assert "secret" not in str(job)


def test_an_answer_that_is_damaged_is_not_called_taken_out(jobs: JobService) -> None:
    job = jobs.get(jobs.add("index", {"knowledge_id": 1, "force": False}).id)
    damaged = replace(job, state="succeeded", error="The database holds result damaged.")
    with pytest.raises(AppError, match="damaged") as raised:
        indexing_answer(damaged)
    assert not isinstance(raised.value, ItemStoppedError)


@pytest.mark.parametrize("ends", ["with its process", "handed back", "to be retried"])
def test_a_job_whose_item_goes_before_it_is_queued_again_tells_nothing_of_it(
    jobs: JobService, database: Database, ends: str
) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1, "force": False}).id
    job = claim(database)
    assert job is not None
    noted = {"skipped": [{"uri": "secret.md", "reason": "It is empty."}]}
    with database.write() as session:
        queries.cancel_jobs_of_item(session, 1, "The item is gone.")
        running_queries.note_progress(session, job.id, job.attempt_token, noted)
    with database.write() as session:
        if ends == "with its process":
            claim_queries.requeue_running(session)
        elif ends == "handed back":
            running_queries.hand_back(session, job)
        else:
            failure = Outcome("failed", error="secret.md: timed out", is_transient=True)
            running_queries.retry_later(session, job, failure, timedelta(seconds=1))
    assert jobs.get(job_id).state == "cancelled"
    assert "secret" not in str(jobs.get(job_id))


def test_a_job_that_is_cancelled_alone_tells_what_it_came_to(
    jobs: JobService, database: Database
) -> None:
    def be_cancelled(_: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        listener(Progress(documents_done=1))
        jobs.cancel(job_id)
        raise FailedWithAnswer("It is empty.", {"error": "It is empty."}, is_transient=False)

    job_id = jobs.add("index", {"knowledge_id": 1, "force": False}).id
    JobWorker(database, {"index": be_cancelled}, 1).drain()
    job = jobs.get(job_id)
    assert (job.error, job.result) == ("It is empty.", {"error": "It is empty."})
    assert job.progress["documents_done"] == 1


# Jobs that end the process ---------------------------------------------------------------------


def test_a_job_that_the_process_never_outlives_is_given_up_and_can_be_retried(
    jobs: JobService, database: Database
) -> None:
    poison = jobs.add("index", {"knowledge_id": 1}).id
    states = []
    for _ in range(claim_queries.MOST_ATTEMPTS):
        left = crash_and_start_again(database, Progress(documents_found=9))
        assert left is not None
        states.append(left.state)
    assert states == ["queued"] * (claim_queries.MOST_ATTEMPTS - 1) + ["failed"]
    job = jobs.get(poison)
    assert job.finished_at is not None
    assert f"ended {claim_queries.MOST_ATTEMPTS} times while this job ran" in str(job.error)
    assert jobs.retry(poison).attempts == 0
    left = crash_and_start_again(database)
    assert left is not None
    assert left.state == "queued"


@pytest.mark.parametrize(("status", "after"), [("pending", "error"), ("active", "active")])
def test_the_item_of_a_job_that_is_given_up_shows_why_and_has_no_next_look(
    service: LightService, database: Database, status: str, after: str
) -> None:
    one, other = (service.knowledge.create(ItemDraft(t, f"/{t}", "folder")).id for t in "ab")
    with database.write() as session:
        for item_id in (one, other):
            update_item(session, item_id, {"status": status, "next_refresh_at": now()})
    poison = service.jobs.add("index", {"knowledge_id": one}).id
    for _ in range(claim_queries.MOST_ATTEMPTS):
        assert service.knowledge.get(one).error is None
        crash_and_start_again(database)
    with database.read() as session:
        given_up, untouched = session.get_one(ItemRow, one), session.get_one(ItemRow, other)
        assert (given_up.status, given_up.next_refresh_at) == (after, None)
        assert given_up.error == service.jobs.get(poison).error
        assert (untouched.status, untouched.error) == (status, None)
        assert untouched.next_refresh_at is not None


@pytest.mark.parametrize(
    "gain",
    [Progress(chunks_embedded=1), Progress(documents_done=5)],
    ids=["embeds", "gets further"],
)
def test_a_job_that_gains_something_each_time_is_never_given_up(
    jobs: JobService, database: Database, gain: Progress
) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    for number in range(3 * claim_queries.MOST_ATTEMPTS):
        done = gain.documents_done * (number + 1)
        left = crash_and_start_again(database, replace(gain, documents_done=done))
        assert left is not None
        assert left.state == "queued", number
        if number % 2:
            crash_and_start_again(database)
    assert jobs.get(job_id).state == "queued"


def test_reaching_the_same_document_again_is_no_gain(jobs: JobService, database: Database) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    for _ in range(claim_queries.MOST_ATTEMPTS + 1):
        crash_and_start_again(database, Progress(documents_done=7))
    assert jobs.get(job_id).state == "failed"


def test_what_was_gained_once_is_no_gain_of_the_attempts_after_that(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    crash_and_start_again(database, Progress(chunks_embedded=1))
    for _ in range(claim_queries.MOST_ATTEMPTS):
        assert jobs.get(job_id).state == "queued"
        crash_and_start_again(database)
    assert jobs.get(job_id).state == "failed"


def test_a_job_that_is_retried_may_gain_again_what_it_had_gained(
    jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {"knowledge_id": 1}).id
    for _ in range(claim_queries.MOST_ATTEMPTS + 1):
        crash_and_start_again(database, Progress(documents_done=90))
    assert jobs.retry(job_id).state == "queued"
    for number in range(2 * claim_queries.MOST_ATTEMPTS):
        left = crash_and_start_again(database, Progress(documents_done=number + 1))
        assert left is not None
        assert left.state == "queued", number


@pytest.mark.usefixtures("one_note_a_day")
def test_the_first_chunk_that_is_embedded_is_written_down_at_once(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    seen: list[int] = []

    def work(_arguments: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        for embedded in (0, 1, 2):
            listener(Progress(chunks_embedded=embedded))
            seen.append(jobs.get(job_id).progress["chunks_embedded"])
        return {}

    job_id = jobs.add("index", {}).id
    open_worker(work).drain()
    assert seen == [0, 1, 1]


def test_a_job_that_is_being_cancelled_while_the_service_stops_stays_cancelled(
    jobs: JobService, open_worker: OpenWorker
) -> None:
    def stop_and_cancel(_arguments: object, listener: ProgressListener) -> dict[str, Any]:
        worker.stop()
        jobs.cancel(job_id)
        listener(Progress())
        raise AssertionError("it went on")

    job_id = jobs.add("index", {}).id
    worker = open_worker(stop_and_cancel)
    worker.drain()
    assert jobs.get(job_id).state == "cancelled"
    assert jobs.get(job_id).finished_at is not None


def test_only_the_newest_ended_jobs_are_kept(jobs: JobService, database: Database) -> None:
    first, waiting = (jobs.add("index", {"knowledge_id": number}).id for number in (1, 2))
    with database.write() as session:
        session.add_all(
            JobRow(kind="index", arguments={}, progress={}, state="failed", finished_at=now())
            for _ in range(queries.KEPT_ENDED_JOBS)
        )
    jobs.cancel(first)  # the oldest, but the last that ended
    jobs.add("index", {"knowledge_id": 3})
    with database.read() as session:
        states = Counter(session.scalars(select(JobRow.state)))
    assert states == {"failed": queries.KEPT_ENDED_JOBS - 1, "cancelled": 1, "queued": 2}
    assert jobs.get(waiting).state == "queued"
    assert jobs.get(first).state == "cancelled"


def test_adding_a_job_looks_through_no_ended_ones_while_there_is_room_for_them(
    jobs: JobService, database: Database
) -> None:
    """Each may have answered a megabyte, behind which SQLite keeps when it ended."""
    statements: list[str] = []

    @event.listens_for(database._engine, "before_cursor_execute")
    def note(_1: object, _2: object, statement: str, *_: object) -> None:
        statements.append(statement)

    jobs.add("index", {"knowledge_id": 1})
    assert any("INSERT INTO jobs" in statement for statement in statements)
    assert not any("ORDER BY jobs.finished_at" in statement for statement in statements)


def test_only_the_newest_are_kept_where_every_job_is_run_at_once(database: Database) -> None:
    with database.write() as session:
        session.add_all(
            JobRow(kind="index", arguments={}, progress={}, state="failed", finished_at=now())
            for _ in range(queries.KEPT_ENDED_JOBS + 5)
        )
    with database.write() as session:
        claim_queries.add_running_job(session, "index", {"knowledge_id": 1})
    with database.read() as session:
        states = Counter(session.scalars(select(JobRow.state)))
    assert states == {"failed": queries.KEPT_ENDED_JOBS, "running": 1}


def test_a_job_that_has_just_ended_is_kept_though_the_clock_was_put_back(
    jobs: JobService, database: Database
) -> None:
    first = jobs.add("index", {"knowledge_id": 1}).id
    with database.write() as session:
        session.add_all(
            JobRow(
                kind="index",
                arguments={},
                progress={},
                state="failed",
                finished_at=now() + timedelta(days=1),
            )
            for _ in range(queries.KEPT_ENDED_JOBS)
        )
    jobs.cancel(first)
    jobs.add("index", {"knowledge_id": 2})
    assert jobs.get(first).state == "cancelled"
    assert len(jobs.list("failed", None, 2000)) == queries.KEPT_ENDED_JOBS - 1
