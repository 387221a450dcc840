"""`/rag`: index, remove, search, count."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from app.jobs.records import Job
from app.jobs.schemas import Job as JobSchema
from app.knowledge.items import normalise_category, tidy_tags
from app.knowledge.router import ItemId
from app.knowledge.schemas import FilterText, Status
from app.rag import schemas
from app.rag.service import RAGService
from app.search.requests import SearchAnswer, SearchRequest
from app.web.problems import located, problem_responses

router = APIRouter(prefix="/rag", tags=["rag"])


def get_rag(request: Request) -> RAGService:
    """The process's RAGService."""
    rag = request.app.state.container.rag
    assert isinstance(rag, RAGService)  # noqa: S101, the container is ours
    return rag


RAGDep = Annotated[RAGService, Depends(get_rag)]

Wait = Annotated[
    bool,
    Query(description="False: answer 202 with a job at once, and do the work in the background."),
]
Force = Annotated[bool, Query(description="Read and split again what seems unchanged.")]


def accepted() -> dict[int | str, dict[str, object]]:
    """The `responses` entry of an operation that may answer with a job."""
    return {202: {"model": JobSchema, "description": "With wait=false"} | located(202)[202]}


@router.post(
    "/index/{knowledge_id}",
    operation_id="index_knowledge",
    response_model=schemas.IndexingResult,
    responses=accepted() | problem_responses(404, 409, 422, 503, 507),
)
async def index_knowledge(
    knowledge_id: ItemId, rag: RAGDep, wait: Wait = True, force: Force = False
) -> Response | schemas.IndexingResult:
    """Index a knowledge item, or bring it up to date: only what changed is embedded.

    Answers when the work is done. A source that cannot be read answers 200 with `success: false`
    and an `error`; what was searchable before stays so.
    """
    if not wait:
        return _accepted(await rag.submit_index(knowledge_id, force=force))
    return schemas.IndexingResult.model_validate(await rag.index_item(knowledge_id, force=force))


@router.post(
    "/index-all",
    operation_id="index_all",
    response_model=schemas.BulkIndexingResult,
    responses=accepted() | problem_responses(409, 422, 503, 507),
)
async def index_all(
    rag: RAGDep,
    status: Annotated[
        Status | None, Query(description="Left out: every item but the archived ones.")
    ] = None,
    wait: Wait = True,
    force: Force = False,
) -> Response | schemas.BulkIndexingResult:
    """Index all knowledge items of a status, one after the other."""
    if not wait:
        return _accepted(await rag.submit_index_all(status, force=force))
    return schemas.BulkIndexingResult.model_validate(await rag.index_all(status, force=force))


def _accepted(job: Job) -> JSONResponse:
    body = JobSchema.model_validate(job).model_dump(mode="json")
    return JSONResponse(body, status_code=202, headers={"Location": f"/api/v1/jobs/{job.id}"})


@router.delete(
    "/index/{knowledge_id}",
    operation_id="remove_from_index",
    responses=problem_responses(404, 422, 507),
)
async def remove_from_index(knowledge_id: ItemId, rag: RAGDep) -> schemas.RemovalResult:
    """Take an item's chunks out of the index and keep the item, which becomes `pending`."""
    removed = await rag.remove_knowledge(knowledge_id)
    return schemas.RemovalResult(knowledge_id=knowledge_id, removed=removed)


@router.post("/search", operation_id="search", responses=problem_responses(400, 413, 422, 503, 507))
async def search(body: schemas.SearchBody, rag: RAGDep) -> schemas.SearchAnswer:
    """Find the chunks that answer a question, with the lines where they stand."""
    return _answer(await rag.answer(body.request()))


@router.get("/search", operation_id="search_simple", responses=problem_responses(422, 503, 507))
async def search_simple(
    rag: RAGDep,
    q: Annotated[schemas.Query, Query(description="The question.")],
    tags: Annotated[
        list[FilterText],
        Query(default_factory=list, max_length=100, description="Repeated, or with commas."),
    ],
    n: Annotated[int, Query(ge=1, le=100, description="How many results.")] = 5,
    category: FilterText | None = None,
    tags_match: Literal["any", "all"] = "any",
    knowledge_ids: Annotated[list[schemas.KnowledgeId] | None, Query(max_length=1000)] = None,
    collection: FilterText | None = None,
    min_score: Annotated[float | None, Query(ge=0, le=1)] = None,
) -> schemas.SearchAnswer:
    """Search by address alone, for scripts and the browser."""
    request = SearchRequest(
        query=q,
        n_results=n,
        category=normalise_category(category),
        tags=tuple(tidy_tags(tags)),
        tags_match=tags_match,
        knowledge_ids=None if knowledge_ids is None else tuple(knowledge_ids),
        collection=collection,
        min_score=min_score,
    )
    return _answer(await rag.answer(request))


def _answer(answer: SearchAnswer) -> schemas.SearchAnswer:
    return schemas.SearchAnswer(
        query=answer.query,
        results=[schemas.SearchResult.model_validate(result) for result in answer.results],
        total_results=len(answer.results),
        degraded=list(answer.degraded),
        duration_ms=answer.duration_ms,
    )


@router.get("/stats", operation_id="get_stats", responses=problem_responses(507))
def get_stats(rag: RAGDep) -> schemas.CollectionStats:
    """Count what is stored and searchable."""
    return schemas.CollectionStats.model_validate(rag.get_collection_stats())
