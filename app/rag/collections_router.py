"""`/rag/collections`: the list of them, how searches of each are ranked, and its language."""

from typing import Annotated

from fastapi import APIRouter, Path

from app.rag.collection_schemas import Collection, CollectionLanguage
from app.rag.ranking_schemas import CollectionRankingBody, StoredRanking
from app.rag.router import RAGDep
from app.web.parameters import KNOWN_PARAMETERS_ONLY
from app.web.problems import problem_responses

router = APIRouter(prefix="/rag", tags=["rag"], dependencies=KNOWN_PARAMETERS_ONLY)

CollectionName = Annotated[str, Path(min_length=1, max_length=500, description="As items name it.")]


@router.get("/collections", operation_id="list_collections", responses=problem_responses(422, 507))
def list_collections(rag: RAGDep) -> list[Collection]:
    """List the collections that items name or that have settings, and the default one."""
    return [Collection.of(found) for found in rag.collections()]


@router.get(
    "/collections/{name}/ranking",
    operation_id="get_collection_ranking",
    response_model_exclude_none=True,
    responses=problem_responses(404, 422, 507),
)
def get_collection_ranking(name: CollectionName, rag: RAGDep) -> StoredRanking:
    """Show how searches of a collection are ranked; fields that are not shown are not set."""
    return StoredRanking.of(rag.collection(name).ranking)


@router.put(
    "/collections/{name}/ranking",
    operation_id="set_collection_ranking",
    response_model_exclude_none=True,
    responses=problem_responses(400, 404, 422, 507),
)
def set_collection_ranking(
    name: CollectionName, body: CollectionRankingBody, rag: RAGDep
) -> StoredRanking:
    """Set how searches of a collection are ranked from now on; `{}` unsets everything.

    This applies to searches that name the collection and, for the default collection, to those that
    name none. What a search itself says takes precedence, and a search with a `profile` ignores all
    of this.
    """
    found = rag.rank_collection(name, body.wishes(body.profile))
    return StoredRanking.of(found.ranking)


@router.get(
    "/collections/{name}/language",
    operation_id="get_collection_language",
    responses=problem_responses(404, 422, 507),
)
def get_collection_language(name: CollectionName, rag: RAGDep) -> CollectionLanguage:
    """Show the language of the items of a collection; null stands for LEXICAL_LANGUAGE."""
    return CollectionLanguage(language=rag.collection(name).language)


@router.put(
    "/collections/{name}/language",
    operation_id="set_collection_language",
    responses=problem_responses(400, 404, 422, 507),
)
def set_collection_language(
    name: CollectionName, body: CollectionLanguage, rag: RAGDep
) -> CollectionLanguage:
    """Set the language of the items of a collection; `{}` unsets it.

    In German, the search by words then finds `Haus` for `Häuser`. What is stored is indexed again
    in the background, without embedding anything; until that is done, some of it is still found by
    the stems of the former language. Each word of a question is looked for in every language that
    is in use, in the collections of that language.
    """
    return CollectionLanguage(language=rag.set_collection_language(name, body.language).language)
