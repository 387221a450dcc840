"""Takes the text of a query apart: words, phrases, and what must not be there."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.cjk_edges import with_open_edges
from app.adapters.text_analysis.headings import heading_term
from app.adapters.text_analysis.numbered_names import asked_numbers
from app.adapters.text_analysis.operators import (
    MOST_OPERATORS,
    asked_operators,
    operator_of,
    unframed,
)
from app.adapters.text_analysis.path_tails import AskedPath, asked_paths
from app.adapters.text_analysis.stop_words import StopWords, elisions, stop_words
from app.adapters.text_analysis.terms import Phrase, Word

MAX_CHARACTERS = 8_000
"""The rest is not read; the API refuses longer queries anyway."""
MAX_WORDS = 512
"""How many distinct plain words are kept; an index may look only for the rarest of them."""
MOST_APART = 4
"""How many places further a word may stand and count as a neighbour: in `state of the art`, 3."""
MAX_PHRASES = 8
"""A query with more is a pasted text: the surplus phrases are plain words."""
MAX_EXCLUSIONS = 16
"""An index looks for no more; for the rest, the text itself has to be checked."""
MAX_PHRASE_WORDS = 64
"""The same of the words of a phrase."""

_QUOTED = (
    r'(?:"(?P<{0}_straight>[^"]*)"'
    r"|\u201c(?P<{0}_curly>[^\u201c-\u201e]*)\u201d"
    r"|\u201e(?P<{0}_low>[^\u201c-\u201e]*)[\u201c\u201d])(?!\w)"  # German, Polish
)
_TOKEN = regex.compile(
    rf"(?<!\S)-{_QUOTED.format('excluded')}"
    r"|(?<!\S)-(?P<excluded_word>(?![A-Za-z][,;:.!?)\]]*(?!\S))[\p{L}\p{So}_.][^\s\"\u201c-\u201e]*)"
    rf"|(?<!\w){_QUOTED.format('required')}"
)


@dataclass(frozen=True)
class ParsedQuery:
    """A query taken apart. Each word is listed once, in the order of the text."""

    words: tuple[Word, ...] = ()
    """A record should hold some of these."""
    operators: tuple[str, ...] = ()
    """A record should hold some of these."""
    phrases: tuple[Phrase, ...] = ()
    """A record must hold each of these."""
    quoted_operators: tuple[str, ...] = ()
    """A record must hold each of these."""
    excluded: tuple[Phrase, ...] = ()
    """A record must hold none of these; empty unless there is something to find. A record that
    shows the excluded word as a switch may stay: it says what the query says."""
    excluded_operators: tuple[str, ...] = ()
    """A record must hold none of these."""
    paths: tuple[AskedPath, ...] = ()
    """File names, paths and numbered documents in the plain text: those come first."""
    neighbours: tuple[Phrase, ...] = ()
    """Pairs of plain words that follow each other, with the stop words between them; at most
    MOST_APART places apart."""
    heading: str = ""
    """The term for a heading that says exactly the query; empty if the query is pasted or long."""
    wanted: str = ""
    """The text without what is excluded: what to embed."""
    says_only_stop_words: bool = False
    """Whether the plain words say nothing of the subject."""

    @property
    def searched_phrases(self) -> tuple[Phrase, ...]:
        """The phrases as an index looks for them: very long ones are cut."""
        return tuple(phrase[:MAX_PHRASE_WORDS] for phrase in self.phrases)

    @property
    def are_phrases_surely_found(self) -> bool:
        """Whether every record that an index finds surely says the phrases.

        For a phrase of several words with `--reload` among them, it also finds those with `reload`.
        """
        return not any(
            len(phrase) > MAX_PHRASE_WORDS
            or (len(phrase) > 1 and any(word.has_signs for word in phrase))
            for phrase in self.phrases
        )

    @property
    def searched_exclusions(self) -> tuple[Phrase, ...]:
        """The exclusions that an index looks for."""
        return tuple(
            phrase for phrase in self.excluded[:MAX_EXCLUSIONS] if len(phrase) <= MAX_PHRASE_WORDS
        )

    @property
    def excluding_switches(self) -> tuple[str, ...]:
        """The exclusions that may be meant as a switch, in the form in which records show it."""
        switches = (phrase[0].switch for phrase in self.excluded[:MAX_EXCLUSIONS])
        return tuple(dict.fromkeys(filter(None, switches)))

    @property
    def all_operators(self) -> tuple[str, ...]:
        """The operators that a record should hold, and those that it must."""
        return self.operators + self.quoted_operators


@functools.lru_cache(maxsize=64)  # a search asks three times: what to find, its ceiling, its words
def parse_query(text: str, analyser: Analyser, in_use: frozenset[str] = frozenset()) -> ParsedQuery:
    """Take a query apart; never fails. What is not a phrase or an exclusion is plain text.

    A phrase stands in double quotes. An exclusion is a minus at the start of a word, before a
    letter or a quote: `-5` and `--flag` are plain text. So is a switch of one letter, `rsync -a`:
    what explains it says the article `a`, too. A longer one, `find -name`, is an exclusion for what
    does not show it. When nothing would remain to be found, the exclusions are plain text too.

    A text of several lines was pasted, such as a traceback, whose `File "app.py"` stands in no
    document: all of it is plain text, and names no paths.

    Stop words are left out: of the languages `in_use` and the analyser's, those that the query is
    in; and what is elided before an apostrophe in any of them.
    """
    text = text[:MAX_CHARACTERS]
    languages = in_use | {analyser.language}
    read = _read(unframed(text), analyser, languages)
    plain = [word for words in read.plain for word in words]
    idle = stop_words(plain, languages)
    telling = [word for word in plain if word not in idle]
    return ParsedQuery(
        words=tuple(_distinct(telling or plain)),
        operators=tuple(dict.fromkeys(read.operators))[:MOST_OPERATORS],
        phrases=tuple(dict.fromkeys(read.phrases)),
        quoted_operators=tuple(dict.fromkeys(read.quoted_operators))[:MAX_PHRASES],
        excluded=tuple(dict.fromkeys(read.excluded)),
        excluded_operators=tuple(dict.fromkeys(read.excluded_operators)),
        paths=_named(read.plain_texts, analyser, idle),
        neighbours=tuple(two for words in read.plain for two in _neighbours(words, idle)),
        heading=heading_term(read.said),
        wanted=" ".join(read.wanted) if read.excludes else text,
        says_only_stop_words=not telling,
    )


class _Stretches:
    """The stretches of a query, sorted by what they ask for."""

    def __init__(self, analyser: Analyser, languages: frozenset[str]) -> None:
        self._analyser = analyser
        self._languages = languages
        self.plain: list[Sequence[Word]] = []
        self.plain_texts: list[str] = []
        self.operators: list[str] = []
        self.phrases: list[Phrase] = []
        self.quoted_operators: list[str] = []
        self.excluded: list[Phrase] = []
        self.excluded_operators: list[str] = []
        self.said: list[Word] = []
        """All words but the excluded ones and those of a pasted text."""
        self.wanted: list[str] = []
        """The text of the same."""

    @property
    def excludes(self) -> bool:
        """Whether anything is to be left out."""
        return bool(self.excluded or self.excluded_operators)

    def add_words(self, text: str) -> None:
        """Plain words alone: a pasted text names no paths, and its signs are no operators."""
        if _words(text, self._analyser):
            self.plain.append(_words_apart(text, self._analyser, self._languages))

    def add_plain(self, stretch: str) -> None:
        """What stands outside of quotes."""
        self.wanted.append(stretch)
        self.plain_texts.append(stretch)
        self.operators += asked_operators(stretch)
        self.said += _words(stretch, self._analyser)
        self.add_words(stretch)

    def add_required(self, stretch: str) -> None:
        """What stands in quotes."""
        words = _words(stretch, self._analyser)
        self.wanted.append(stretch)
        self.said += words
        if words and len(self.phrases) < MAX_PHRASES:
            self.phrases.append(with_open_edges(words))
        elif words:
            self.add_words(stretch)
        elif operator := operator_of(stretch):
            self.quoted_operators.append(operator)

    def add_excluded(self, stretch: str) -> None:
        """What stands behind a minus."""
        if words := _left_out(stretch, self._analyser):
            self.excluded.append(with_open_edges(words))
        elif operator := operator_of(stretch):
            self.excluded_operators.append(operator)

    def look_for_exclusions(self) -> None:
        """Take what is excluded for plain text, if there is nothing else to look for."""
        if not (self.plain or self.phrases or self.operators or self.quoted_operators):
            self.plain, self.excluded = [*self.excluded], []
            self.operators, self.excluded_operators = self.excluded_operators, []


def _read(text: str, analyser: Analyser, languages: frozenset[str]) -> _Stretches:
    read = _Stretches(analyser, languages)
    if _is_pasted(text):
        read.add_words(text)
        return read
    add = {"plain": read.add_plain, "required": read.add_required, "excluded": read.add_excluded}
    for kind, stretch in _stretches(text):
        add[kind](stretch)
    read.look_for_exclusions()
    return read


def _stretches(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with its kind: plain, required or excluded."""
    end = 0
    for match in _TOKEN.finditer(text, concurrent=False):
        yield "plain", text[end : match.start()]
        groups = {name: found for name, found in match.groupdict().items() if found is not None}
        for name, found in groups.items():
            yield name.partition("_")[0], found if name != "excluded_word" else f"-{found}"
        end = match.end()
    yield "plain", text[end:]


def _words(stretch: str, analyser: Analyser) -> tuple[Word, ...]:
    return tuple(analyser.words(stretch))


def _words_apart(stretch: str, analyser: Analyser, languages: frozenset[str]) -> tuple[Word, ...]:
    """The words, with `dell'utente` as two, of which the first has the apostrophe."""
    words: list[Word] = []
    end = 0
    for elided in elisions(stretch, languages):
        words += _words(stretch[end : elided.start()], analyser)
        words += [
            dataclasses.replace(word, has_apostrophe=True) for word in _words(elided[0], analyser)
        ]
        end = elided.end()
    return (*words, *_words(stretch[end:], analyser))


def _left_out(stretch: str, analyser: Analyser) -> tuple[Word, ...]:
    """The words that no text may say; a single word with its minus may also be a switch."""
    bare = _words(stretch.removeprefix("-"), analyser)
    with_minus = _words(stretch, analyser)
    if len(bare) == len(with_minus) == 1 and bare[0].parts == with_minus[0].parts:
        return (dataclasses.replace(bare[0], switch=with_minus[0].switch),)
    return bare


def _named(stretches: list[str], analyser: Analyser, idle: StopWords) -> tuple[AskedPath, ...]:
    numbered = asked_numbers(stretches, analyser, idle.alone)
    return asked_paths(" ".join(stretches), analyser) + numbered


def _is_pasted(text: str) -> bool:
    return len(text.strip().splitlines()) > 1


def _neighbours(words: Sequence[Word], idle: StopWords) -> Iterator[Phrase]:
    places = [n for n, word in enumerate(words) if word not in idle]
    for first, second in pairwise(places):
        if second - first <= MOST_APART:
            yield tuple(words[first : second + 1])


def _distinct(words: list[Word]) -> list[Word]:
    """The first word of each spelling that the index tells apart."""
    distinct: dict[tuple[tuple[str, ...], str, str], Word] = {}
    for word in words:
        distinct.setdefault((word.parts, word.whole, word.switch), word)
        if len(distinct) == MAX_WORDS:
            break
    return list(distinct.values())
