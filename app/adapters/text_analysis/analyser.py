"""Turns prose and code into terms: the same ones for indexing, for queries and for highlights.

`concurrent=False`: else the regex module would release the GIL for each match, which takes longer
than the match itself, and much longer while other threads want the GIL.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import regex
import Stemmer

from app.adapters.text_analysis.endings import Endings
from app.adapters.text_analysis.mixed_case_names import SPLIT_MARK, Name, names_in_mixed_case
from app.adapters.text_analysis.terms import (
    IndexTerms,
    Member,
    StretchTerms,
    Token,
    TokenValues,
    Word,
)

ANALYSER_VERSION = 9
"""Raise it whenever the same text gives other terms: older indexes are then rebuilt."""

KNOWN_LANGUAGES: tuple[str, ...] = tuple(Stemmer.algorithms())
"""The names of the languages that Snowball has a stemmer for."""

MAX_TERM_CHARACTERS = 64
"""Longer terms (hashes, encoded data) are cut here, in texts and in queries alike."""
MAX_PARTS = 8
"""A run of letters that would fall into more parts is encoded data, and is left in one piece."""
MAX_DIGIT_CHANGES = 2
"""A word that changes between letters and digits more often is a hash, and is left in one piece."""
CACHED_WORDS = 16_384
"""How many analysed words are cached, in about 15 MB: 97 of 100 words of documentation hit. Words
of queries, and of texts that are checked for exclusions, are cached separately."""
CACHED_STRETCHES = 4_096
"""How many words with signs in or around them are cached for highlights, in about 2 MB."""

_WITHOUT_SPACES = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc\u3005"
    r"\uff70\uff9e\uff9f"
)
_RAW_WORD = regex.compile(
    r"(?<!\w)(?:[A-Za-z](?:\+\+|\#)(?![\w+\#])|[Cc]\+\+(?=\d))"  # C++, C#, and C++ in C++17
    r"|(?:(?<![\w.)\]])\.(?=\p{L})"  # .NET
    r"|(?<![^\s`'\"(\[|,])--?(?=[A-Za-z](?!\+\+|\#|\p{M})))?"  # -m, --user, but -C++ as above
    r"[\w\u00ad]+(?:[.\-'\u2019\u2010\u2011][\w\u00ad]+|(?<=\d),\d{3}(?!\w))*"
    r"|\p{Extended_Pictographic}|\p{Regional_Indicator}"
)
_SIGNS_BEFORE = "([{<'\"`*~=|&@$%^/\\:;,!?)]}>"
_SIGNS_AFTER = ".,;:!?)]}>'\"`*~=|&@$%^/\\([{<-"
"""Signs that do not belong to a word of letters and digits alone, when before it or behind it."""
_RUN = regex.compile(rf"(?P<unspaced>[{_WITHOUT_SPACES}][{_WITHOUT_SPACES}\p{{M}}]*)|"
                     rf"[^{_WITHOUT_SPACES}]+")  # fmt: skip
_CHARACTER = regex.compile(
    r"(?=\p{Hangul})\X"  # a syllable, in one sign or in two or three
    r"|\P{M}[\p{M}\uff9e\uff9f]*"  # half-width voicing marks are not in \p{M}
)
_ATTACHED = r"\p{M}\u00ad\u200c\u200d"
"""What follows a letter and belongs to it: combining accents, and invisible joiners."""
_ATOM = regex.compile(rf"[^\W_]+(?:[{_ATTACHED}]+[^\W_]*)*")
_CAPITAL = rf"\p{{Lu}}[{_ATTACHED}]*+"
_PIECE = regex.compile(
    rf"(?:{_CAPITAL}){{2,}}s(?![\p{{Ll}}{_ATTACHED}])"  # APIs
    rf"|(?:{_CAPITAL})+(?!\p{{Ll}})"  # HTTP in HTTPServer
    r"|\p{Nd}+"
    r"|[\p{Lu}\p{Lt}]?[^\p{Lu}\p{Lt}\p{Nd}]+"
    r"|."
)
_SIGNED = regex.compile(r"(?<!\w)(?P<before>_++)(?P<word>[^\W_]++)(?P<after>_*+)(?!\w)")
_POSSESSIVE = regex.compile(r"['\u2019][sS]$")
_INVISIBLE = regex.compile(r"[\u00ad\u200c\u200d\ufe0e\ufe0f\s]+")
_ACCENTS = regex.compile(r"(?<=[\p{Latin}\p{Greek}])[\u0300-\u036f]+")
_NO_SIGNS = ("Pc", "Mn", "Mc", "Me", "Cf")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe", "ı": "i", "ё": "е"}  # noqa: RUF001
)


def language_complaint(language: str) -> str | None:
    """Why there can be no analyser for the language; None if there can."""
    if language in KNOWN_LANGUAGES:
        return None
    return f"There is no stemmer for {language!r}. Known are: {', '.join(KNOWN_LANGUAGES)}."


class Analyser:
    """Analyses text of one language. Safe to share between threads.

    `language` is a name that Snowball knows (english, german, french, …); ValueError otherwise.
    Text is compared after NFKC, case folding, and removal of accents on Latin and Greek letters.
    It takes 0.1 to 0.2 ms for 1,000 characters of English.
    """

    def __init__(self, language: str = "english", cached_words: int = CACHED_WORDS) -> None:
        """`cached_words`: how many analysed words are cached."""
        complaint = language_complaint(language)
        if complaint is not None:
            raise ValueError(complaint)
        self.language = language
        self._stemmer = Stemmer.Stemmer(language, 0)
        self._endings = Endings(language)
        self._cached = lru_cache(cached_words)(self._analyse_raw)
        self._cached_words = lru_cache(cached_words)(self._words_of)
        self._cached_stretch = lru_cache(min(cached_words, CACHED_STRETCHES))(self._token_values)

    def analyse(self, text: str) -> Sequence[Token]:
        """Every term and the characters that it stands for, in the order of the text."""
        make = tuple.__new__  # a Token's own constructor takes three times as long
        return [make(Token, values) for values in self._token_values(text)]

    def analyse_stretch(self, stretch: str) -> Sequence[TokenValues]:
        """As `analyse`, for text without white space: recent results are cached."""
        if len(stretch) > MAX_TERM_CHARACTERS:
            return self._token_values(stretch)
        begun = stretch.lstrip(_SIGNS_BEFORE)
        word = begun.rstrip(_SIGNS_AFTER)
        if not (word.isalnum() and word.isascii()):
            return self._cached_stretch(stretch)
        tokens, offset = self._cached(word).tokens, len(stretch) - len(begun)
        if not offset:
            return tokens
        return [
            (term, offset + start, offset + end, position, is_whole)
            for term, start, end, position, is_whole in tokens
        ]

    def words(self, text: str) -> list[Word]:
        """The words of a query, in order."""
        words: list[Word] = []
        for raw in _RAW_WORD.findall(text, concurrent=False):
            short = len(raw) <= MAX_TERM_CHARACTERS
            words += self._cached_words(raw) if short else self._words_of(raw)
        return words

    def index_terms(self, text: str) -> IndexTerms:
        """The terms of a text without their places, which is quicker: for writing an index."""
        terms = IndexTerms([], [], [], [], [])
        parts, wholes, splits, names, within = terms
        for raw in _RAW_WORD.findall(text, concurrent=False):
            analysed = self._raw(raw)
            parts += analysed.parts
            if analysed.wholes:
                wholes += analysed.wholes
                splits += analysed.splits
            if analysed.names or analysed.within:
                names += analysed.names
                within += analysed.within
        return terms

    def stems(self, words: Sequence[str]) -> list[str]:
        """The stems of folded words that are not taken apart; quicker than one by one."""
        if self._endings:
            return [self._whole_stem(word) for word in words]
        stems = self._stemmer.stemWords(words)
        return [str(stem or word) for stem, word in zip(stems, words, strict=True)]

    # Inside ------------------------------------------------------------------------------------

    def _raw(self, raw: str) -> StretchTerms:
        return self._cached(raw) if len(raw) <= MAX_TERM_CHARACTERS else self._analyse_raw(raw)

    def _token_values(self, text: str) -> tuple[TokenValues, ...]:
        values: list[TokenValues] = []
        first = 0
        for match in _RAW_WORD.finditer(text, concurrent=False):
            analysed, offset = self._raw(match.group()), match.start()
            for term, start, end, position, is_whole in analysed.tokens:
                values.append((term, offset + start, offset + end, first + position, is_whole))
            first += len(analysed.parts)
        return tuple(values)

    def _words_of(self, raw: str) -> tuple[Word, ...]:
        if raw.isascii():
            words = [self._word(raw, 0)]
        else:
            words = [
                self._unspaced(run.group(), run.start())
                if run.group("unspaced")
                else self._word(run.group(), run.start())
                for run in _RUN.finditer(raw, concurrent=False)
            ]
        return tuple(word for word in words if word.parts)

    def _analyse_raw(self, raw: str) -> StretchTerms:
        if _is_plain(raw):  # in a fifth of the time
            stem = self._stem(raw.lower())
            return StretchTerms(((stem, 0, len(raw), 0, False),), (stem,), (), (), (), ())
        return StretchTerms.of(self._words_of(raw))

    def _stem(self, term: str) -> str:
        return self._whole_stem(term)[:MAX_TERM_CHARACTERS]

    def _whole_stem(self, term: str) -> str:
        if self._endings:
            return fold(self._stemmer.stemWord(self._endings.restore(term))) or term
        return str(self._stemmer.stemWord(term) or term)  # of some ending, nothing would be left

    def _word(self, raw: str, offset: int) -> Word:
        """A word with its parts, and the names that are in it."""
        if raw.endswith(("++", "#")):
            term = raw.lower()
            return Word((term,), ((offset, offset + len(raw)),), term, term)
        raw = _POSSESSIVE.sub("", raw, concurrent=False)
        whole, pieces, spans, dots = _taken_apart(raw)
        if not pieces:
            return self._sign(raw, offset)
        dotted = raw.startswith(".")
        signs = _signs_around(raw) if len(pieces) == 1 else ("", "")
        whole = ("." if dotted else signs[0]) + whole + signs[1]
        is_name = len(whole) <= MAX_TERM_CHARACTERS
        return Word(
            tuple(map(self._stem, pieces)),
            tuple((offset + start, offset + end) for start, end in spans),
            whole if is_name else "",
            (whole if any(signs) else self._stem(whole)) if is_name else "",
            is_compound=is_name and (len(pieces) > 1 or dotted or any(signs)),
            names=tuple(self._names(raw, spans)),
            switch=_switch(raw),
            signed=tuple(_signed(raw, [start for start, _ in spans])),
            has_apostrophe="'" in raw or "\u2019" in raw,
            members=tuple(_members(pieces, dots)),
        )

    def _names(self, raw: str, spans: Sequence[tuple[int, int]]) -> Iterator[Name]:
        for first, end in names_in_mixed_case(raw, spans):
            whole = fold(raw[spans[first][0] : spans[end - 1][1]])
            is_term = len(whole) <= MAX_TERM_CHARACTERS
            yield Name(first, end, *((self._stem(whole), whole) if is_term else ("", "")))

    def _sign(self, raw: str, offset: int) -> Word:
        """An emoji as a word; underscores, marks and invisible characters alone give nothing."""
        if not fold(raw) or any(unicodedata.category(sign) in _NO_SIGNS for sign in raw):
            return Word((), (), "", "")
        return Word((raw,), ((offset, offset + len(raw)),), raw, raw)

    def _unspaced(self, run: str, offset: int) -> Word:
        """Pairs of neighbouring characters (bigrams), as nothing shows where a word ends."""
        singles = [
            (folded, offset + match.start(), offset + match.end())
            for match in _CHARACTER.finditer(run, concurrent=False)
            if (folded := fold(match.group()))
        ]
        if len(singles) == 1:
            term, start, end = singles[0]
            return Word((term,), ((start, end),), term, term, singles=tuple(singles))
        pairs = list(pairwise(singles))
        return Word(
            tuple(first[0] + second[0] for first, second in pairs),
            tuple((first[1], second[2]) for first, second in pairs),
            "",
            "",
            singles=tuple(singles),
        )


def _is_plain(raw: str) -> bool:
    """Whether a word is digits alone, or English letters, all capitals or none but the first.

    Most are. Nothing takes it apart, and there is nothing to it but its stem.
    """
    if not raw.isascii():
        return False
    return raw.isdigit() or (raw.isalpha() and ((raw[1:] or raw).islower() or raw.isupper()))


def _signs_around(raw: str) -> tuple[str, str]:
    """What makes a name of a word: `__slots__`, `_private`, `--user`; `_this_` is emphasis."""
    if raw.startswith("--"):
        return "--", ""
    before = raw[: len(raw) - len(raw.lstrip("_"))]
    after = raw[len(raw.rstrip("_")) :]
    return ("", "") if not before or before == after == "_" else (before, after)


def _switch(raw: str) -> str:
    """All of a word with one minus before it, and nothing of others."""
    if raw[:1] != "-" or raw[:2] == "--":
        return ""
    composed = unicodedata.normalize("NFC", raw)
    return composed[:MAX_TERM_CHARACTERS] if composed[1:2].isascii() else ""


def _members(pieces: Sequence[str], dots: Sequence[int]) -> Iterator[Member]:
    """The names that `Word.members` has; `dots`: the pieces that have one before them."""
    if not dots or len(pieces) <= len(dots) + 1:
        return
    for first, end in pairwise([0, *dots, len(pieces)]):
        whole = "".join(pieces[first:end])
        if end - first > 1 and len(whole) <= MAX_TERM_CHARACTERS:
            yield whole, first, end


def _signed(raw: str, starts: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The names that `Word.signed` has, by where the pieces start."""
    if len(starts) < 2 or "_" not in raw:
        return
    for name in _SIGNED.finditer(raw, concurrent=False):
        first = bisect_left(starts, name.start("word"))
        is_one_piece = bisect_left(starts, name.end("word")) == first + 1
        if is_one_piece and any(_signs_around(name[0])) and len(name[0]) <= MAX_TERM_CHARACTERS:
            yield name["before"] + fold(name["word"]) + name["after"], first


def fold(text: str) -> str:
    """The text without case, accents and compatibility forms (NFKC); may be empty."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded), concurrent=False)
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFKC", bare), concurrent=False)
    return seen.translate(_LETTERS).replace(SPLIT_MARK, "")


class _Split(NamedTuple):
    """A word taken apart; spans are those of the pieces in it."""

    whole: str
    """Folded, without signs but for the dots between numbers."""
    pieces: list[str]
    spans: list[tuple[int, int]]
    dots: list[int]
    """The numbers of the pieces that have a dot before them."""


def _taken_apart(raw: str) -> _Split:
    """Split a word at signs, at changes of case, and between letters and digits."""
    found: list[tuple[str, int, int]] = []
    dots: list[int] = []
    whole, last_end = "", 0
    for atom in _ATOM.finditer(raw, concurrent=False):
        if "." in (between := raw[last_end : atom.start()]):
            dots.append(len(found))
            if between == "." and whole[-1:].isdigit() and atom[0].isdigit():
                whole += "."  # 3.1 is not 31
        last_end = atom.end()
        whole += fold(atom.group())
        found += [
            (fold(piece), atom.start() + start, atom.start() + end)
            for piece, start, end in _pieces(atom.group())
        ]
    kept = [piece for piece in found if any(map(str.isalnum, piece[0]))]
    return _Split(whole, [piece[0] for piece in kept], [piece[1:] for piece in kept], dots)


def _pieces(atom: str) -> list[tuple[str, int, int]]:
    """The pieces of a camelCase word with digits, each with its span."""
    if atom.islower() and atom.isalpha():
        return [(atom, 0, len(atom))]
    pieces = [(match.group(), *match.span()) for match in _PIECE.finditer(atom, concurrent=False)]
    digits = [piece[0].isdecimal() for piece in pieces]
    changes = sum(digits[number] != digits[number - 1] for number in range(1, len(digits)))
    if changes > MAX_DIGIT_CHANGES or len(pieces) > MAX_PARTS:
        return [(atom, 0, len(atom))]
    return pieces
