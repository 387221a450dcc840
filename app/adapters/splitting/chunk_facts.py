"""Says of each chunk what most of it is, and whether it holds whole sections or a fragment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.adapters.splitting.blocks import Block
from app.adapters.splitting.headings import Heading
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
        starts = np.fromiter(map(lines.start, range(len(lines))), np.int64, len(lines))
        self._firsts, self._ends = starts.copy(), starts.copy()
        in_list = np.zeros(len(lines), np.bool_)
        goes_on = False
        for number in range(len(lines)):
            text = lines.text(number)
            self._firsts[number] += len(text) - len(text.lstrip())
            self._ends[number] += len(text.rstrip())
            # What is indented below an entry belongs to it, whatever it is.
            goes_on = bool(_LIST_ENTRY.match(text)) or (goes_on and text[:1].isspace())
            in_list[number] = goes_on
        kinds = _kinds(in_list, starts, structure)
        self._totals = np.zeros((len(CHUNK_TYPES), len(lines) + 1), np.int64)
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


def _kinds(in_list: npt.NDArray[np.bool_], starts: Numbers, structure: Structure) -> Numbers:
    """The kind of each line."""
    if structure.is_code:
        return np.full(len(in_list), CODE)
    kinds = np.where(in_list, LIST, TEXT)
    blocks = structure.blocks
    for first, after, block in zip(*_line_ranges(starts, blocks), blocks, strict=True):
        kinds[first:after] = TABLE if block.is_table else CODE
    for first, after in zip(*_line_ranges(starts, structure.headings), strict=True):
        kinds[first:after] = HEADING
    return kinds


def _line_ranges(starts: Numbers, parts: Sequence[Block | Heading]) -> tuple[list[int], list[int]]:
    """The first line of each part, and the one after its last."""
    firsts = np.searchsorted(starts, [part.start for part in parts])
    afters = np.searchsorted(starts, [part.end for part in parts])
    return firsts.tolist(), afters.tolist()


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
