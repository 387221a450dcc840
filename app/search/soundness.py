"""Reads requests from Python as HTTP would, and refuses what it would refuse, by the same rule.

A filter that is given and names nothing is refused: taken for "everything" it would find what it
was to leave out, and taken for "nothing" it would hide that somebody's variable was empty. Two
empty lists mean something all the same: no `tags` are wished for, no `knowledge_ids` are allowed.
"""

import dataclasses
import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar, get_args

from app.errors import InvalidRequestError
from app.json_numbers import LARGEST_ID
from app.knowledge.filters import MOST_FILTER_CHARACTERS, MOST_FILTER_TAGS
from app.knowledge.items import DocumentType, TagsMatch
from app.labels import normalise_category, tidy_tags
from app.protocols import CHUNK_TYPES
from app.search.path_globs import require_a_glob
from app.search.profiles import (
    BOOST_FIELDS,
    LEAST_BOOST,
    LEAST_HALF_LIFE_DAYS,
    MOST_BOOST,
    MOST_BOOSTS,
    MOST_FEEDBACK_RESULTS,
    MOST_HALF_LIFE_DAYS,
    MOST_WEIGHT,
    PROFILE_NAMES,
    RankingWishes,
)
from app.search.requests import (
    LEAST_TOKENS,
    MOST_TOKENS,
    ContextFormatName,
    ContextRequest,
    FusionMethod,
    GroupBy,
    LicencePolicy,
    Mode,
    SearchRequest,
)

Item = TypeVar("Item")

MOST_QUERY_CHARACTERS = 8000
MOST_RESULTS = 100
MOST_DEPTH = 1000
MOST_KNOWLEDGE_IDS = 10_000
MOST_CONTEXT_CHUNKS = 5
"""On each side of a result."""
MOST_OF_LIST = {"document_types": 20, "chunk_types": 20, "paths": 50, "languages": 50}

HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""NUL and halves of characters: no stored text has them, and SQL takes neither."""


RANKING_BOUNDS: Mapping[str, tuple[float, float]] = {
    "fused_weight": (0, MOST_WEIGHT),
    "cosine_weight": (0, MOST_WEIGHT),
    "recency_weight": (0, MOST_WEIGHT),
    "recency_half_life_days": (LEAST_HALF_LIFE_DAYS, MOST_HALF_LIFE_DAYS),
    "importance_weight": (0, MOST_WEIGHT),
    "completeness_weight": (0, MOST_WEIGHT),
    "document_penalty": (0, 1),
    "test_penalty": (0, 1),
    "diversity": (0, 1),
    "feedback_weight": (0, MOST_WEIGHT),
    "feedback_results": (1, MOST_FEEDBACK_RESULTS),
    "least_share": (0, 1),
}


def sound_search(request: SearchRequest) -> SearchRequest:
    """The search, with category and tags written as stored ones are, and each list a tuple.

    Raises InvalidRequestError for the first field that cannot be meant.
    """
    _require_sound(request)
    ids = request.knowledge_ids
    return dataclasses.replace(
        request,
        category=normalise_category(request.category),
        tags=tuple(tidy_tags(request.tags)),
        knowledge_ids=None if ids is None else tuple(ids),
        document_types=tuple(request.document_types),
        chunk_types=tuple(request.chunk_types),
        paths=tuple(request.paths),
        languages=tuple(request.languages),
    )


def sound_context(request: ContextRequest) -> ContextRequest:
    """The same for a context, whether the field is one of the search or not."""
    search = sound_search(request.search)
    _require_number("max_tokens", request.max_tokens, LEAST_TOKENS, MOST_TOKENS)
    _require_one_of("format", request.format, get_args(ContextFormatName))
    return dataclasses.replace(request, search=search)


def listed(name: str, values: Iterable[Item]) -> tuple[Item, ...]:
    """The values of a list of whatever kind; raises InvalidRequestError for what is none."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise _refusal(name, "is a list")
    return tuple(values)


def require_sound_ranking(wishes: RankingWishes, below: str = "") -> None:
    """Raise InvalidRequestError for the first wish that cannot be meant; `below` leads to it."""
    if not isinstance(wishes, RankingWishes):
        raise _refusal("ranking", "is a RankingWishes; leave it out to wish for nothing")
    _require_one_of("profile", wishes.profile, (None, *PROFILE_NAMES))
    for name, (least, most) in RANKING_BOUNDS.items():
        value, whole = getattr(wishes, name), name == "feedback_results"
        if value is not None:
            _require_number(f"{below}{name}", value, least, most, whole=whole)
    _require_one_of(f"{below}expand", wishes.expand, (None, True, False))
    for name in BOOST_FIELDS:
        boosts = getattr(wishes, name) or ()
        _require_at_most(f"{below}{name}", boosts, MOST_BOOSTS)
        for named, factor in map(functools.partial(_pair, f"{below}{name}"), boosts):
            _require(_text(f"{below}{name}", named), f"{below}{name}")
            _require_number(f"{below}{name}", factor, LEAST_BOOST, MOST_BOOST, whole=False)


def _require_sound(request: SearchRequest) -> None:
    _require_query(request.query)
    _require_number("n_results", request.n_results, 1, MOST_RESULTS)
    _require_number("dense_depth", request.dense_depth, 1, MOST_DEPTH)
    _require_number("lexical_depth", request.lexical_depth, 1, MOST_DEPTH)
    _require_number("context_chunks", request.context_chunks, 0, MOST_CONTEXT_CHUNKS)
    _require_one_of("mode", request.mode, get_args(Mode))
    _require_one_of("fusion", request.fusion, get_args(FusionMethod))
    _require_one_of("tags_match", request.tags_match, get_args(TagsMatch))
    _require_one_of("licence_policy", request.licence_policy, get_args(LicencePolicy))
    _require_one_of("group_by", request.group_by, (None, *get_args(GroupBy)))
    if request.min_score is not None:
        _require_number("min_score", request.min_score, 0, 1, whole=False)
    if request.max_tokens is not None:
        _require_number("max_tokens", request.max_tokens, 1, MOST_TOKENS)
    for name in ("indexed_after", "indexed_before"):
        moment = getattr(request, name)
        if moment is not None and (not isinstance(moment, datetime) or moment.tzinfo is None):
            raise _refusal(name, "is a point in time with a time zone")
    _require_sound_filters(request)
    require_sound_ranking(request.ranking, "ranking/")


def _require_sound_filters(request: SearchRequest) -> None:
    if request.category is not None and _text("category", request.category) is not None:
        _require(normalise_category(request.category), "category")
    if request.collection is not None:
        _require(_text("collection", request.collection).strip(), "collection")
    _require_at_most("tags", request.tags, MOST_FILTER_TAGS)
    for tag in request.tags:
        _require(tidy_tags([_text("tags", tag)]), "tags")
    if request.knowledge_ids is not None:
        _require_at_most("knowledge_ids", request.knowledge_ids, MOST_KNOWLEDGE_IDS)
        for item_id in request.knowledge_ids:
            _require_number("knowledge_ids", item_id, 1, LARGEST_ID)
    for name, most in MOST_OF_LIST.items():
        values = getattr(request, name)
        _require_at_most(name, values, most)
        for value in values:
            _require(_text(name, value).strip(), name)
    for path in request.paths:
        _require_a_glob(path)
    for kind in request.document_types:
        _require_one_of("document_types", kind, tuple(each.value for each in DocumentType))
    for kind in request.chunk_types:
        _require_one_of("chunk_types", kind, CHUNK_TYPES)


def _require_a_glob(path: str) -> None:
    try:
        require_a_glob(path)
    except ValueError as error:
        raise _refusal("paths", str(error)) from error


def _require_query(query: object) -> None:
    if not isinstance(query, str) or not query.strip():
        raise InvalidRequestError("A search needs a query.", "#/query", "body")
    if len(query) > MOST_QUERY_CHARACTERS:
        raise _refusal("query", f"has at most {MOST_QUERY_CHARACTERS:,} characters")
    if HALF_CHARACTER.search(query):
        raise _refusal("query", "must not contain halves of characters")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _refusal(name, "is a text")
    if len(value) > MOST_FILTER_CHARACTERS or UNSTORABLE.search(value):
        raise _refusal(
            name, f"has at most {MOST_FILTER_CHARACTERS} characters, no NUL and no half ones"
        )
    return value


def _pair(name: str, value: object) -> tuple[object, object]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise _refusal(name, 'is a list of names, each with its factor: ("rust", 1.3)')
    return value[0], value[1]


def _require(named: object, name: str) -> None:
    if not named:
        raise _refusal(name, "names nothing; leave it out to mean everything")


def _require_at_most(name: str, values: object, most: int) -> None:
    if isinstance(values, str | bytes) or not isinstance(values, Collection) or len(values) > most:
        raise _refusal(name, f"is a list of at most {most:,}")


def _require_number(
    name: str, value: object, least: float, most: float, *, whole: bool = True
) -> None:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        raise _refusal(name, f"is a number from {least} to {most}")


def _require_one_of(name: str, value: object, possible: Sequence[object]) -> None:
    if value not in possible:
        names = ", ".join(str(each) for each in possible if each is not None)
        raise _refusal(name, f"is one of: {names}")


def _refusal(name: str, complaint: str) -> InvalidRequestError:
    return InvalidRequestError(f"{name} {complaint}.", f"#/{name}", "body")
