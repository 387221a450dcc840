"""`/rag`: index, remove, search, count."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator, Field

from app.jobs.records import Job
from app.jobs.schemas import Job as JobSchema
from app.knowledge.filters import CategoryFilter, NameFilter, TagFilters, split_at_commas
from app.knowledge.items import ItemStatus
from app.knowledge.router import ItemId
from app.labels import normalise_category
from app.rag import answer_schemas, schemas, search_schemas
from app.rag.ranking_schemas import RankingProfile, wishes_of
from app.rag.search_route import SearchRoute, get_rag, search_answer
from app.rag.service import RAGService
from app.search.requests import SearchRequest
from app.search.soundness import MOST_RESULTS
from app.web.parameters import KNOWN_PARAMETERS_ONLY, Digits, IdParameter
from app.web.problems import located, problem_responses

router = APIRouter(prefix="/rag", tags=["rag"], dependencies=KNOWN_PARAMETERS_ONLY)
search_router = APIRouter(
    prefix="/rag", tags=["rag"], dependencies=KNOWN_PARAMETERS_ONLY, route_class=SearchRoute
)

RAGDep = Annotated[RAGService, Depends(get_rag)]

Wait = Annotated[
    bool,
    Query(description="False: answer 202 with a job at once, and do the work in the background."),
]
KnowledgeIds = Annotated[
    Annotated[list[IdParameter], Field(min_length=1, max_length=1000)],
    BeforeValidator(split_at_commas),
]
"""Fewer than a body may have: an address has only so much room."""
Count = Annotated[int, Field(ge=1, le=MOST_RESULTS), Digits]
Force = Annotated[bool, Query(description="Read and split again what seems unchanged.")]


MAY_BE_PROMISED: dict[int | str, dict[str, object]] = {
    202: {"model": JobSchema, "description": "With wait=false"} | located(202)[202]
}
"""The `responses` entry of an operation that may answer with a job."""


@router.post(
    "/index/{knowledge_id}",
    operation_id="index_knowledge",
    response_model=schemas.IndexingResult,
    responses=MAY_BE_PROMISED | problem_responses(404, 409, 422, 507),
)
async def index_knowledge(
    knowledge_id: ItemId, rag: RAGDep, wait: Wait = True, force: Force = False
) -> Response | schemas.IndexingResult:
    """Index a knowledge item, or bring it up to date: only what changed is embedded.

    Answers when the work is done. A source that cannot be read answers 200 with `success: false`
    and an `error`; what was searchable before stays so. Only what is known to be gone (a page that
    answers 404 or 410, a folder's last document) leaves the search, even where that fails the item.
    """
    if not wait:
        return _promised(await rag.submit_index(knowledge_id, force=force))
    return schemas.IndexingResult.model_validate(await rag.index_item(knowledge_id, force=force))


@router.post(
    "/index-all",
    operation_id="index_all",
    response_model=schemas.BulkIndexingResult,
    responses=MAY_BE_PROMISED | problem_responses(409, 422, 507),
)
async def index_all(
    rag: RAGDep,
    status: Annotated[
        ItemStatus | None, Query(description="Left out: every item but the archived ones.")
    ] = None,
    wait: Wait = True,
    force: Force = False,
) -> Response | schemas.BulkIndexingResult:
    """Index all knowledge items of a status, one after the other."""
    wanted = status.value if status else None
    if not wait:
        return _promised(await rag.submit_index_all(wanted, force=force))
    return schemas.BulkIndexingResult.model_validate(await rag.index_all(wanted, force=force))


def _promised(job: Job) -> JSONResponse:
    body = JobSchema.model_validate(job).model_dump(mode="json")
    return JSONResponse(body, status_code=202, headers={"Location": f"/api/v1/jobs/{job.id}"})


@router.delete(
    "/index/{knowledge_id}",
    operation_id="remove_from_index",
    responses=problem_responses(404, 422, 507),
)
async def remove_from_index(knowledge_id: ItemId, rag: RAGDep) -> schemas.RemovalResult:
    """Take an item's chunks out of the index and keep the item, which becomes `pending`.

    An archived one stays archived.
    """
    removed = await rag.remove_knowledge(knowledge_id)
    return schemas.RemovalResult(knowledge_id=knowledge_id, removed=removed)


@search_router.post(
    "/search",
    operation_id="search",
    response_model=answer_schemas.SearchAnswer,
    responses=problem_responses(400, 422, 507),
)
async def search(body: search_schemas.SearchBody, rag: RAGDep, request: Request) -> Response:
    """Find the chunks that answer a question, with the lines where they stand."""
    return await search_answer(body.request(), rag, request)


@search_router.get(
    "/search",
    operation_id="search_simple",
    response_model=answer_schemas.SearchAnswer,
    responses=problem_responses(422, 507),
)
async def search_simple(
    request: Request,
    rag: RAGDep,
    q: Annotated[search_schemas.Query, Query(description=search_schemas.QUERY_SAYS)],
    n: Annotated[Count, Query(description=f"Most results, 1 to {MOST_RESULTS}.")] = 5,
    n_results: Annotated[
        Count | None, Query(description="The same, as POST calls it; this counts if both are said.")
    ] = None,
    mode: Annotated[
        search_schemas.SearchMode, Query(description=search_schemas.MODE_SAYS)
    ] = search_schemas.SearchMode.HYBRID,
    category: Annotated[
        CategoryFilter | None, Query(description=search_schemas.CATEGORY_SAYS)
    ] = None,
    tags: Annotated[
        TagFilters | None, Query(description="Repeated, or with commas. Case matters.")
    ] = None,
    tags_match: Annotated[
        search_schemas.TagsMatch, Query(description=search_schemas.TAGS_MATCH_SAYS)
    ] = search_schemas.TagsMatch.ANY,
    knowledge_ids: Annotated[
        KnowledgeIds | None, Query(description="Repeated, or with commas: `1,2`.")
    ] = None,
    collection: Annotated[
        NameFilter | None, Query(description=search_schemas.COLLECTION_SAYS)
    ] = None,
    path: Annotated[
        search_schemas.PathOrGlob | None,
        Query(description="A document's key, or a glob on the documents' paths. Case matters."),
    ] = None,
    language: Annotated[
        search_schemas.LanguageFilter | None, Query(description=search_schemas.LANGUAGE_SAYS)
    ] = None,
    licence_policy: Annotated[
        search_schemas.LicencePolicy, Query(description=search_schemas.LICENCE_POLICY_SAYS)
    ] = search_schemas.LicencePolicy.ANY,
    min_score: Annotated[
        float | None, Query(ge=0, le=1, description=search_schemas.MIN_SCORE_SAYS)
    ] = None,
    profile: Annotated[RankingProfile | None, Query(description="A named ranking.")] = None,
) -> Response:
    """Search by query parameters alone, for scripts and browsers; POST has more options."""
    wanted = SearchRequest(
        query=q,
        n_results=n if n_results is None else n_results,
        mode=mode.value,
        category=normalise_category(category),
        tags=tuple(tags or ()),
        tags_match=tags_match.value,
        knowledge_ids=None if knowledge_ids is None else tuple(knowledge_ids),
        collection=collection,
        paths=(path,) if path else (),
        languages=(language,) if language else (),
        licence_policy=licence_policy.value,
        min_score=min_score,
        ranking=wishes_of(profile, None),
    )
    return await search_answer(wanted, rag, request)


@router.get("/stats", operation_id="get_stats", responses=problem_responses(422, 507))
def get_stats(rag: RAGDep) -> schemas.CollectionStats:
    """Count what is stored."""
    return schemas.CollectionStats.model_validate(rag.get_collection_stats())
