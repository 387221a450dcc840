"""`/jobs`: watch, cancel and retry work that goes on in the background."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field

from app.jobs import schemas
from app.jobs.service import JobService
from app.web.pagination import LARGEST_ID
from app.web.parameters import KNOWN_PARAMETERS_ONLY, Digits
from app.web.problems import problem_responses

router = APIRouter(prefix="/jobs", tags=["jobs"], dependencies=KNOWN_PARAMETERS_ONLY)

JobId = Annotated[
    Annotated[int, Field(ge=1, le=LARGEST_ID), Digits], Path(description="Id of the job.")
]


def get_job_service(request: Request) -> JobService:
    """The process's job service."""
    service = request.app.state.container.jobs
    assert isinstance(service, JobService)  # noqa: S101, the container is ours
    return service


ServiceDep = Annotated[JobService, Depends(get_job_service)]


@router.get("", operation_id="list_jobs", responses=problem_responses(422))
def list_jobs(
    service: ServiceDep,
    state: schemas.JobState | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[
        int | None, Query(ge=1, le=LARGEST_ID, description="`next_cursor` of the page before.")
    ] = None,
) -> schemas.JobPage:
    """List jobs, newest first. Of those that have ended, the newest thousand are kept."""
    jobs = service.list(state.value if state else None, cursor, limit + 1)
    items = [schemas.Job.model_validate(job) for job in jobs[:limit]]
    return schemas.JobPage(items=items, next_cursor=items[-1].id if len(jobs) > limit else None)


@router.get("/{job_id}", operation_id="get_job", responses=problem_responses(404, 422))
def get_job(job_id: JobId, service: ServiceDep) -> schemas.Job:
    """Read one job."""
    return schemas.Job.model_validate(service.get(job_id))


@router.post(
    "/{job_id}/cancel", operation_id="cancel_job", responses=problem_responses(404, 422, 507)
)
def cancel_job(job_id: JobId, service: ServiceDep) -> schemas.Job:
    """Cancel a job: at once if it is queued, between two steps if it is running.

    A job whose item is being worked on already is queued until that is over.
    """
    return schemas.Job.model_validate(service.cancel(job_id))


@router.post(
    "/{job_id}/retry", operation_id="retry_job", responses=problem_responses(404, 409, 422, 507)
)
def retry_job(job_id: JobId, service: ServiceDep) -> schemas.Job:
    """Queue a failed or cancelled job again; 409 while another is queued that does the same."""
    return schemas.Job.model_validate(service.retry(job_id))
