"""A lexical index in memory that scans everything: simple, slow, and the oracle of matching."""

import threading
from collections.abc import Mapping, Sequence

from app.adapters.lexical_index.as_typed import raised
from app.adapters.text_analysis.code_tests import is_code_test
from app.adapters.text_analysis.headings import heading_terms, names_of
from app.adapters.text_analysis.languages import Languages
from app.adapters.text_analysis.numbered_names import numbered_names
from app.adapters.text_analysis.operators import operators_in
from app.adapters.text_analysis.path_tails import AskedPath, path_tails
from app.adapters.text_analysis.said_words import SaidWords
from app.adapters.text_analysis.shown import shown_paragraphs
from app.adapters.text_analysis.terms import Phrase, Word, needs_signs
from app.errors import LexicalIndexError
from app.protocols import EVERYWHERE, LexicalHit, LexicalRecord, QueryWorth, SearchScope


class FakeLexicalIndex:
    """Scores by how often the words of a query stand in a record, titles counted twice.

    What says the query as it was typed counts by how much of it; what lies at a path in the query a
    thousand times as much as what says the words, and what stands under a heading that is the query
    half of that.
    """

    def __init__(self, language: str = "english") -> None:
        self._languages = Languages(language)
        self._records: dict[str, LexicalRecord] = {}
        self._found: dict[str, list[tuple[LexicalRecord, float]]] = {}
        """By query what scores with it, of the records as they are."""
        self._lock = threading.Lock()
        self._closed = False
        self.closes = True
        self.broken = False
        """While set, every operation fails."""
        self.unreadable = False
        """While set, it cannot tell what it holds, and finds words all the same."""
        self.poison: str | None = None
        """A query that fails."""

    def upsert(self, records: Sequence[LexicalRecord]) -> None:
        with self._lock:
            self._require_sound()
            self._records.update({record.chunk_id: record for record in records})
            self._found = {}

    def add(self, records: Sequence[LexicalRecord]) -> None:
        self.upsert(records)

    def keep(self) -> None:
        with self._lock:
            self._require_sound()

    def remove(self, chunk_ids: Sequence[str]) -> None:
        with self._lock:
            self._require_sound()
            for chunk_id in chunk_ids:
                self._records.pop(chunk_id, None)
            self._found = {}

    def search(self, query: str, limit: int, scope: SearchScope = EVERYWHERE) -> list[LexicalHit]:
        with self._lock:
            self._require_sound()
            if query == self.poison:
                raise LexicalIndexError("The fake index cannot answer this.")
            records, known = list(self._records.values()), self._found
        if query not in known:  # a search that is told too little asks again for more
            known[query] = self._scored(query, records)
        hits = [
            LexicalHit(record.chunk_id, score)
            for record, score in known[query]
            if _in_scope(record, scope)
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[: max(0, limit)]

    def _scored(
        self, query: str, records: Sequence[LexicalRecord]
    ) -> list[tuple[LexicalRecord, float]]:
        in_use = _in_use(records)
        held = {operator for record in records for operator in _operators(record)}
        scored = []
        for record in records:
            parsed = self._languages.parse(query, record.language, in_use)
            texts = self._texts(record)
            quoted = [*texts[:-1], *self._shown(record)]
            operators = _operators(record)
            if (
                any(SaidWords(texts[0]).say(phrase) for phrase in parsed.excluded)
                or not all(_count(phrase, quoted) for phrase in parsed.phrases)
                or not operators.issuperset(parsed.quoted_operators)
                or not operators_in(record.content).isdisjoint(parsed.excluded_operators)
            ):
                continue
            is_idle = parsed.says_only_stop_words and not held.isdisjoint(parsed.all_operators)
            score = sum(
                _count((_bare(word),), texts, loosely=not word.version)
                for word in ([] if is_idle else parsed.words)
            )
            score += sum(_count(phrase, quoted) for phrase in parsed.phrases)
            score += len(operators.intersection(parsed.all_operators))
            score += len({word.switch for word in texts[0]}.intersection(parsed.excluding_switches))
            score = raised(score, _share(parsed.neighbours, texts[:-1]))
            score += _named(parsed.paths, record.path)
            if parsed.heading in self._headings(record):
                score += 500
            if score:
                scored.append((record, float(score)))
        return scored

    def documents_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        with self._lock:
            self._require_sound()
            if self.unreadable:
                raise LexicalIndexError("The fake index cannot be read.")
            found = (self._records.get(chunk_id) for chunk_id in chunk_ids)
            return {record.chunk_id: record.document_number for record in found if record}

    def documents_of_tests(self) -> frozenset[int]:
        with self._lock:
            self._require_sound()
            records = self._records.values()
            return frozenset(each.document_number for each in records if is_code_test(each.path))

    def in_other_language(self, expected: Mapping[str, str | None]) -> set[str]:
        with self._lock:
            self._require_sound()
            known = self._languages.known
            return {
                chunk_id
                for chunk_id, language in expected.items()
                if (record := self._records.get(chunk_id))
                and known(record.language) != known(language)
            }

    def worth(self, query: str) -> QueryWorth:
        with self._lock:
            self._require_sound()
            records = list(self._records.values())
        parsed = self._languages.parse(query, None, _in_use(records))
        asked = len(parsed.words) + sum(map(len, parsed.phrases)) + len(parsed.all_operators)
        return QueryWorth(2.0 * asked, guessed=0.0)

    def chunk_ids(self) -> set[str]:
        with self._lock:
            self._require_sound()
            return set(self._records)

    def count(self) -> int:
        with self._lock:
            self._require_sound()
            return len(self._records)

    def close(self) -> None:
        self._closed = True
        if not self.closes:
            raise LexicalIndexError("What was written last could not be stored.")

    def reopen(self) -> None:
        """As the next process does: what it held is there."""
        self._closed = False

    def _require_sound(self) -> None:
        if self._closed or self.broken:
            raise LexicalIndexError("The fake index is closed or broken.")

    def _shown(self, record: LexicalRecord) -> list[list[Word]]:
        analyser = self._languages.analyser(record.language)
        return list(map(analyser.words, shown_paragraphs(record.content, record.path)))

    def _headings(self, record: LexicalRecord) -> list[str]:
        names = names_of(record.titles, record.heading_path, record.content, record.path)
        analyser = self._languages.analyser(record.language)
        return [term for name in names for term in heading_terms(name, analyser)]

    def _texts(self, record: LexicalRecord) -> list[list[Word]]:
        """Each field's words; the titles stand twice, which doubles their weight."""
        titles = [*record.titles, *record.heading_path]
        return [
            self._languages.analyser(record.language).words(text)
            for text in (record.content, *titles, *titles, record.path)
        ]


def _operators(record: LexicalRecord) -> set[str]:
    return operators_in(record.content, *record.titles, *record.heading_path)


def _in_use(records: Sequence[LexicalRecord]) -> set[str]:
    return {record.language for record in records if record.language is not None}


def _in_scope(record: LexicalRecord, scope: SearchScope) -> bool:
    return (scope.item_ids is None or record.item_id in scope.item_ids) and (
        scope.document_numbers is None or record.document_number in scope.document_numbers
    )


def _named(paths: Sequence[AskedPath], key: str) -> float:
    tails = {*path_tails(key), *numbered_names(key)}
    places = [path.ways.index(way) for path in paths for way in path.ways if way in tails]
    return sum(1000 / (1 + place) for place in places)


def _share(neighbours: Sequence[Phrase], texts: list[list[Word]]) -> float:
    """Of the neighbours those that stand side by side in the texts, too."""
    said = [_count(phrase, texts) > 0 for phrase in neighbours]
    return sum(said) / len(said) if said else 0.0


def _bare(word: Word) -> Word:
    """A version without the v before it; other words as they are."""
    return Word(word.version, (), "", "") if word.version else word


def _count(phrase: Phrase, texts: list[list[Word]], *, loosely: bool = False) -> int:
    """How often the phrase stands in the texts; `loosely`: any part of its words will do."""
    if loosely:
        wanted = {term for word in phrase for term in _terms(word)}
        return sum(len(wanted & _terms(word)) for text in texts for word in text)
    return sum(_count_in(phrase, text) for text in texts)


def _count_in(phrase: Phrase, text: list[Word]) -> int:
    """Within how many words of the text the phrase begins, names taken apart or not."""
    whole = phrase[0].whole if len(phrase) == 1 else ""
    if needs_signs(phrase):
        return sum(whole in _terms(word) for word in text) if whole else 0
    words_at: dict[int, list[Word]] = {}
    parts: list[str] = []
    starts = []
    for word in text:
        starts.append(range(len(parts), len(parts) + len(word.parts)))
        words_at[len(parts)] = [word]
        for name in word.names_within:
            named = Word(word.parts[name.first : name.end], (), name.whole, name.stem)
            words_at.setdefault(len(parts) + name.first, []).append(named)
        parts += word.parts
    return sum(
        (whole != "" and whole in _terms(word))
        or any(_says_from(phrase, parts, words_at, start) for start in within)
        for word, within in zip(text, starts, strict=True)
    )


def _says_from(
    phrase: Phrase, parts: list[str], words_at: dict[int, list[Word]], start: int, first: int = 0
) -> bool:
    """Whether the words of the phrase, from its `first`, follow each other from this part on."""
    if first == len(phrase):
        return True
    if start >= len(parts):
        return False
    word = phrase[first]
    ends = set()
    held = parts[start : start + len(word.parts)]
    if len(held) == len(word.parts) and all(
        part == term or word.is_half_of(part) for term, part in zip(word.parts, held, strict=True)
    ):
        ends.add(start + len(held))
    if word.stem and parts[start] == word.stem:
        ends.add(start + 1)
    ends |= {start + len(one.parts) for one in words_at.get(start, ()) if _same(word, one)}
    return any(_says_from(phrase, parts, words_at, end, first + 1) for end in ends)


def _same(one: Word, other: Word) -> bool:
    return one.parts == other.parts or (one.stem != "" and one.stem == other.stem)


def _terms(word: Word) -> set[str]:
    singles = {single for single, _, _ in word.singles}
    signed = {name for name, _ in word.signed}
    names = {name.stem for name in word.names_within}
    wholes = {word.whole, word.stem} if word.whole else set()
    return {*word.parts, *singles, *signed, *names, *wholes}
