"""The settings of each collection, its ranking and its language, as changed over HTTP."""

import dataclasses
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.adapters.text_analysis.analyser import language_complaint
from app.database import Database
from app.errors import InvalidRequestError, NotFoundError
from app.knowledge.index_changes import note_collection_changes
from app.search import collection_queries
from app.search.profiles import BOOST_FIELDS, NO_WISHES, PROFILE_NAMES, RankingWishes


@dataclass(frozen=True)
class Collection:
    """A collection and its settings."""

    name: str
    items: int
    """How many items name it."""
    ranking: RankingWishes
    language: str | None
    """The language by which its words are stemmed, as Snowball names it; None: LEXICAL_LANGUAGE."""


class CollectionSettings:
    """Keeps the settings of all collections in memory, so that a search need not ask SQL for them.

    One process holds a data directory at a time, so no other changes what is stored. Safe to call
    from many threads.
    """

    def __init__(
        self,
        database: Database,
        default_collection: str,
        default_language: str,
        on_index_changes: Callable[[], None] = lambda: None,
    ) -> None:
        """`default_language` is that of collections without one of their own.

        `on_index_changes` is called when there are new rows in the outbox.
        """
        self._database = database
        self._default = default_collection
        self._default_language = default_language
        self._on_index_changes = on_index_changes
        self._rankings: Mapping[str, RankingWishes] = {}
        self._languages: Mapping[str, str] = {}
        self._changing = threading.Lock()

    def load(self) -> None:
        """Read what is stored; call it once the tables exist."""
        with self._database.read() as session:
            stored = collection_queries.rankings(session)
            self._languages = collection_queries.languages(session)
        self._rankings = {name: stored_wishes(settings) for name, settings in stored.items()}

    def ranking_of(self, collection: str | None) -> RankingWishes:
        """What the collection says; None stands for the default one."""
        return self._rankings.get(self._default if collection is None else collection, NO_WISHES)

    def languages(self) -> Mapping[str, str]:
        """The language of each collection that has one of its own."""
        return self._languages

    def all(self) -> list[Collection]:
        """Every collection that items name, that says something, or is the default, by name."""
        with self._database.read() as session:
            counts = collection_queries.item_counts(session)
        ranked = [name for name, wishes in self._rankings.items() if wishes != NO_WISHES]
        for name in (self._default, *ranked, *self._languages):
            counts.setdefault(name, 0)
        return [
            Collection(name, counts[name], self.ranking_of(name), self._languages.get(name))
            for name in sorted(counts)
        ]

    def get(self, name: str) -> Collection:
        """One collection; raises NotFoundError."""
        found = next((one for one in self.all() if one.name == name), None)
        if found is None:
            raise NotFoundError(
                f"No item is in a collection {name!r}, and it has no ranking or language: "
                "GET /api/v1/rag/collections."
            )
        return found

    def rank(self, name: str, ranking: RankingWishes) -> Collection:
        """Let searches of this collection be ranked so, from now on; raises NotFoundError."""
        found = self.get(name)
        with self._changing:
            with self._database.write() as session:
                collection_queries.store_ranking(session, name, ranking.as_json())
            self._rankings = {**self._rankings, name: ranking}
        return replace(found, ranking=ranking)

    def set_language(self, name: str, language: str | None) -> Collection:
        """Set the language by which the words of this collection's items are stemmed.

        None stands for the language of the settings. The lexical index is told through the outbox,
        and follows soon. Raises NotFoundError, and InvalidRequestError for an unknown language.
        """
        complaint = None if language is None else language_complaint(language)
        if complaint is not None:
            raise InvalidRequestError(complaint, pointer="#/language", location="body")
        found = self.get(name)
        with self._changing:
            if self._languages.get(name) != language:
                with self._database.write() as session:
                    collection_queries.store_language(session, name, language)
                    if self._changes_stems(self._languages.get(name), language):
                        note_collection_changes(session, name)
                others = {key: kept for key, kept in self._languages.items() if key != name}
                self._languages = others if language is None else {**others, name: language}
        self._on_index_changes()
        return replace(found, language=language)

    def _changes_stems(self, former: str | None, language: str | None) -> bool:
        """Whether stems change: naming the language of the settings explicitly changes none."""
        return (former or self._default_language) != (language or self._default_language)


def stored_wishes(settings: Mapping[str, Any]) -> RankingWishes:
    """What `RankingWishes.as_json` gave; what this version does not know is left out."""
    known = {field.name for field in dataclasses.fields(RankingWishes)}
    values = {name: value for name, value in settings.items() if name in known}
    if values.get("profile") not in PROFILE_NAMES:
        values.pop("profile", None)
    boosts = {name: of for name, of in values.items() if name in BOOST_FIELDS}
    values |= {
        name: tuple(of.items()) if isinstance(of, dict) else None for name, of in boosts.items()
    }
    return RankingWishes(**values) if values else NO_WISHES
