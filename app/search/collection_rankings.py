"""The ranking that each collection has of its own: read at every search, changed over HTTP."""

import dataclasses
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.database import Database
from app.errors import NotFoundError
from app.search import collection_queries
from app.search.profiles import NO_WISHES, PROFILE_NAMES, RankingWishes


@dataclass(frozen=True)
class CollectionRanking:
    """A collection, and what it says of ranking."""

    name: str
    items: int
    """How many items name it."""
    ranking: RankingWishes


class CollectionRankings:
    """Knows every collection's ranking by heart, so that a search need not ask SQL for it.

    One process holds a data directory at a time, so nobody else changes what is stored. Safe from
    many threads.
    """

    def __init__(self, database: Database, default_collection: str) -> None:
        self._database = database
        self._default = default_collection
        self._known: Mapping[str, RankingWishes] = {}
        self._changing = threading.Lock()

    def load(self) -> None:
        """Read what is stored; to be called once the tables are there."""
        with self._database.read() as session:
            stored = collection_queries.rankings(session)
        self._known = {name: wishes_of(settings) for name, settings in stored.items()}

    def of(self, collection: str | None) -> RankingWishes:
        """What the collection says; None stands for the default one."""
        return self._known.get(self._default if collection is None else collection, NO_WISHES)

    def all(self) -> list[CollectionRanking]:
        """Every collection that items name, that has a ranking, or is the default, by name."""
        with self._database.read() as session:
            counts = collection_queries.item_counts(session)
        ranked = [name for name, wishes in self._known.items() if wishes != NO_WISHES]
        for name in (self._default, *ranked):
            counts.setdefault(name, 0)
        return [CollectionRanking(name, counts[name], self.of(name)) for name in sorted(counts)]

    def get(self, name: str) -> CollectionRanking:
        """One collection; raises NotFoundError."""
        found = next((one for one in self.all() if one.name == name), None)
        if found is None:
            raise NotFoundError(
                f"No item is in a collection {name!r}, and it has no ranking: "
                "GET /api/v1/rag/collections."
            )
        return found

    def put(self, name: str, ranking: RankingWishes) -> CollectionRanking:
        """Let searches of this collection be ranked so, from now on; raises NotFoundError."""
        found = self.get(name)
        with self._changing:
            with self._database.write() as session:
                collection_queries.store_ranking(session, name, settings_of(ranking))
            self._known = {**self._known, name: ranking}
        return replace(found, ranking=ranking)


def settings_of(ranking: RankingWishes) -> dict[str, Any]:
    """As JSON: just what is said."""
    settings = ranking.given()
    if ranking.profile is not None:
        settings["profile"] = ranking.profile
    return {
        name: dict(value) if name.endswith("_boosts") else value for name, value in settings.items()
    }


def wishes_of(settings: Mapping[str, Any]) -> RankingWishes:
    """What `settings_of` wrote; what this version does not know is left out."""
    known = {field.name for field in dataclasses.fields(RankingWishes)}
    values = {name: value for name, value in settings.items() if name in known}
    if values.get("profile") not in PROFILE_NAMES:
        values.pop("profile", None)
    boosts = {name: tuple(of.items()) for name, of in values.items() if name.endswith("_boosts")}
    values |= boosts
    return RankingWishes(**values) if values else NO_WISHES
