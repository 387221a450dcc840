"""Who is next in the queue, what is in it only once, and when it is full."""

import threading
from dataclasses import asdict
from datetime import timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from app.database import Database
from app.errors import OverloadedError
from app.jobs import claim_queries, queries, running_queries
from app.jobs.records import Job, Outcome
from app.jobs.service import JobService
from app.models import JobRow
from app.protocols import Progress

TIMED_OUT = Outcome("failed", error="The page did not arrive.", is_transient=True)


def claim(database: Database, *, express: bool = False) -> Job | None:
    with database.write() as session:
        return claim_queries.claim_job(session, only_waited_for=express)


def claimed_ids(database: Database, *, express: bool = False) -> list[int]:
    """The jobs that workers without end would take, in their order."""
    taken: list[int] = []
    while (job := claim(database, express=express)) is not None:
        taken.append(job.id)
    return taken


def test_what_clients_wait_for_goes_first_and_then_the_oldest(
    jobs: JobService, database: Database
) -> None:
    background = [jobs.add("index", {"knowledge_id": number}).id for number in (1, 2)]
    waited = [jobs.add("index", {"knowledge_id": n}, waited_for=True).id for n in (3, 4)]
    assert claimed_ids(database) == waited + background


def test_a_queued_job_goes_first_as_soon_as_a_client_waits_for_it(
    jobs: JobService, database: Database
) -> None:
    first, second = (jobs.add("index", {"knowledge_id": number}).id for number in (1, 2))
    assert jobs.add("index", {"knowledge_id": 2}, waited_for=True).id == second
    jobs.add("index", {"knowledge_id": 2})  # and stays so
    assert claimed_ids(database) == [second, first]


def test_the_express_thread_takes_nothing_but_single_items_that_are_waited_for(
    jobs: JobService, database: Database
) -> None:
    jobs.add("index", {"knowledge_id": 1})
    jobs.add("index_all", {"status": None}, waited_for=True)
    waited = jobs.add("index", {"knowledge_id": 2}, waited_for=True).id
    assert claimed_ids(database, express=True) == [waited]


def test_an_item_with_many_jobs_does_not_hold_up_others(
    jobs: JobService, database: Database
) -> None:
    of_one = [jobs.add("index", {"knowledge_id": 1, "run": run}).id for run in range(20)]
    others = [jobs.add("index", {"knowledge_id": number}).id for number in (2, 3)]
    assert claimed_ids(database) == [of_one[0], *others]


def test_of_many_who_ask_for_the_same_at_once_all_get_one_job(
    jobs: JobService, database: Database
) -> None:
    ids: list[int] = []
    at_once = threading.Barrier(8)

    def ask() -> None:
        at_once.wait(20)
        ids.append(jobs.add("index", {"knowledge_id": 1, "force": False}).id)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8
    assert len(set(ids)) == 1
    assert jobs.count_waiting() == 1


def test_the_database_itself_refuses_two_queued_jobs_that_do_the_same(
    jobs: JobService, database: Database
) -> None:
    job = jobs.add("index", {"knowledge_id": 1})
    key = queries.arguments_key(job.arguments)
    twin = JobRow(kind="index", arguments={}, progress={}, arguments_key=key)
    with pytest.raises(IntegrityError), database.write() as session:
        session.add(twin)


def test_what_is_asked_while_the_same_runs_is_a_job_of_its_own(
    jobs: JobService, database: Database
) -> None:
    running = jobs.add("index", {"knowledge_id": 1}).id
    claim(database)
    assert jobs.add("index", {"knowledge_id": 1}).id != running


def test_a_job_that_is_queued_again_beside_one_like_it_is_not_lost(
    jobs: JobService, database: Database
) -> None:
    first = jobs.add("index", {"knowledge_id": 1}).id
    claim(database)
    second = jobs.add("index", {"knowledge_id": 1}).id
    with database.write() as session:
        assert claim_queries.requeue_running(session) == (1, 0)
    assert [jobs.get(job_id).state for job_id in (first, second)] == ["queued", "queued"]
    assert jobs.add("index", {"knowledge_id": 1}).id == second
    claim(database)
    assert jobs.get(first).state == "running"
    with database.write() as session:
        running_queries.hand_back(session, jobs.get(first))
    assert jobs.get(first).state == "queued"


def test_a_job_that_was_queued_beside_one_like_it_stands_for_both_when_that_has_ended(
    jobs: JobService, database: Database
) -> None:
    """Otherwise the same work would be queued, and done, once more."""
    first = jobs.add("index", {"knowledge_id": 1}).id
    claim(database)
    second = jobs.add("index", {"knowledge_id": 1}, waited_for=True).id
    with database.write() as session:
        claim_queries.requeue_running(session)
    assert claimed_ids(database) == [second]
    with database.write() as session:
        running_queries.finish_job(session, jobs.get(second), Outcome("succeeded"), None)
    assert claimed_ids(database) == [first]
    with database.write() as session:
        running_queries.hand_back(session, jobs.get(first))
    assert jobs.add("index", {"knowledge_id": 1}).id == first


def test_a_queue_that_is_full_refuses_new_work_and_takes_what_it_has_already(
    database: Database,
) -> None:
    jobs = JobService(database, on_queued=lambda: None, most_queued=2)
    queued = [jobs.add("index", {"knowledge_id": number}).id for number in (1, 2)]
    with pytest.raises(OverloadedError, match="MOST_QUEUED_JOBS"):
        jobs.add("index", {"knowledge_id": 3})
    assert jobs.add("index", {"knowledge_id": 2}, waited_for=True).id == queued[1]
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(JobRow)) == 2
    claim(database)
    assert jobs.add("index", {"knowledge_id": 3}).state == "queued"


def test_a_queue_that_is_full_takes_no_job_again_either(database: Database) -> None:
    jobs = JobService(database, on_queued=lambda: None, most_queued=2)
    cancelled = jobs.cancel(jobs.add("index", {"knowledge_id": 1}).id).id
    for number in (2, 3):
        jobs.add("index", {"knowledge_id": number})
    with pytest.raises(OverloadedError, match="MOST_QUEUED_JOBS"):
        jobs.retry(cancelled)
    assert jobs.get(cancelled).state == "cancelled"
    claim(database)
    assert jobs.retry(cancelled).state == "queued"


def test_jobs_that_are_tried_again_later_do_not_fill_the_queue(database: Database) -> None:
    jobs = JobService(database, on_queued=lambda: None, most_queued=2)
    for number in (1, 2):
        jobs.add("index", {"knowledge_id": number})
    while (job := claim(database)) is not None:
        with database.write() as session:
            running_queries.retry_later(session, job, TIMED_OUT, timedelta(hours=1))
    added = [jobs.add("index", {"knowledge_id": number}).id for number in (3, 4)]
    with pytest.raises(OverloadedError):
        jobs.add("index", {"knowledge_id": 5})
    assert claimed_ids(database) == added
    assert jobs.retry(jobs.cancel(1).id).state == "queued"


def test_progress_is_stored_whole(jobs: JobService, database: Database) -> None:
    job_id = jobs.add("index", {}).id
    job = claim(database)
    assert job is not None
    progress = asdict(Progress(documents_found=5, documents_loaded=4, documents_split=3))
    with database.write() as session:
        running_queries.note_progress(session, job_id, job.attempt_token, progress)
    stored = jobs.get(job_id).progress
    assert (stored["documents_loaded"], stored["documents_split"]) == (4, 3)
