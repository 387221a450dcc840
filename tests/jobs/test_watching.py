"""Whoever waits for a job or follows it learns what happens to it, and holds nothing meanwhile."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import anyio
import anyio.to_thread
import pytest

from app.database import Database
from app.errors import NotFoundError, OverloadedError, StorageError, UnavailableError
from app.jobs import claim_queries, running_queries
from app.jobs.bell import JobBell
from app.jobs.records import Job, Outcome
from app.jobs.service import JobService
from app.jobs.watching import JobWatch
from app.jobs.worker import JobWorker
from app.protocols import Progress, ProgressListener
from tests.light_service import LightService
from tests.patience import run_in_time

QUIET_SECONDS = 15.0

Act = Callable[[], object]


@pytest.fixture
def watch(service: LightService, jobs: JobService) -> JobWatch:
    return service.job_watch


@pytest.fixture
def bell(service: LightService, jobs: JobService) -> JobBell:
    return service.bell


def drain(database: Database, bell: JobBell, error: Exception | None = None) -> None:
    """Run all queued jobs, as the worker's threads would."""

    def work(_arguments: Mapping[str, Any], listener: ProgressListener) -> dict[str, Any]:
        listener(Progress(documents_found=2))
        if error:
            raise error
        return {"done": True}

    worker = JobWorker(database, {"index": work}, 1, bell=bell)
    worker.drain()
    worker.close()


def wait_while(watch: JobWatch, job: Job, act: Act) -> Job:
    """What somebody gets who waits for the job while this is done."""

    async def main() -> Job:
        ended: list[Job] = []

        async def wait() -> None:
            ended.append(await watch.wait_for_end(job))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            await anyio.to_thread.run_sync(act)
        return ended[0]

    result: Job = run_in_time(main)
    return result


def test_who_waits_gets_the_job_as_it_ended(
    jobs: JobService, database: Database, watch: JobWatch, bell: JobBell
) -> None:
    job = jobs.add("index", {}, waited_for=True)
    ended = wait_while(watch, job, lambda: drain(database, bell))
    assert (ended.state, ended.result) == ("succeeded", {"done": True})


def test_who_comes_too_late_waits_for_nothing(
    jobs: JobService, database: Database, watch: JobWatch, bell: JobBell
) -> None:
    job = jobs.add("index", {}, waited_for=True)
    drain(database, bell)
    assert run_in_time(lambda: watch.wait_for_end(job)).state == "succeeded"


def test_who_waits_for_a_job_that_is_cancelled_is_told(jobs: JobService, watch: JobWatch) -> None:
    job = jobs.add("index", {}, waited_for=True)
    assert wait_while(watch, job, lambda: jobs.cancel(job.id)).state == "cancelled"


def test_who_waits_is_told_of_a_change_that_nobody_rang_for(
    jobs: JobService, database: Database, bell: JobBell
) -> None:
    watch = JobWatch(jobs, bell, look_again_seconds=0.01)
    job = jobs.add("index", {}, waited_for=True)
    ended = wait_while(watch, job, lambda: drain(database, JobBell()))
    assert ended.state == "succeeded"


def test_who_waits_for_a_job_that_is_tried_again_later_gets_the_first_failure(
    jobs: JobService, database: Database, watch: JobWatch, bell: JobBell
) -> None:
    jobs.add("index", {})
    job = jobs.add("index", {}, waited_for=True)
    failure = StorageError("The disk is full.")
    ended = wait_while(watch, job, lambda: drain(database, bell, failure))
    assert (ended.state, ended.error, ended.retries) == ("queued", "The disk is full.", 1)


def test_a_job_that_fails_before_its_promise_is_answered_is_not_waited_for_till_it_fails_again(
    jobs: JobService, database: Database, bell: JobBell, watch: JobWatch
) -> None:
    jobs.add("index", {})  # in the background, so that it is tried again
    quick = JobService(
        database, on_queued=lambda: drain(database, bell, StorageError("It is full.")), bell=bell
    )
    job = quick.add("index", {}, waited_for=True)
    after = run_in_time(lambda: watch.wait_for_end(job))
    assert (after.state, after.error, after.retries) == ("queued", "It is full.", 1)


def test_a_stop_ends_the_waiting_and_not_the_job(
    jobs: JobService, watch: JobWatch, bell: JobBell
) -> None:
    job = jobs.add("index", {}, waited_for=True)
    with pytest.raises(ExceptionGroup) as raised:
        wait_while(watch, job, bell.stop)
    assert raised.group_contains(UnavailableError, match="stopping")
    assert jobs.get(job.id).state == "queued"


def test_an_outcome_that_the_database_does_not_take_is_no_reason_to_wait(
    jobs: JobService, watch: JobWatch, bell: JobBell
) -> None:
    job = jobs.add("index", {}, waited_for=True)
    failure = StorageError("The disk of DATA_DIR is full.")
    with pytest.raises(ExceptionGroup) as raised:
        wait_while(watch, job, lambda: bell.fail(job.id, failure))
    assert raised.group_contains(StorageError, match="full")


def test_no_more_clients_may_wait_than_there_is_room_for(jobs: JobService, bell: JobBell) -> None:
    watch = JobWatch(jobs, bell, most_watchers=1)
    with watch.place():
        assert watch.waiting == 1
        with pytest.raises(OverloadedError), watch.place():
            pass
    with watch.place():
        pass


# Following -------------------------------------------------------------------------------------


def follow_while(
    watch: JobWatch, job: Job, acts: list[Act], quiet_seconds: float = QUIET_SECONDS
) -> list[Job | None]:
    """All that somebody sees who follows the job; after each, the next of these is done."""

    async def main() -> list[Job | None]:
        seen: list[Job | None] = []
        async with watch.following(job.id) as following:
            async for state in following.states(quiet_seconds):
                seen.append(state)
                if acts:
                    await anyio.to_thread.run_sync(acts.pop(0))
        return seen

    result: list[Job | None] = run_in_time(main)
    return result


def test_who_follows_a_job_sees_it_as_it_is_and_each_change_to_its_end(
    jobs: JobService, database: Database, watch: JobWatch, bell: JobBell
) -> None:
    job = jobs.add("index", {})

    def note() -> None:
        with database.write() as session:
            running_queries.note_progress(session, job.id, 1, {"documents_found": 3})
        bell.ring(job.id)

    def claim() -> None:
        with database.write() as session:
            assert claim_queries.claim_job(session)
        bell.ring(job.id)

    seen = follow_while(watch, job, [claim, note, lambda: drain_claimed(jobs, database, bell)])
    assert [(state.state, dict(state.progress)) for state in seen if state] == [
        ("queued", {}),
        ("running", {}),
        ("running", {"documents_found": 3}),
        ("succeeded", {"documents_found": 3}),
    ]


def drain_claimed(jobs: JobService, database: Database, bell: JobBell) -> None:
    """The worker that has the only job ends it."""
    (job,) = jobs.list("running", None, 10)
    with database.write() as session:
        running_queries.finish_job(session, job, Outcome("succeeded", {}), None)
    bell.ring(job.id)


def test_who_follows_a_job_that_has_ended_sees_its_end_alone(
    jobs: JobService, watch: JobWatch
) -> None:
    job = jobs.cancel(jobs.add("index", {}).id)
    assert follow_while(watch, job, []) == [job]


def test_a_job_that_stays_as_it_is_gives_a_sign_of_life_now_and_then(
    jobs: JobService, watch: JobWatch
) -> None:
    job = jobs.add("index", {})
    nothing: Act = lambda: None  # noqa: E731
    seen = follow_while(watch, job, [nothing, nothing, lambda: jobs.cancel(job.id)], 0.01)
    assert seen[:3] == [job, None, None]
    assert seen[-1] is not None
    assert seen[-1].state == "cancelled"


def test_a_change_is_seen_though_the_time_for_a_sign_of_life_ends_while_it_is_read(
    jobs: JobService, bell: JobBell, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = JobWatch(jobs, bell, look_again_seconds=3600.0)
    job = jobs.add("index", {})
    read = watch.read

    async def read_slowly(job_id: int) -> Job:
        monkeypatch.setattr(watch, "read", read)
        await anyio.sleep_forever()
        raise AssertionError

    def cancel() -> None:
        monkeypatch.setattr(watch, "read", read_slowly)
        jobs.cancel(job.id)

    seen = follow_while(watch, job, [cancel], 0.2)
    assert seen[:2] == [job, None]
    assert seen[-1] is not None
    assert seen[-1].state == "cancelled"


def test_a_stop_ends_the_following(jobs: JobService, watch: JobWatch, bell: JobBell) -> None:
    job = jobs.add("index", {})
    assert follow_while(watch, job, [bell.stop]) == [job]


def test_an_unknown_job_cannot_be_followed(watch: JobWatch) -> None:
    async def main() -> None:
        async with watch.following(4711):
            raise AssertionError("it is there")

    with pytest.raises(NotFoundError):
        run_in_time(main)


def test_no_more_clients_may_follow_than_there_is_room_for_and_who_leaves_makes_room(
    jobs: JobService, bell: JobBell
) -> None:
    watch = JobWatch(jobs, bell, most_watchers=20)
    job = jobs.add("index", {})

    async def main() -> None:
        async with AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(watch.following(job.id))
            with pytest.raises(OverloadedError):
                await stack.enter_async_context(watch.following(job.id))
        async with watch.following(job.id):
            pass

    run_in_time(main)
