"""`/rag/generations`: which model and splitter made what is stored, and how far a change is."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from app.rag.generation_schemas import Generation, GenerationList
from app.rag.router import RAGDep
from app.web.parameters import KNOWN_PARAMETERS_ONLY, IdParameter
from app.web.problems import problem_responses

router = APIRouter(prefix="/rag", tags=["rag"], dependencies=KNOWN_PARAMETERS_ONLY)

GenerationId = Annotated[
    IdParameter, Path(description="Id of the generation, as the list of them has it.")
]


@router.get("/generations", operation_id="list_generations", responses=problem_responses(422, 507))
def list_generations(rag: RAGDep) -> GenerationList:
    """List the generations, one for each model and splitter: current, being built, or kept.

    A service that is started with another model, CHUNK_SIZE or OVERLAP builds a new generation in
    the background, from the stored text, while the former one goes on answering.
    """
    return GenerationList(generations=[Generation.of(each) for each in rag.generations()])


@router.delete(
    "/generations/{generation_id}",
    operation_id="drop_generation",
    status_code=204,
    response_class=Response,  # FastAPI's own calls the text that is not there JSON
    responses=problem_responses(404, 409, 422, 507),
)
def drop_generation(generation_id: GenerationId, rag: RAGDep) -> None:
    """Drop a kept generation; its chunks go, their vectors stay until the next `compact`."""
    rag.drop_generation(generation_id)
