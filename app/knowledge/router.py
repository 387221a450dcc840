"""`/knowledge`: create, list, read, change and delete knowledge items."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from app.knowledge import schemas
from app.knowledge.filters import CategoryFilter, NameFilter, TagFilters
from app.knowledge.items import DocumentType, ItemFilter, ItemStatus
from app.knowledge.service import KnowledgeService
from app.labels import normalise_category
from app.web.parameters import KNOWN_PARAMETERS_ONLY, IdParameter, PageLimit
from app.web.problems import located, problem_responses

router = APIRouter(prefix="/knowledge", tags=["knowledge"], dependencies=KNOWN_PARAMETERS_ONLY)

ItemId = Annotated[IdParameter, Path(description="Id of the knowledge item.")]


async def get_knowledge_service(request: Request) -> KnowledgeService:
    """The process's knowledge service."""
    service = request.app.state.container.knowledge
    assert isinstance(service, KnowledgeService)  # noqa: S101, the container is ours
    return service


KnowledgeServiceDep = Annotated[KnowledgeService, Depends(get_knowledge_service)]


@router.post(
    "",
    status_code=201,
    operation_id="create_knowledge",
    responses=located(201) | problem_responses(400, 422, 507),
)
def create_knowledge(
    item: schemas.ItemCreate, service: KnowledgeServiceDep, response: Response
) -> schemas.Item:
    """Add a knowledge item. Index it next: `POST /rag/index/{id}`."""
    created = service.create(item.draft())
    response.headers["Location"] = f"/api/v1/knowledge/{created.id}"
    return schemas.Item.model_validate(created)


@router.get(
    "",
    operation_id="list_knowledge",
    responses=problem_responses(422, 507),
)
def list_knowledge(
    service: KnowledgeServiceDep,
    status: Annotated[
        ItemStatus | None, Query(description="Left out: all, archived ones too.")
    ] = None,
    category: Annotated[
        CategoryFilter | None,
        Query(
            description="With everything below it: `Engineering` also means `Engineering/Security`."
        ),
    ] = None,
    tag: Annotated[
        TagFilters | None, Query(description="Any of these; repeated, or with commas.")
    ] = None,
    document_type: Annotated[DocumentType | None, Query(description="Left out: all.")] = None,
    collection: Annotated[
        NameFilter | None, Query(description="Its exact name. Left out: all collections.")
    ] = None,
    q: Annotated[
        NameFilter | None, Query(description="Stands in title or uri, in capitals or not.")
    ] = None,
    sort: Annotated[
        schemas.ItemSort,
        Query(
            description="`-` in front: descending. Titles by their code points, so that capitals "
            "come before small letters. Those that are equal are ordered by their id."
        ),
    ] = schemas.ItemSort.ID,
    limit: PageLimit = 50,
    cursor: Annotated[
        str | None, Query(max_length=4096, description="`next_cursor` of the page before.")
    ] = None,
) -> schemas.ItemPage:
    """List knowledge items, a page at a time."""
    wanted = ItemFilter(
        status=status.value if status else None,
        category=normalise_category(category),
        tags=tuple(tag or ()),
        document_type=document_type.value if document_type else None,
        collection=collection,
        text=q,
    )
    return schemas.ItemPage.model_validate(service.list(wanted, sort.value, limit, cursor))


@router.get(
    "/{knowledge_id}",
    operation_id="get_knowledge",
    responses=problem_responses(404, 422, 507),
)
def get_knowledge(knowledge_id: ItemId, service: KnowledgeServiceDep) -> schemas.Item:
    """Read one knowledge item."""
    return schemas.Item.model_validate(service.get(knowledge_id))


@router.patch(
    "/{knowledge_id}",
    operation_id="update_knowledge",
    responses=problem_responses(400, 404, 409, 422, 507),
)
def update_knowledge(
    knowledge_id: ItemId, changes: schemas.ItemUpdate, service: KnowledgeServiceDep
) -> schemas.Item:
    """Change some fields of a knowledge item; what is left out stays as it is.

    An item whose `uri` or `document_type` changes becomes `pending` until it is indexed again.
    """
    return schemas.Item.model_validate(service.update(knowledge_id, changes.changes()))


@router.put(
    "/{knowledge_id}",
    operation_id="replace_knowledge",
    responses=problem_responses(400, 404, 422, 507),
)
def replace_knowledge(
    knowledge_id: ItemId, item: schemas.ItemReplacement, service: KnowledgeServiceDep
) -> schemas.Item:
    """Give a knowledge item a whole new state; what is left out gets its default.

    `status` is the exception: left out, it stays as it is, and of one that is given, it only counts
    whether it is `archived`. So an item that was read before it was indexed can be put back.
    """
    return schemas.Item.model_validate(service.replace(knowledge_id, item.draft()))


@router.delete(
    "/{knowledge_id}",
    status_code=204,
    response_class=Response,  # FastAPI's own calls the text that is not there JSON
    operation_id="delete_knowledge",
    responses=problem_responses(404, 422, 507),
)
def delete_knowledge(knowledge_id: ItemId, service: KnowledgeServiceDep) -> None:
    """Delete a knowledge item and everything indexed from it. No search shows it afterwards."""
    service.delete(knowledge_id)
