"""Says of each chunk what most of it is, and whether it holds whole sections or a fragment."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.adapters.splitting.lines import Lines
from app.adapters.splitting.structure import Structure
from app.protocols import CHUNK_TYPES

TEXT, CODE, TABLE, LIST, HEADING = range(5)

WHOLE, PART, FRAGMENT = 1.0, 0.5, 0.0
"""What it is worth that a chunk begins (or ends) with a section or the text; with a paragraph or a
block; within one."""

_LIST_ENTRY = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+\S")

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ChunkFacts:
    """What a ranking or a filter may ask of a chunk."""

    chunk_type: str
    """One of CHUNK_TYPES: what at least half of its letters belong to, else text."""
    completeness: float
    """0 to 1: the mean of how it begins and how it ends."""


class FactFinder:
    """Knows the lines of one text, and answers for any stretch of it."""

    def __init__(self, lines: Lines, structure: Structure) -> None:
        numbers = range(len(lines))
        texts = [lines.text(number) for number in numbers]
        starts = np.array([lines.start(number) for number in numbers], np.int64)
        self._firsts = starts + np.array([len(t) - len(t.lstrip()) for t in texts], np.int64)
        self._ends = starts + np.array([len(t.rstrip()) for t in texts], np.int64)
        kinds = _kinds(texts, starts, structure)
        self._totals = np.zeros((len(CHUNK_TYPES), len(texts) + 1), np.int64)
        for kind in range(len(CHUNK_TYPES)):
            letters = np.where(kinds == kind, self._ends - self._firsts, 0)
            self._totals[kind, 1:] = np.cumsum(letters)
        self._worth = _worths(lines, starts, structure)

    def facts(self, start: int, end: int) -> ChunkFacts:
        """Of the stretch start..end, its end left out."""
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._firsts, end))
        letters = self._totals[:, last] - self._totals[:, min(first, last)]
        completeness = (self._boundary(start) + self._boundary(end)) / 2
        return ChunkFacts(_type_of(letters), completeness)

    def _boundary(self, position: int) -> float:
        """What a cut at this place is worth: does the next letter begin a line, and which?"""
        line = int(np.searchsorted(self._ends, position, side="right"))
        if line < len(self._firsts) and self._firsts[line] < position:
            return FRAGMENT
        return float(self._worth[line])


def _type_of(letters: Numbers) -> str:
    total = int(letters.sum())
    if total and letters[HEADING] == total:
        return CHUNK_TYPES[HEADING]
    most = max((CODE, TABLE, LIST), key=lambda kind: int(letters[kind]))
    return CHUNK_TYPES[most if 2 * int(letters[most]) >= total > 0 else TEXT]


def _kinds(texts: list[str], starts: Numbers, structure: Structure) -> Numbers:
    """The kind of each line."""
    kinds = np.full(len(texts), TEXT, np.int64)
    in_list = False
    for number, text in enumerate(texts):
        # What is indented below an entry belongs to it, whatever it is.
        in_list = bool(_LIST_ENTRY.match(text)) or (in_list and text[:1].isspace())
        if in_list:
            kinds[number] = LIST
    for block in structure.blocks:
        lines = slice(*np.searchsorted(starts, (block.start, block.end)))
        kinds[lines] = TABLE if block.is_table else CODE
    for heading in structure.headings:
        kinds[slice(*np.searchsorted(starts, (heading.start, heading.end)))] = HEADING
    return kinds


def _worths(lines: Lines, starts: Numbers, structure: Structure) -> npt.NDArray[np.float64]:
    """What a cut before each line is worth, and one behind the last."""
    worths = np.array(
        [FRAGMENT if lines.follows(number) else PART for number in range(len(lines))] + [WHOLE]
    )
    for block in structure.blocks:
        first, after = np.searchsorted(starts, (block.start, block.end))
        worths[first + 1 : after] = FRAGMENT
        for edge in (first, after):
            worths[edge] = max(worths[edge], PART)
    worths[np.searchsorted(starts, [heading.start for heading in structure.headings])] = WHOLE
    worths[0] = WHOLE
    return worths
