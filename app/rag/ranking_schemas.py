"""How results are ranked, as JSON: for one search, and for all searches of a collection."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool

from app.json_numbers import is_number
from app.knowledge.filters import FilterText
from app.search import profiles
from app.search.profiles import (
    BOOST,
    BOOST_FIELDS,
    LEAST_BOOST,
    LEAST_HALF_LIFE_DAYS,
    MOST_BOOST,
    MOST_BOOSTS,
    MOST_FEEDBACK_RESULTS,
    MOST_HALF_LIFE_DAYS,
    MOST_WEIGHT,
    RankingWishes,
)


class RankingProfile(StrEnum):
    """A named ranking."""

    DEFAULT = "default"
    CODE = "code"
    VARIED = "varied"


def _with_usual_factor(value: Any) -> Any:
    """`["rust"]` is `{"rust": 1.3}`."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return dict.fromkeys(value, BOOST)
    raise ValueError(
        f"must be a list of names, at least one, which count {BOOST} times, or an object of names "
        "with their factors; leave it out to boost nothing"
    )


def _refuse_other_names(schema: dict[str, Any]) -> None:
    """Say of every name how it must be: by `patternProperties`, any other would be welcome."""
    ((pattern, factor),) = schema.pop("patternProperties").items()
    schema["additionalProperties"] = factor
    schema["propertyNames"]["pattern"] = pattern


Weight = Annotated[float, Field(ge=0, le=MOST_WEIGHT), BeforeValidator(is_number)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(is_number)]
Name = Annotated[FilterText, Field(min_length=1)]
Factor = Annotated[float, Field(ge=LEAST_BOOST, le=MOST_BOOST), BeforeValidator(is_number)]
Factors = Annotated[
    dict[Name, Factor], Field(max_length=MOST_BOOSTS, json_schema_extra=_refuse_other_names)
]
Boosts = Annotated[
    Factors,
    BeforeValidator(
        _with_usual_factor,
        json_schema_input_type=Factors
        | Annotated[list[Name], Field(min_length=1, max_length=MOST_BOOSTS)],
    ),
]
"""Names with their factors, or a list of names that count 1.3 times."""


class RankingFields(BaseModel):
    """What decides the order beside the fusion; what is left out stays as it is.

    See docs/ranking.md for the formulas.
    """

    model_config = ConfigDict(extra="forbid")

    fused_weight: Weight | None = Field(
        None, description="Of the fused score, by which results are ordered when nothing is said."
    )
    cosine_weight: Weight | None = Field(None, description="Of the cosine alone.")
    recency_weight: Weight | None = Field(
        None, description="Of 0.5 to the power of the document's age in half-lives."
    )
    recency_half_life_days: (
        Annotated[
            float,
            Field(ge=LEAST_HALF_LIFE_DAYS, le=MOST_HALF_LIFE_DAYS),
            BeforeValidator(is_number),
        ]
        | None
    ) = Field(None, description="After so many days a document counts half. Default: 90.")
    importance_weight: Weight | None = Field(
        None,
        description="Of the item's `importance` and of the file's, told by its name: 1 for README, "
        "index and main, 0.2 for tests, examples and changelogs, 0.5 for others.",
    )
    completeness_weight: Weight | None = Field(
        None, description="Of 1 for whole sections, 0 for a chunk cut out of a paragraph."
    )
    tag_boosts: Boosts | None = Field(
        None,
        description="Tags with the factor for results that have them; a list means 1.3 each.",
        examples=[{"rust": 1.3}],
    )
    category_boosts: Boosts | None = Field(
        None, description="Categories with their factors; each holds for all below it, too."
    )
    language_boosts: Boosts | None = Field(None, description="Languages with their factors.")
    document_penalty: Share | None = Field(
        None,
        description="What a result loses for each better one of the same document, four at most; "
        "in the mode `hybrid` with the fusion `coverage`. Default: 0.01.",
    )
    test_penalty: Share | None = Field(
        None,
        description="What a test of code, told by its path, loses of its fused score unless the "
        "query asks for tests; in the mode `hybrid` with the fusion `coverage`. Default: 0.2.",
    )
    diversity: Share | None = Field(
        None, description="How much a result loses that repeats one above it (MMR's 1 - lambda)."
    )
    feedback_weight: Weight | None = Field(
        None,
        description="Ask again with the query moved towards the first results by so much "
        "(Rocchio's beta); not in the mode `lexical`.",
    )
    feedback_results: (
        Annotated[int, Field(ge=1, le=MOST_FEEDBACK_RESULTS), BeforeValidator(is_number)] | None
    ) = Field(
        None,
        description="How many first results that are, among the best 500 candidates. Default: 5.",
    )
    expand: StrictBool | None = Field(
        None, description="Ask in up to two other wordings, too: abbreviations written out, …"
    )
    least_share: Share | None = Field(
        None,
        description="Leave out results whose score is below this share of the best one's "
        "(adaptive k); there are never more than `n_results`.",
    )

    def wishes(self, profile: RankingProfile | None) -> RankingWishes:
        """As the service takes it."""
        given = self.model_dump(include=set(RankingFields.model_fields), exclude_none=True)
        for name in BOOST_FIELDS:
            if name in given:
                given[name] = tuple(given[name].items())
        return RankingWishes(profile=None if profile is None else profile.value, **given)


class CollectionRankingBody(RankingFields):
    """How searches of a collection are ranked, unless they say so themselves."""

    profile: RankingProfile | None = Field(None, description="What to start from.")


class StoredRanking(CollectionRankingBody):
    """How searches of a collection are ranked, as it is kept."""

    @classmethod
    def of(cls, wishes: RankingWishes) -> Self:
        """As it is kept."""
        return cls.model_validate(wishes.as_json())


class SignalExplanation(BaseModel):
    """How the final score came about where more than the fused score counts.

    `boosted_score` is the sum of the parts times `boost` (divided by it, if below 0); the final
    score is `(1 - diversity) * boosted_score - diversity * repetition`, less `document_penalty`.
    """

    model_config = ConfigDict(from_attributes=True)

    fused_part: float = Field(
        description="fused_weight times the fused score less `test_penalty` (`rrf`: times 61)."
    )
    cosine_part: float
    recency: float | None = Field(description="Null, here and below: does not count.")
    recency_part: float
    importance: float | None
    importance_part: float
    completeness: float | None
    completeness_part: float
    boost: float
    boosted_score: float
    repetition: float | None = Field(description="The highest cosine to a result above it.")
    diversity: float


def wishes_of(profile: RankingProfile | None, fields: RankingFields | None) -> RankingWishes:
    """A profile, and what is to differ from it; both may be left out."""
    if fields is not None:
        return fields.wishes(profile)
    if profile is not None:
        return RankingWishes(profile=profile.value)
    return profiles.NO_WISHES
