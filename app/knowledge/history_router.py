"""`/knowledge/{id}/history`: what each indexing run added, changed and removed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from app.knowledge import history_schemas
from app.knowledge.history import HistoryService
from app.knowledge.router import ItemId
from app.web.parameters import KNOWN_PARAMETERS_ONLY, PageLimit
from app.web.problems import problem_responses

router = APIRouter(prefix="/knowledge", tags=["knowledge"], dependencies=KNOWN_PARAMETERS_ONLY)


async def get_history_service(request: Request) -> HistoryService:
    """The process's history service."""
    service = request.app.state.container.history
    assert isinstance(service, HistoryService)  # noqa: S101, the container is ours
    return service


@router.get(
    "/{knowledge_id}/history",
    operation_id="list_history",
    responses=problem_responses(404, 422, 507),
)
def list_history(
    knowledge_id: ItemId,
    service: Annotated[HistoryService, Depends(get_history_service)],
    limit: PageLimit = 50,
    cursor: Annotated[
        str | None, Query(max_length=200, description="`next_cursor` of the page before.")
    ] = None,
) -> history_schemas.HistoryPage:
    """List what indexing changed about a knowledge item, newest first.

    The newest hundred entries are kept. They go with the item.
    """
    page = service.list(knowledge_id, limit, cursor)
    return history_schemas.HistoryPage.model_validate(page)
