"""`/rag/context`: the passages that answer a question, ready for a prompt."""

from fastapi import APIRouter, Request, Response

from app.rag.context_schemas import ContextAnswer, ContextBody
from app.rag.router import RAGDep
from app.web.departure import unless_client_leaves
from app.web.parameters import KNOWN_PARAMETERS_ONLY
from app.web.problems import problem_responses

router = APIRouter(prefix="/rag", tags=["rag"], dependencies=KNOWN_PARAMETERS_ONLY)


@router.post(
    "/context",
    operation_id="get_context",
    response_model=ContextAnswer,
    responses=problem_responses(400, 422, 507),
)
async def get_context(body: ContextBody, rag: RAGDep, request: Request) -> Response | ContextAnswer:
    """Search, and put the passages that answer together for a prompt.

    Each hit is widened to whole lines, with `context_chunks` neighbours on each side; what overlaps
    or adjoins becomes one passage. What would say in this way what the query excludes is narrowed
    to the hits, in whole lines or without the rest of them. Passages come in the order of the
    search until `max_tokens` are reached: one that is too long is cut at the end of a line, and a
    line that is too long around the words that were found in it; `omitted` says what is missing.
    """
    answer = await unless_client_leaves(request, rag.context(body.context_request()))
    return answer if isinstance(answer, Response) else ContextAnswer.of(answer)
