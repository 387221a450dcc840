"""`/jobs`: watch, cancel and retry work that goes on in the background."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from app.jobs import schemas
from app.jobs.service import JobService
from app.jobs.watching import Following, JobWatch
from app.web.parameters import KNOWN_PARAMETERS_ONLY, IdParameter, PageLimit
from app.web.problems import problem_responses

router = APIRouter(prefix="/jobs", tags=["jobs"], dependencies=KNOWN_PARAMETERS_ONLY)

JobId = Annotated[IdParameter, Path(description="Id of the job.")]


async def get_job_service(request: Request) -> JobService:
    """The process's job service."""
    service = request.app.state.container.jobs
    assert isinstance(service, JobService)  # noqa: S101, the container is ours
    return service


JobServiceDep = Annotated[JobService, Depends(get_job_service)]

QUIET_SECONDS = 15.0
"""After so long without a change a comment is sent, so that nothing between closes the stream."""

NOT_KEPT = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Proxies are to pass each event on at once (the second is nginx's)."""


EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string", "enum": ["progress", "end"]},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/Job"},
        },
    },
}
"""One event, as OpenAPI 3.2 describes them; our document is one of 3.1, and only may add `x-…`."""

EVENT_STREAM = "text/event-stream"


async def follow(job_id: JobId, request: Request) -> AsyncIterator[Following]:
    """Follow a job until its answer has been sent; raises NotFoundError and OverloadedError."""
    watch = request.app.state.container.job_watch
    assert isinstance(watch, JobWatch)  # noqa: S101, the container is ours
    async with watch.following(job_id) as following:
        yield following


FollowingDep = Annotated[Following, Depends(follow)]


@router.get("", operation_id="list_jobs", responses=problem_responses(422, 507))
def list_jobs(
    service: JobServiceDep,
    state: Annotated[schemas.JobState | None, Query(description="Left out: all.")] = None,
    limit: PageLimit = 50,
    cursor: Annotated[
        IdParameter | None, Query(description="`next_cursor` of the page before.")
    ] = None,
) -> schemas.JobPage:
    """List jobs, newest first. Of those that have ended, the newest thousand are kept."""
    jobs = service.list(state.value if state else None, cursor, limit + 1)
    items = [schemas.Job.model_validate(job) for job in jobs[:limit]]
    return schemas.JobPage(items=items, next_cursor=items[-1].id if len(jobs) > limit else None)


@router.get("/{job_id}", operation_id="get_job", responses=problem_responses(404, 422, 507))
def get_job(job_id: JobId, service: JobServiceDep) -> schemas.Job:
    """Read one job."""
    return schemas.Job.model_validate(service.get(job_id))


@router.post(
    "/{job_id}/cancel", operation_id="cancel_job", responses=problem_responses(404, 422, 507)
)
def cancel_job(job_id: JobId, service: JobServiceDep) -> schemas.Job:
    """Cancel a job: at once if it is queued, between two steps if it is running.

    A job that waits for other work on its item counts as queued. Queued jobs that would do the very
    same are cancelled with it.
    """
    return schemas.Job.model_validate(service.cancel(job_id))


@router.post(
    "/{job_id}/retry",
    operation_id="retry_job",
    responses=problem_responses(404, 409, 422, 507),
)
def retry_job(job_id: JobId, service: JobServiceDep) -> schemas.Job:
    """Queue a failed or cancelled job again.

    409 while another is queued that does the same, and where the database holds so much of it
    damaged that nothing tells what it was to do.
    """
    return schemas.Job.model_validate(service.retry(job_id))


@router.get(
    "/{job_id}/events",
    operation_id="follow_job",
    response_class=Response,
    responses={
        200: {
            "description": "The job's events.",
            "content": {EVENT_STREAM: {"x-itemSchema": EVENT}},
        },
        **problem_responses(404, 422, 507),
    },
)
async def follow_job(following: FollowingDep) -> StreamingResponse:
    """Follow a job as server-sent events, without asking again and again.

    `progress` brings the job as JSON, at once and whenever it has changed; `end` brings it as it
    ended, and is the last. A stream that ends without it is to be opened again: it begins with
    the job as it is then. A browser's EventSource does so by itself, even after `end`: close it
    there, or it asks for ever.
    """
    return StreamingResponse(_events(following), media_type=EVENT_STREAM, headers=NOT_KEPT)


async def _events(following: Following) -> AsyncIterator[bytes]:
    async for job in following.states(QUIET_SECONDS):
        if job is None:
            yield format_sse_event(comment="still there")
            continue
        body = schemas.Job.model_validate(job).model_dump_json()
        event = "end" if job.has_ended else "progress"
        yield format_sse_event(data_str=body, event=event)
