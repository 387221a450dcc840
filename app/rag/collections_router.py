"""`/rag/collections`: which there are, and how searches of each are ranked."""

from typing import Annotated

from fastapi import APIRouter, Path

from app.rag.ranking_schemas import Collection, CollectionRankingBody, StoredRanking
from app.rag.router import RAGDep
from app.search.collection_rankings import CollectionRanking
from app.web.parameters import KNOWN_PARAMETERS_ONLY
from app.web.problems import problem_responses

router = APIRouter(prefix="/rag", tags=["rag"], dependencies=KNOWN_PARAMETERS_ONLY)

CollectionName = Annotated[str, Path(min_length=1, max_length=500, description="As items name it.")]


@router.get("/collections", operation_id="list_collections", responses=problem_responses(422, 507))
def list_collections(rag: RAGDep) -> list[Collection]:
    """List the collections that items name, and the default one, with their rankings."""
    return [_collection(found) for found in rag.collections()]


@router.get(
    "/collections/{name}/ranking",
    operation_id="get_collection_ranking",
    response_model_exclude_none=True,
    responses=problem_responses(404, 422, 507),
)
def get_collection_ranking(name: CollectionName, rag: RAGDep) -> StoredRanking:
    """Tell how searches of a collection are ranked; what is not shown is as ever."""
    return StoredRanking.of(rag.collection(name).ranking)


@router.put(
    "/collections/{name}/ranking",
    operation_id="set_collection_ranking",
    response_model_exclude_none=True,
    responses=problem_responses(400, 404, 413, 422, 507),
)
def set_collection_ranking(
    name: CollectionName, body: CollectionRankingBody, rag: RAGDep
) -> StoredRanking:
    """Set how searches of a collection are ranked from now on; `{}` takes everything back.

    It holds for searches that name the collection, and for the default collection also for those
    that name none. What a search says itself comes first, and a `profile` of its own sets all of
    this aside.
    """
    found = rag.rank_collection(name, body.wishes(body.profile))
    return StoredRanking.of(found.ranking)


def _collection(found: CollectionRanking) -> Collection:
    return Collection(name=found.name, items=found.items, ranking=StoredRanking.of(found.ranking))
