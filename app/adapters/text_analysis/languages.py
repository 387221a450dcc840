"""The languages of a lexical index: an analyser for each, and marks that keep their terms apart.

A record holds the stems of one language, that of its collection. Those of any language but the
default bear its mark, so that no two languages share a term: each record is found by the form that
a word has in its own language, and by no other. With one language in use there is no mark.
"""

import threading
from collections.abc import Collection
from typing import NamedTuple

from app.adapters.text_analysis.analyser import KNOWN_LANGUAGES, Analyser
from app.adapters.text_analysis.query import ParsedQuery, parse_query

OTHER_CACHED_WORDS = 4_096
"""Words that stay analysed of a language beside the default one, in about 4 MB: however many
collections have languages of their own, all of Snowball's take little more than 100 MB."""

END_OF_MARK = ":"
"""Stands between a language and a term; no term contains it."""


class SpokenQuery(NamedTuple):
    """A query in the form in which the records of one language are asked."""

    mark: str
    """What their terms begin with; empty for the default language."""
    parsed: ParsedQuery


class Languages:
    """Hands out one analyser a language, made when it is first wanted. Safe from many threads."""

    def __init__(self, default: str = "english") -> None:
        """`default` is the language of records that name none; ValueError if it is not known."""
        self.default = default
        self._analysers = {default: Analyser(default)}
        self._making = threading.Lock()

    def known(self, language: str | None) -> str:
        """The language itself; the default for None, and for one that Snowball does not know."""
        return language if language in KNOWN_LANGUAGES else self.default

    def analyser(self, language: str | None = None) -> Analyser:
        """The analyser of a language; None stands for the default one."""
        name = self.known(language)
        with self._making:
            if name not in self._analysers:
                self._analysers[name] = Analyser(name, OTHER_CACHED_WORDS)
            return self._analysers[name]

    def mark(self, language: str | None) -> str:
        """What the terms of its records begin with."""
        name = self.known(language)
        return "" if name == self.default else name + END_OF_MARK

    def parse(self, query: str, language: str | None, in_use: Collection[str]) -> ParsedQuery:
        """The query in one language, where all these and the default one are in use.

        What says nothing of the subject is not looked for in any of them: a question in one
        language is not to be answered by what its little words happen to mean in another.
        """
        others = frozenset({self.default, *map(self.known, in_use)})
        return parse_query(query, self.analyser(language), others)

    def queries(self, query: str, in_use: Collection[str]) -> tuple[SpokenQuery, ...]:
        """The query in the default language, and in each of the others that are in use."""
        names = dict.fromkeys([self.default, *sorted(map(self.known, in_use))])
        return tuple(
            SpokenQuery(self.mark(name), self.parse(query, name, in_use)) for name in names
        )
