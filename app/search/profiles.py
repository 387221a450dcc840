"""How results are ranked besides their fused score: settings, named profiles, and precedence."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

ProfileName = Literal["default", "code", "varied"]
PROFILE_NAMES: tuple[ProfileName, ...] = get_args(ProfileName)

Boosts = tuple[tuple[str, float], ...]
"""Names with their factors."""

BOOST_FIELDS = ("tag_boosts", "category_boosts", "language_boosts")
"""Those of a ranking that are Boosts; all others are numbers, or yes and no."""

BOOST = 1.3
"""The factor of a tag that is named without one, from the specification."""
LEAST_BOOST, MOST_BOOST = 0.1, 10.0
"""Bounds of one factor, and of the product of all that apply to a result."""
MOST_BOOSTS = 50
MOST_WEIGHT = 10.0
LEAST_HALF_LIFE_DAYS, MOST_HALF_LIFE_DAYS = 0.01, 36_500.0
MOST_FEEDBACK_RESULTS = 20


@dataclass(frozen=True)
class Ranking:
    """Everything besides the fusion that decides the order of results; by default, next to nothing.

    The formulas are those of docs/ranking.md.
    """

    fused_weight: float = 1.0
    """Of the fused score. Weights are 0 to MOST_WEIGHT."""
    cosine_weight: float = 0.0
    recency_weight: float = 0.0
    recency_half_life_days: float = 90.0
    importance_weight: float = 0.0
    completeness_weight: float = 0.0
    tag_boosts: Boosts = ()
    category_boosts: Boosts = ()
    """The factor of a category applies to everything below it."""
    language_boosts: Boosts = ()
    document_penalty: float = 0.01
    """What a result loses to each better one of the same document, to four at most; 0 to 1.
    What it gives: docs/adr/0020."""
    test_penalty: float = 0.2
    """What a test of code loses to the code, unless the query asks for tests; 0 to 1.
    What it gives: docs/adr/0030."""
    diversity: float = 0.0
    """0 to 1: how much a result loses for repeating those above it."""
    feedback_weight: float = 0.0
    """The weight of the first results' mean vector, added to the query's for a second round."""
    feedback_results: int = 5
    expand: bool = False
    """Whether to search with other wordings, too."""
    least_share: float = 0.0
    """Results below this share of the best one's score are left out."""

    @property
    def weighs(self) -> bool:
        """Whether more than the fused score and the penalties counts."""
        return (
            self.fused_weight != 1.0
            or self.cosine_weight > 0
            or self.diversity > 0
            or self.asks_for_facts
        )

    @property
    def asks_for_facts(self) -> bool:
        """Whether a signal or a boost counts, so that SignalFacts have to be read."""
        signal_weights = (self.recency_weight, self.importance_weight, self.completeness_weight)
        return any(signal_weights) or self.boosts

    @property
    def boosts(self) -> bool:
        """Whether any name is boosted."""
        return bool(self.tag_boosts or self.category_boosts or self.language_boosts)

    @property
    def widens(self) -> bool:
        """Whether the indexes are asked more than once."""
        return self.expand or self.feedback_weight > 0


@dataclass(frozen=True)
class RankingWishes:
    """What a request or a collection says of its ranking; None: nothing. As in Ranking."""

    profile: ProfileName | None = None
    """What to start from."""
    fused_weight: float | None = None
    cosine_weight: float | None = None
    recency_weight: float | None = None
    recency_half_life_days: float | None = None
    importance_weight: float | None = None
    completeness_weight: float | None = None
    tag_boosts: Boosts | None = None
    category_boosts: Boosts | None = None
    language_boosts: Boosts | None = None
    document_penalty: float | None = None
    test_penalty: float | None = None
    diversity: float | None = None
    feedback_weight: float | None = None
    feedback_results: int | None = None
    expand: bool | None = None
    least_share: float | None = None

    def given(self) -> dict[str, Any]:
        """Just what is said, the profile left out."""
        names = (field.name for field in dataclasses.fields(self) if field.name != "profile")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def as_json(self) -> dict[str, Any]:
        """Just what is said, as it is kept and shown."""
        said = {"profile": self.profile} if self.profile is not None else {}
        return said | {
            name: dict(value) if name in BOOST_FIELDS else value
            for name, value in self.given().items()
        }


NO_WISHES = RankingWishes()

PROFILES: Mapping[ProfileName, Ranking] = {
    "default": Ranking(),
    "code": Ranking(
        fused_weight=0.0,
        cosine_weight=0.6,
        recency_weight=0.2,
        importance_weight=0.1,
        completeness_weight=0.1,
        document_penalty=0.0,
    ),
    "varied": Ranking(recency_weight=0.1, diversity=0.2),
}
"""`code`: how the code specification reranks. `varied`: the `recency_boost` and the
`diversity_penalty` of its retrieval parameters, on top of the fused score."""


def resolved(request: RankingWishes, collection: RankingWishes = NO_WISHES) -> Ranking:
    """What holds: the request's own fields, then its profile, then the collection's, then nothing.

    A request that names a profile starts from that, whatever the collection says.
    """
    if request.profile is not None:
        base = PROFILES[request.profile]
    elif collection is NO_WISHES:
        base = PROFILES["default"]
    else:
        base = resolved(dataclasses.replace(collection, profile=collection.profile or "default"))
    given = request.given()
    return dataclasses.replace(base, **given) if given else base
