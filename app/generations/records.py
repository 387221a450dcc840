"""What is known of a generation, and of the next one while it is made."""

from dataclasses import dataclass
from datetime import datetime

from app.indexing.generation import Generation

FIRST_GENERATION = 1
"""The number of the one whose indexes lie where they did when there were no generations."""


@dataclass(frozen=True)
class StoredGeneration:
    """A generation as SQL holds it."""

    generation: Generation
    embedding_provider: str | None
    """None: the one that the settings name."""
    embedding_model: str
    created_at: datetime
    is_current: bool
    """It answers."""


@dataclass(frozen=True)
class GenerationProgress:
    """How much of what is stored a generation covers."""

    documents_done: int
    documents_total: int
    chunks: int
    texts_embedded: int = 0
    """By the renewal that is under way: texts that no generation had embedded before."""


@dataclass(frozen=True)
class GenerationReport:
    """A generation, and how far it is."""

    stored: StoredGeneration
    progress: GenerationProgress
    state: str
    """`current`, `building`, or `kept`: it can be returned to until it is dropped."""
    trouble: str | None = None
    """Why it does not get on; it is tried again."""
