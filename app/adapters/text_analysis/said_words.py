"""Tells whether a text says words, or merely has them within a name: `Java` in `JavaScript`."""

from collections.abc import Iterator, Sequence, Set

from app.adapters.text_analysis.terms import Phrase, Word

MOST_OPEN = 16
"""Phrases of scripts without spaces that are looked for within words, too."""


class SaidWords:
    """The words of one text.

    It says words that stand side by side in it, each in one piece or in parts: `getUserName` where
    it has `get user name`, `get_user_name` or `getusername`. What is told apart by signs or digits
    are words, too: `java-based`, `java_home` and `Java8` say `java`. `JavaScript` does not: what
    begins or ends in the midst of a name in mixed case is a part of it. Nor does `python -m venv`
    say `m`: who types the same command does not mean to leave it out. Of the word after a minus, a
    text that shows it so says nothing, whatever else stands there.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        self._parts = [part for word in words for part in word.parts]
        self._wholes = {word.whole for word in words if word.is_compound and not word.is_switch}
        self._shown = {word.switch for word in words if word.is_switch}
        self._wholes |= {name for word in words for name, _ in word.signed}
        self._wholes |= {single for word in words for single, _, _ in word.singles}
        self._places: dict[str, list[int]] = {}
        """Where each part stands."""
        for place, part in enumerate(self._parts):
            self._places.setdefault(part, []).append(place)
        self._names: dict[int, tuple[int, str]] = {}
        self._signed: set[tuple[int, str]] = set()
        """Where names stand that signs make of a part."""
        self._within: set[int] = set()
        self._switches: set[int] = set()
        place = 0
        for word in words:
            if word.is_switch:
                self._switches.update(range(place, place + len(word.parts)))
            for name in () if word.is_switch else word.names:
                first, end = place + name.first, place + name.end
                self._names[first] = (end, name.stem)
                self._within.update(range(first + 1, end))
            self._signed.update((place + number, name) for name, number in word.signed)
            if word.has_signs:
                self._signed.add((place, word.whole))
            place += len(word.parts)

    def say_any(self, phrases: "PhrasesByBeginning") -> bool:
        """Whether the words of one of the phrases stand there side by side."""
        beginnings = {*self._places, *self._wholes, *(stem for _, stem in self._names.values())}
        return any(map(self.say, phrases.that_may_begin(beginnings)))

    def say(self, phrase: Sequence[Word]) -> bool:
        """Whether the words stand there side by side."""
        if phrase[0].switch in self._shown:
            return False
        if len(phrase) == 1 and phrase[0].whole in self._wholes:
            return True
        return any(self._ends(start, phrase) - self._within for start in self._starts(phrase[0]))

    def _starts(self, word: Word) -> Iterator[int]:
        """Where the word may begin, or part of the text that begins like it."""
        halves = filter(word.is_half_of, self._places) if word.edge else ()
        for part in {*word.parts[:1], word.stem, *halves}:
            for place in self._places.get(part, ()):
                if place not in self._within and place not in self._switches:
                    yield place
        for place, (_, stem) in self._names.items():
            if stem == word.stem and place not in self._within:
                yield place

    def _ends(self, start: int, phrase: Sequence[Word]) -> set[int]:
        """Where the phrase may end that begins at this part."""
        ends = {start}
        for word in phrase:
            ends = {following for end in ends for following in self._after(end, word)}
            if not ends:
                break
        return ends

    def _after(self, place: int, word: Word) -> set[int]:
        """Where the word may end that begins at this part."""
        if word.has_signs:
            return {place + 1} if (place, word.whole) in self._signed else set()
        found = {
            place + len(writing)
            for writing in (word.parts, (word.stem,))
            if tuple(self._parts[place : place + len(writing)]) == writing
        }
        if word.edge and place < len(self._parts) and word.is_half_of(self._parts[place]):
            found.add(place + 1)
        end, stem = self._names.get(place, (place, ""))
        return found | ({end} if stem and stem == word.stem else set())


class PhrasesByBeginning:
    """Phrases looked for together: a query may name a thousand, of which a text says few."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self._by_beginning: dict[str, list[Phrase]] = {}
        self._open: list[Phrase] = []
        """Those that begin with half of a word; only the first, as each is compared with all."""
        for phrase in phrases:
            first = phrase[0]
            if first.edge:
                self._open.append(phrase)
            for beginning in {*first.parts[:1], first.stem, first.whole} - {""}:
                self._by_beginning.setdefault(beginning, []).append(phrase)
        del self._open[MOST_OPEN:]

    def that_may_begin(self, beginnings: Set[str]) -> Iterator[Phrase]:
        """Those that may stand in a text of such parts, wholes and names."""
        for beginning in self._by_beginning.keys() & beginnings:
            yield from self._by_beginning[beginning]
        yield from self._open
