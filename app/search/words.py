"""Applies the words of a query to a text: is it excluded, and what is highlighted in it."""

import bisect
import functools
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.operators import operator_places, operators_in
from app.adapters.text_analysis.query import ParsedQuery
from app.adapters.text_analysis.said_words import PhrasesByBeginning, SaidWords
from app.adapters.text_analysis.shown import shown_paragraphs
from app.adapters.text_analysis.term_finder import TermFinder
from app.adapters.text_analysis.terms import Token, Word
from app.search.results import Highlight
from app.search.seen_characters import flags_in, whole_characters

MAX_WORD_HIGHLIGHTS = 50
"""Highlights per result; a reader needs no more to see why it was found."""

_SENTENCE_SIGNS = re.compile("[.!?\u2026\u061f\u06d4\u0964\u3002\uff01\uff1f\uff61\n]")
"""The characters with which the end of a sentence begins. They are looked for first: trying all
alternatives at every character takes twice as long."""

_SENTENCE_END = re.compile(
    r"[.!?\u2026\u061f\u06d4\u0964][\"'\u201d\u2019)\]]*(\s+)(?=\S)"  # Arabic, Urdu, Hindi, too
    r"|[\u3002\uff01\uff1f\uff61][\"'\u201d\u2019)\]\u300d\u300f\uff09\u3011]*(\s*)"  # CJK
    r"|(\n\s*\n)"
    r"|(\n)(?=\s*(?:[-*+#|>]|\d+\.)\s)"
)
"""One of its groups is the space between two sentences, list entries or paragraphs, which is empty
between sentences that follow each other without any."""

_ABBREVIATION = re.compile(
    r"(?<![^\W_])(?:(?P<always>[eE]\.g|[iI]\.e|[cC]f|vs|Mrs?|Ms|Dr|Prof)"
    r"|(?P<number>No|Nr|Figs?|Sec|Art|Eq|Vol|pp?|approx|ca)"
    r"|(?P<word>etc|incl|resp|al|(?:[^\W\d_]\.)+[^\W\d_]))\Z"
)
"""Matches what a dot shortens: whatever follows, before a number, or before a lower-case word or a
bracket."""

_LONGEST_ABBREVIATION = 12

_HEADING = re.compile(
    r"#{1,6}[ \t][^\n]*|\*\*[^*\n]+\*\*|[^\n]+\n[ \t]*([=\-~^\"'`#*+.:_])\1{2,}[ \t]*"
)
"""A sentence that is only a heading: a Markdown one, a line in bold, or one with a line below."""

_Match = tuple[int, int, frozenset[str]]
"""Start, end and terms of a matched stretch."""


class QueryWords:
    """The words of one query in one language."""

    def __init__(self, parsed: ParsedQuery, analyser: Analyser) -> None:
        """`analyser` must be the one with which the query was parsed."""
        self._analyser = analyser
        self._parsed = parsed
        self._finder = TermFinder(_subject(self._parsed), analyser)
        self._excluded = PhrasesByBeginning(self._parsed.excluded)
        self._longer_version = _longer_version(self._parsed)
        self._flags = flags_in(self._parsed.wanted)

    @property
    def meaning(self) -> str:
        """The query without what it excludes: the text to embed."""
        return self._parsed.wanted

    @property
    def require_words(self) -> bool:
        """Whether something in quotes must stand in every result."""
        return bool(self._parsed.phrases or self._parsed.quoted_operators)

    @functools.cached_property
    def must_read_phrases(self) -> bool:
        """Whether the lexical index may also find texts that lack what stands in quotes."""
        return not self._parsed.are_phrases_surely_found

    @property
    def exclude_any(self) -> bool:
        """Whether the query excludes anything."""
        return bool(self._parsed.excluded or self._parsed.excluded_operators)

    @property
    def demand_texts(self) -> bool:
        """Whether a text may be ruled out by what it says."""
        return self.require_words or self.exclude_any

    def leave_out(self, content: str, path: str) -> bool:
        """Whether a stretch of a document says something that the query excludes, as it is written
        or as a reader sees it; `path` is the key of the document.
        """
        return self.exclude_any and self.reject(content, *shown_paragraphs(content, path))

    def reject(self, *contents: str) -> bool:
        """Whether one of the texts says something that the query excludes."""
        excluded = self._parsed.excluded_operators
        if excluded and not operators_in(*contents).isdisjoint(excluded):
            return True
        if not self._parsed.excluded:
            return False
        said = (SaidWords(self._analyser.words(content)) for content in contents)
        return any(one.say_any(self._excluded) for one in said)

    def lack_phrases(self, *texts: str) -> bool:
        """Whether a phrase or an operator in quotes stands in none of the texts."""
        if self._parsed.quoted_operators:
            said = operators_in(*texts)
            if not said.issuperset(self._parsed.quoted_operators):
                return True
        if not self._parsed.phrases:
            return False
        analysed = [self._analyser.analyse(text) for text in texts]
        return not all(
            any(_holds(tokens, phrase) for tokens in analysed) for phrase in self._parsed.phrases
        )

    def highlights(self, content: str, path: str = "") -> tuple[Highlight, ...]:
        """The sentence that says most of the matched words, and the words in order; empty if none.

        If there are too many, full matches are kept rather than partial ones, and of each word
        about as many. `path` is the key of the document.
        """
        found = list(self._matches(content))
        words = tuple(
            Highlight(start, end, content[start:end], "word") for start, end, _ in _best(found)
        )
        if not found:
            return ()
        start, end = self._telling_sentence(content, path, found)
        return (Highlight(start, end, content[start:end], "sentence"), *words)

    def _matches(self, content: str) -> Iterator[_Match]:
        """Each matched stretch; a name in one piece is one.

        In a script without spaces, pairs of characters that overlap are one stretch.
        """
        last: _Match | None = None
        for token in self._tokens(content):
            if last is not None and token.start < last[1]:
                last = (last[0], max(last[1], token.end), last[2] | {token.term})
                continue
            if last is not None:
                yield last
            last = (token.start, token.end, frozenset({token.term}))
        if last is not None:
            yield last

    def _tokens(self, content: str) -> Iterator[Token]:
        """The matches of the query in the order of the text; `3.11` also matches `3.11.2`."""
        tokens, others = self._finder.find(content), []
        if self._longer_version is not None:
            others.append(
                Token(match["version"], *match.span(), position=0, is_whole=True)
                for match in self._longer_version.finditer(content)
            )
        if operators := self._parsed.all_operators:
            others.append(
                Token(operator, start, end, position=0, is_whole=True)
                for operator, start, end in operator_places(content, operators)
            )
        if others:
            tokens = heapq.merge(tokens, *others, key=lambda token: token.start)
        return tokens if content.isascii() else whole_characters(content, tokens, self._flags)

    def _telling_sentence(
        self, content: str, path: str, found: Sequence[_Match]
    ) -> tuple[int, int]:
        """The sentence with the most phrases, then most different words; of equals the shortest.

        The words of a heading count half: `heading_path` shows it anyway, and the text below it
        says more.
        """
        sentences = _sentences(content)
        starts = [start for start, _ in sentences]
        terms: dict[int, set[str]] = {}
        for start, _, said in found:
            terms.setdefault(bisect.bisect_right(starts, start) - 1, set()).update(said)

        def says(number: int) -> tuple[int, float, bool, int]:
            start, end = sentences[number]
            text, words = content[start:end], len(terms[number])
            is_text = not _HEADING.fullmatch(text)
            return (
                self._count_phrases(text, path),
                words if is_text else words / 2,
                is_text,
                start - end,
            )

        return sentences[max(terms, key=says)]

    def _count_phrases(self, text: str, path: str) -> int:
        if not self._parsed.phrases:
            return 0
        texts = [self._analyser.analyse(one) for one in (text, *shown_paragraphs(text, path))]
        return sum(
            any(_holds(tokens, phrase) for tokens in texts) for phrase in self._parsed.phrases
        )


def _subject(parsed: ParsedQuery) -> frozenset[str]:
    is_beside_operators = parsed.says_only_stop_words and parsed.all_operators
    plain = () if is_beside_operators else parsed.words
    words = [*plain, *(word for phrase in parsed.phrases for word in phrase)]
    said = frozenset(term for word in words for term in _terms(word))
    return said.union(parsed.excluding_switches)


def _terms(word: Word) -> tuple[str, ...]:
    """The ways to write a word; the `v` of `v99` alone is none, nor is the `11` of `3.11`.

    Nor is the `a` of `-a`.
    """
    if word.version:
        return word.version_wholes
    if word.is_switch and len(word.whole) == 1:
        return (word.switch,)
    parts = word.parts
    if len(parts) > 1:
        parts = tuple(part for part in parts if len(part) > 1 or not part.isascii())
    members = (whole for whole, _, _ in word.members)
    return tuple(term for term in (*parts, *members, word.whole, word.stem, word.switch) if term)


def _longer_version(parsed: ParsedQuery) -> re.Pattern[str] | None:
    """A pattern for versions that begin like one of the query's."""
    asked = dict.fromkeys(".".join(word.version) for word in parsed.words if word.version)
    if not asked:
        return None
    return re.compile(rf"(?<![\w.])v?(?P<version>{'|'.join(map(re.escape, asked))})(?:\.\d+)+")


def _best(found: Sequence[_Match]) -> list[_Match]:
    """As many as are shown: of each word the first ones, and parts of words only after these."""
    if len(found) <= MAX_WORD_HIGHLIGHTS:
        return list(found)
    said = {terms for _, _, terms in found}
    parts = {terms for terms in said if any(terms < other for other in said)}
    times: Counter[frozenset[str]] = Counter()
    ranked = []
    for match in found:
        terms = match[2]
        times[terms] += 1
        ranked.append((terms in parts, times[terms], match))
    best = sorted(ranked, key=lambda each: each[:2])[:MAX_WORD_HIGHLIGHTS]
    return sorted((match for _, _, match in best), key=lambda match: match[0])


def _holds(tokens: Sequence[Token], phrase: Sequence[Word]) -> bool:
    """Whether the words stand side by side, each in one piece or in parts."""
    if len(phrase) == 1 and phrase[0].whole in {t.term for t in tokens if t.is_whole}:
        return True
    parts = [token for token in tokens if not token.is_whole]
    terms, names = [part.term for part in parts], _name_ends(tokens, parts)
    return any(_stands_at(start, terms, names, phrase) for start in range(len(terms)))


def _name_ends(tokens: Sequence[Token], parts: Sequence[Token]) -> dict[tuple[int, str], int]:
    """The part after each name in one piece, by its first part and the name."""
    starts = [part.start for part in parts]
    ends = {}
    for name in tokens:
        end = bisect.bisect_left(starts, name.end) if name.is_whole else 0
        spanned = (parts[name.position].start, parts[end - 1].end) if end else ()
        if spanned == (name.start, name.end):  # no single character of a pair
            ends[name.position, name.term] = end
    return ends


def _stands_at(
    start: int,
    parts: Sequence[str],
    names: Mapping[tuple[int, str], int],
    phrase: Sequence[Word],
) -> bool:
    """`getUserName` and `getusername` each match the other; the first also matches its words."""
    ends = {start}
    for word in phrase:
        following = {names[end, word.whole] for end in ends if (end, word.whole) in names}
        following |= {
            end + len(writing)
            for end in ends
            for writing in (() if word.has_signs else (word.parts, (word.stem,)))
            if tuple(parts[end : end + len(writing)]) == writing
        }
        if word.edge:
            following |= {
                end + 1 for end in ends if end < len(parts) and word.is_half_of(parts[end])
            }
        if not following:
            return False
        ends = following
    return True


def _sentences(content: str) -> list[tuple[int, int]]:
    """Spans of the sentences, list entries and paragraphs, without the space around them."""
    spans, start = [], 0
    for end, following in [*_sentence_ends(content), (len(content), len(content))]:
        stretch = content[start:end]
        left = start + len(stretch) - len(stretch.lstrip())
        right = start + len(stretch.rstrip())
        if left < right:
            spans.append((left, right))
        start = following
    return spans


def _sentence_ends(content: str) -> Iterator[tuple[int, int]]:
    """Where each sentence ends and where the next one begins."""
    read = 0
    for sign in _SENTENCE_SIGNS.finditer(content):
        end = _SENTENCE_END.match(content, sign.start()) if sign.start() >= read else None
        if end is not None and not _is_shortened(content, sign.start(), end.end()):
            yield end.span(end.lastindex or 0)
            read = end.end()


def _is_shortened(content: str, dot: int, following: int) -> bool:
    """Whether the sign is the dot of an abbreviation, behind which its sentence goes on."""
    if content[dot] != ".":
        return False
    found = _ABBREVIATION.search(content[max(0, dot - _LONGEST_ABBREVIATION) : dot])
    if found is None:
        return False
    follower = content[following : following + 1]
    if found["number"]:
        return follower.isdigit()
    return bool(found["always"]) or follower.islower() or follower == "("
