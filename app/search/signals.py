"""The signals of a chunk besides its text, as numbers from 0 to 1, and the factors of boosts."""

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath

import numpy as np

from app.accents import composed
from app.adapters.text_analysis.code_tests import is_code_test
from app.labels import normalise_category
from app.search.fusion import Floats
from app.search.language_tags import language_tag, tags_that_hold
from app.search.profiles import LEAST_BOOST, MOST_BOOST, Boosts, Ranking

UNKNOWN_COMPLETENESS = 0.5
"""For chunks that were made before the splitter measured it."""

CORE, ORDINARY, PERIPHERAL = 1.0, 0.5, 0.2
"""Importance by the name of a file: read first, anything else, read last."""

_CORE_NAMES = re.compile(
    r"(?:readme|claude|agents|index|overview|introduction|getting[-_]started|quick[-_]?start"
    r"|main|app|__init__|__main__|lib|mod|package|pyproject)(?:\.\w+){0,2}",
    re.IGNORECASE,
)
_PERIPHERAL_NAMES = re.compile(
    r"(?:changelog|changes|history|news|licen[sc]e|copying|authors|contributors"
    r"|code_of_conduct)(?:\.\w+)?",
    re.IGNORECASE,
)
_PERIPHERAL = """
test tests testing __tests__ spec specs fixtures examples example samples sample demo demos archive
archived deprecated legacy old vendor third_party
"""
_PERIPHERAL_FOLDERS = frozenset(_PERIPHERAL.split())

DAY = timedelta(days=1)


@dataclass(frozen=True)
class SignalFacts:
    """What SQL holds about a chunk."""

    key: str
    """The key of its document: a relative path or an address."""
    modified_at: datetime
    """When its source was last changed; if that is not known, when it was last read."""
    item_importance: float | None
    completeness: float | None
    category: str | None = None
    """This and the next two are only set if names are boosted."""
    language: str | None = None
    tags: Sequence[str] = ()


def recency(modified_at: datetime, now: datetime, half_life_days: float) -> float:
    """1 for what was changed now (or will be), 0.5 a half-life ago, 0.25 two ago, …"""
    days = max((now - modified_at) / DAY, 0.0)
    return float(0.5 ** (days / half_life_days))


def importance(key: str, item_importance: float | None) -> float:
    """The importance by the file's name; if the item states its own, the mean of both."""
    of_file = file_importance(key)
    return of_file if item_importance is None else (of_file + item_importance) / 2


@functools.lru_cache(4096)  # the same documents are found again and again
def file_importance(key: str) -> float:
    """CORE, ORDINARY or PERIPHERAL, by the file's name and the folders that it lies in."""
    path = PurePosixPath(key)
    if "://" in key:
        page = key.partition("?")[0].partition("#")[0]
        path = PurePosixPath(*PurePosixPath(page).parts[2:])  # without scheme and host
    folders = {part.lower() for part in path.parts[:-1]}
    if folders & _PERIPHERAL_FOLDERS or _PERIPHERAL_NAMES.fullmatch(path.name) or is_code_test(key):
        return PERIPHERAL
    is_front_page = "://" in key and not path.name
    return CORE if is_front_page or _CORE_NAMES.fullmatch(path.name) else ORDINARY


def completeness(told: float | None) -> float:
    """As the splitter measured it, or UNKNOWN_COMPLETENESS."""
    return UNKNOWN_COMPLETENESS if told is None else told


def boost(facts: SignalFacts, ranking: Ranking) -> float:
    """The product of the factors of all names that apply, from LEAST_BOOST to MOST_BOOST.

    Names are compared without regard to case, and in the form in which labels are stored: in NFC,
    trimmed, a category without needless slashes. A category applies to everything below it, a
    language to its regional kinds. Names that come to the same count once, with the last factor.
    """
    factor = _matching(ranking.tag_boosts, _as_tag, {tag.casefold() for tag in facts.tags})
    languages = tags_that_hold(facts.language or "")
    factor *= _matching(ranking.language_boosts, language_tag, languages)
    categories = _with_those_above(facts.category)
    factor *= _matching(ranking.category_boosts, _as_category, categories)
    return min(max(factor, LEAST_BOOST), MOST_BOOST)


def boosted(scores: Floats, factors: Floats) -> Floats:
    """Scores times their factors; one below 0 is divided, so that a boost never lowers it."""
    return np.where(scores >= 0, scores * factors, scores / factors)


def _matching(boosts: Boosts, as_written: Callable[[str], str], names: set[str]) -> float:
    factors = {as_written(name).casefold(): factor for name, factor in boosts}
    return math.prod(factor for name, factor in factors.items() if name and name in names)


def _as_tag(name: str) -> str:
    return composed(name).strip()


def _as_category(name: str) -> str:
    return normalise_category(name) or ""


def _with_those_above(category: str | None) -> set[str]:
    parts = (category or "").casefold().split("/")
    return {"/".join(parts[: depth + 1]) for depth in range(len(parts))}
