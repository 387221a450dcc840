"""Generations as JSON."""

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, Field

from app.generations.records import GenerationReport
from app.web.complete_answer import CompleteAnswer


class GenerationState(StrEnum):
    """`kept` has answered once, or was begun: it can be returned to until it is dropped."""

    CURRENT = "current"
    BUILDING = "building"
    KEPT = "kept"


class Generation(CompleteAnswer):
    """Everything that is stored, cut and embedded in one way."""

    id: int
    state: GenerationState = Field(description="`current` answers; `building` will.")
    embedding_model: str = Field(description="The model of its vectors.")
    dimension: int = Field(description="Numbers of each vector.")
    splitter: str = Field(
        description="The rules by which texts are cut; its numbers are CHUNK_SIZE, OVERLAP and "
        "the most tokens of a chunk.",
        examples=["recursive-24:1000:200:230 context-1"],
    )
    documents_done: int = Field(description="Documents of which it has chunks and vectors.")
    documents_total: int = Field(description="Documents that there are.")
    chunks: int = Field(description="Chunks of it that are stored.")
    texts_embedded: int = Field(
        description="Texts embedded since its making went on; those known before cost nothing."
    )
    trouble: str | None = Field(None, description="Why its making does not get on, if so.")
    created_at: datetime = Field(description="When its making began.")

    @classmethod
    def of(cls, report: GenerationReport) -> Self:
        """As the service reports it."""
        stored, progress = report.stored, report.progress
        return cls(
            id=stored.generation.id,
            state=GenerationState(report.state),
            embedding_model=stored.embedding_model,
            dimension=stored.generation.dimension,
            splitter=stored.generation.rules,
            documents_done=progress.documents_done,
            documents_total=progress.documents_total,
            chunks=progress.chunks,
            texts_embedded=progress.texts_embedded,
            trouble=report.trouble,
            created_at=stored.created_at,
        )


class GenerationList(BaseModel):
    """All generations, in the order in which they were made."""

    generations: list[Generation]
