"""What is looked for in the place of a word that no text says: known words spelt nearly so.

Such a word finds nothing, and is mistyped more often than not. The words one mistake away, by how
often they are said: Norvig, "How to Write a Spelling Corrector", 2007. What it is worth is measured
in docs/adr/0028.
"""

import functools
import string
from collections.abc import Mapping

import tantivy

from app.adapters.lexical_index.fields import BODY, IDENTIFIERS
from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.languages import END_OF_MARK, Languages
from app.adapters.text_analysis.stop_words import STOP_WORDS
from app.adapters.text_analysis.terms import Phrase, Word

LEAST_LETTERS = 5
"""Shorter words are one letter away from too many others."""
MOST_LETTERS = 24
"""Longer words are encoded data, and 60 letters have 3,000 ways of being mistyped."""
LEAST_HALF = 3
"""Letters of each of two words that are written together."""
MOST_SUBSTITUTES = 3
"""Of more known words, those that most records hold are looked for."""
LEAST_RECORDS = 2
"""What a single record holds may be mistyped itself."""
BEGINNING = 4
"""Letters: few terms begin with the same four, and few mistakes are within them."""
REMEMBERED = 256
"""Words of which the substitutes are remembered: a search asks for them twice."""


class Spelling:
    """Knows the words that the records of one state of the index hold. Safe from many threads."""

    def __init__(self, searcher: tantivy.Searcher, languages: Languages) -> None:
        # Of no method of its own: a cycle would keep the files of each former state open.
        look_up = functools.partial(_look_up, searcher, languages)
        self._remembered = functools.lru_cache(REMEMBERED)(look_up)

    def substitutes(self, word: Word, mark: str) -> tuple[Phrase, ...]:
        """What to look for in its place in the records of one language.

        Words one mistake away, and the two that are written together in it: these stand side by
        side. The first time it takes 0.7 ms of CPU at 100,000 records.
        """
        return self._remembered(word.whole, mark)


def _look_up(
    searcher: tantivy.Searcher, languages: Languages, typed: str, mark: str
) -> tuple[Phrase, ...]:
    analyser = languages.analyser(mark.removesuffix(END_OF_MARK) or None)
    intended = edits(typed)
    terms = [mark + stem for stem in analyser.stems(intended)]
    similar = _most_frequent(
        searcher, BODY, dict(zip(terms, intended, strict=True)), mark + typed[:BEGINNING]
    )
    if not similar:  # what is only written in mixed case, as JavaScript may be
        names = {name: name for name in intended if name.startswith(typed[:BEGINNING])}
        similar = _most_frequent(searcher, IDENTIFIERS, names, typed[:BEGINNING])
    halves = _halves(searcher, analyser, typed, mark)
    stop_words = STOP_WORDS.get(analyser.language, frozenset())
    words = [tuple(analyser.words(word)) for word in similar if word not in stop_words]
    return (*words, halves) if halves else tuple(words)


def _most_frequent(
    searcher: tantivy.Searcher, field: str, words: Mapping[str, str], beginning: str
) -> list[str]:
    """Those of the words, given by their terms, that most records hold.

    Terms with this beginning are read at once, and only the others looked for.
    """
    known = dict(searcher.terms_with_prefix(field, beginning))
    count = searcher.doc_freq
    records = {
        term: known.get(term, 0) if term.startswith(beginning) else count(field, term)
        for term in words
    }
    held = [term for term in words if records[term] >= LEAST_RECORDS]
    held.sort(key=lambda term: (-records[term], term))
    return [words[term] for term in held[:MOST_SUBSTITUTES]]


def _halves(searcher: tantivy.Searcher, analyser: Analyser, typed: str, mark: str) -> Phrase:
    """Two known words that are written together in it, the most frequent ones; or nothing."""
    best: Phrase = ()
    most = LEAST_RECORDS - 1
    for cut in range(LEAST_HALF, len(typed) - LEAST_HALF + 1):
        halves = (*analyser.words(typed[:cut]), *analyser.words(typed[cut:]))
        records = min(searcher.doc_freq(BODY, mark + word.stem) for word in halves)
        if records > most:
            most, best = records, halves
    return best


def may_be_mistyped(word: Word) -> bool:
    """Whether it is a word and no name: English letters alone, taken apart by nothing."""
    return (
        LEAST_LETTERS <= len(word.whole) <= MOST_LETTERS
        and word.whole.isascii()
        and word.whole.isalpha()
        and not (word.is_compound or word.is_switch or word.has_apostrophe)
    )


def edits(word: str) -> list[str]:
    """What one mistake makes of a word: a letter lost, two swapped, one for another, one added.

    As each undoes one of the same kind, it is what may have been meant. Each stands there once.
    """
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    letters = string.ascii_lowercase
    lost = (before + after[1:] for before, after in splits if after)
    swapped = (before + after[1::-1] + after[2:] for before, after in splits if len(after) > 1)
    other = (before + letter + after[1:] for before, after in splits if after for letter in letters)
    added = (before + letter + after for before, after in splits for letter in letters)
    return [one for one in dict.fromkeys([*lost, *swapped, *other, *added]) if one != word]
