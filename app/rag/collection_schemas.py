"""Collections as JSON, and the language of each."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from app.adapters.text_analysis.analyser import KNOWN_LANGUAGES, language_complaint
from app.rag.ranking_schemas import StoredRanking
from app.search import collection_settings


def _known(language: str) -> str:
    complaint = language_complaint(language)
    if complaint is not None:
        raise ValueError(complaint)
    return language


Language = Annotated[
    str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(KNOWN_LANGUAGES)})
]
"""A name that Snowball knows."""


class CollectionLanguage(BaseModel):
    """In which language the items of a collection are written."""

    model_config = ConfigDict(extra="forbid")

    language: Language | None = Field(
        None,
        description="Whose stems its words are reduced to, for the search by words. Null: that of "
        "the setting LEXICAL_LANGUAGE.",
        examples=["german"],
    )


class Collection(BaseModel):
    """A collection that items name, that has a ranking or language of its own, or the default."""

    name: str = Field(description="As items name it.")
    items: int = Field(description="How many items are in it.")
    ranking: StoredRanking = Field(description="What searches of it start from.")
    language: str | None = Field(description="As it was set; null: that of LEXICAL_LANGUAGE.")

    @classmethod
    def of(cls, found: collection_settings.Collection) -> Self:
        """What is known of it."""
        return cls(
            name=found.name,
            items=found.items,
            ranking=StoredRanking.of(found.ranking),
            language=found.language,
        )
