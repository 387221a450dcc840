"""`/health/live`, `/health/ready`, `/metrics` and `/`: for load balancers, monitors and people."""

from typing import Annotated, Protocol

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from app.metrics import Metrics
from app.web.health_schemas import HealthStatus, Liveness, PartHealth, Readiness
from app.web.problems import RETRY_AFTER, RETRY_AFTER_SECONDS, problem_responses

router = APIRouter(tags=["service"])


class HealthReporter(Protocol):
    """Tells the state of the parts, as the container does."""

    @property
    def metrics(self) -> Metrics: ...  # noqa: D102, the types say it
    def part_health(self) -> dict[str, PartHealth]: ...  # noqa: D102
    def refresh_gauges(self) -> None: ...  # noqa: D102


async def get_reporter(request: Request) -> HealthReporter:
    """The process's container, for its health."""
    reporter: HealthReporter = request.app.state.container
    return reporter


ReporterDep = Annotated[HealthReporter, Depends(get_reporter)]


@router.get("/", include_in_schema=False)
async def home() -> RedirectResponse:
    """Lead to the documentation."""
    return RedirectResponse("/docs")


@router.get(
    "/health/live",
    operation_id="get_liveness",
    responses={status: problem_responses()[status] for status in (403, 413)},
)
async def get_liveness() -> Liveness:
    """Answer as long as the process runs; waits for nothing."""
    return Liveness()


@router.get(
    "/health/ready",
    operation_id="get_readiness",
    responses=problem_responses()
    | {503: {"model": Readiness, "description": "A part has failed", **RETRY_AFTER}},
)
def get_readiness(request: Request, reporter: ReporterDep, response: Response) -> Readiness:
    """Say what is ready, what is degraded and why; 503 when a part has failed."""
    parts = reporter.part_health()
    worst = max((part.status for part in parts.values()), key=list(HealthStatus).index)
    if worst is HealthStatus.FAILED:
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return Readiness(status=worst, version=request.app.version, parts=parts)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    response_class=PlainTextResponse,
    responses=problem_responses(507),
)
def get_metrics(reporter: ReporterDep) -> Response:
    """Metrics in Prometheus' text format."""
    reporter.refresh_gauges()
    return Response(reporter.metrics.exposition(), media_type="text/plain; version=0.0.4")
