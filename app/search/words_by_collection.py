"""The words of one query in the language of each collection."""

from collections.abc import Mapping

from app.adapters.text_analysis.languages import Languages
from app.search.words import QueryWords


class WordsByCollection:
    """Made once for a search, then asked about each text. For one thread."""

    def __init__(self, query: str, languages: Languages, by_collection: Mapping[str, str]) -> None:
        """`by_collection`: the language of each collection that has one of its own."""
        self._query = query
        self._languages = languages
        self._by_collection = by_collection
        self._words: dict[str, QueryWords] = {}
        self._default = self._in_language(None)

    @property
    def meaning(self) -> str:
        """The query without what it excludes: the text to embed."""
        return self._default.meaning

    @property
    def require_words(self) -> bool:
        """Whether only texts may answer that hold certain words: there is a phrase in quotes."""
        return self._default.require_words

    @property
    def must_read_phrases(self) -> bool:
        """Whether the lexical index may find texts that do not hold what stands in quotes."""
        return self._default.must_read_phrases

    @property
    def exclude_any(self) -> bool:
        """Whether the query names words that no result may say."""
        return self._default.exclude_any

    @property
    def demand_texts(self) -> bool:
        """Whether a text may be ruled out by what it says."""
        return self._default.demand_texts

    def of(self, collection: str) -> QueryWords:
        """The words as the texts of a collection have them."""
        return self._in_language(self._by_collection.get(collection))

    def _in_language(self, language: str | None) -> QueryWords:
        name = self._languages.known(language)
        if name not in self._words:
            parsed = self._languages.parse(self._query, name, self._by_collection.values())
            self._words[name] = QueryWords(parsed, self._languages.analyser(name))
        return self._words[name]
