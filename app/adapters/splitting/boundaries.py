"""Finds the places where a text may be cut, from the best (a section) to the least (a word)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.adapters.splitting.graphemes import grapheme_breaks

Flags = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]

_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D

_WHITE_SPACE = (
    *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B),
    0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
)  # fmt: skip
"""Unicode's White_Space property: what tokenizers part words by. `str.isspace` adds U+001C to
U+001F, which BERT's tokenizer drops without parting the word."""

_BLANK = (*range(0x1C, 0x20), *_WHITE_SPACE)
"""What `str.strip` takes off: a line of nothing else is blank."""

_SENTENCE_ENDS = ".!?\N{HORIZONTAL ELLIPSIS}\N{ARABIC QUESTION MARK}\N{DEVANAGARI DANDA}"
_SENTENCE_ENDS_WITHOUT_SPACE = (
    "\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH EXCLAMATION MARK}\N{FULLWIDTH QUESTION MARK}"
    "\N{HALFWIDTH IDEOGRAPHIC FULL STOP}"
)
_CLOSING_MARKS = (
    "\"')]}*_`\N{RIGHT SINGLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
    "\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}\N{FULLWIDTH RIGHT PARENTHESIS}"
    "\N{RIGHT CORNER BRACKET}\N{RIGHT WHITE CORNER BRACKET}\N{RIGHT DOUBLE ANGLE BRACKET}"
)


def _class_table(characters: str | tuple[int, ...]) -> Flags:
    table = np.zeros(0x10000, dtype=np.bool_)
    table[[ord(c) for c in characters] if isinstance(characters, str) else list(characters)] = True
    return table


_IS_SPACE = _class_table(_WHITE_SPACE)
_IS_BLANK = _class_table(_BLANK)
_IS_SENTENCE_END = _class_table(_SENTENCE_ENDS + _SENTENCE_ENDS_WITHOUT_SPACE)
_IS_SPACELESS_END = _class_table(_SENTENCE_ENDS_WITHOUT_SPACE)
_IS_CLOSING = _class_table(_CLOSING_MARKS)


@dataclass(frozen=True)
class LineMap:
    """Where the lines of a text begin and end; positions are character offsets."""

    line_starts: Positions
    """Ascending, from 0."""
    line_ends: Positions
    """Of each line in `line_starts`: the end of its text, before its line break."""
    blank_lines: Flags


@dataclass(frozen=True)
class TextMap(LineMap):
    """One text, character by character: what stands where, and where parts begin.

    Parts begin at ascending positions between 1 and len(text) - 1 at which no grapheme cluster is
    torn.
    """

    spaces: Flags
    """Shape (len(text),): white space."""
    breaks: Flags
    """Shape (len(text) + 1,): cuts that tear no grapheme cluster."""
    paragraphs: Positions
    lines: Positions
    sentences: Positions
    words: Positions


def map_text(text: str) -> TextMap:
    r"""Find every boundary of a text; lines end with \n, \r\n or \r. Linear in its length."""
    codes = _codes(text)
    spaces = _IS_SPACE[codes]
    breaks = grapheme_breaks(text)
    of_lines = _map_lines(codes)
    starts, blank = of_lines.line_starts, of_lines.blank_lines
    paragraphs = starts[1:][~blank[1:] & blank[:-1]]
    words = np.flatnonzero(~spaces[1:] & spaces[:-1]) + 1
    sentences = _sentences(codes, spaces)
    return TextMap(
        line_starts=starts,
        line_ends=of_lines.line_ends,
        blank_lines=blank,
        spaces=spaces,
        breaks=breaks,
        paragraphs=paragraphs[breaks[paragraphs]],
        lines=starts[1:],
        sentences=sentences[breaks[sentences]],
        words=words[breaks[words]],
    )


def map_lines(text: str) -> LineMap:
    """Find only the lines, as `map_text` does; in a third of its time."""
    return _map_lines(_codes(text))


def _codes(text: str) -> npt.NDArray[np.uint16]:
    # Lone surrogates pass, so that no text at all can fail here.
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return np.minimum(code_points, 0xFFFF).astype(np.uint16)


def _map_lines(codes: npt.NDArray[np.uint16]) -> LineMap:
    line_starts, line_ends = _lines(codes)
    return LineMap(line_starts, line_ends, _blank_lines(_IS_BLANK[codes], line_starts, line_ends))


def merged(some: Positions, others: Positions) -> Positions:
    """Two ascending lists as one, without duplicates; linear, unlike `np.union1d`'s hashing."""
    both = np.concatenate((some, others))
    both.sort(kind="stable")  # which merges runs that are in order
    return both[np.diff(both, prepend=-1) > 0]


def _lines(codes: npt.NDArray[np.uint16]) -> tuple[Positions, Positions]:
    is_feed = codes == _LINE_FEED
    is_return = codes == _CARRIAGE_RETURN
    ends_line = is_feed | is_return
    ends_line[:-1] &= ~(is_return[:-1] & is_feed[1:])  # of \r\n, the \n ends the line
    last_characters = np.flatnonzero(ends_line)
    starts = np.concatenate(([0], last_characters + 1))
    ends = np.concatenate((last_characters, [len(codes)]))
    pairs = is_feed[last_characters] & (last_characters > 0)
    pairs[pairs] = is_return[last_characters[pairs] - 1]
    ends[:-1][pairs] -= 1
    if len(starts) > 1 and starts[-1] == len(codes):
        starts, ends = starts[:-1], ends[:-1]  # a final line break begins no further line
    return starts, ends


def _blank_lines(blank: Flags, line_starts: Positions, line_ends: Positions) -> Flags:
    filled_before = np.zeros(len(blank) + 1, dtype=np.int32)
    np.cumsum(~blank, out=filled_before[1:])
    return np.equal(filled_before[line_starts], filled_before[line_ends])


def _sentences(codes: npt.NDArray[np.uint16], spaces: Flags) -> Positions:
    """Where a word follows a sentence end and a space, or anything a full-width sentence end."""
    solid = np.flatnonzero(~spaces).astype(np.int32)  # half the memory: it has one entry a letter
    gap_at = np.flatnonzero(np.diff(solid) > 1)
    last = solid[gap_at]
    closing = _IS_CLOSING[codes[last]]
    last = last - (closing & (last > 0))
    after_space = solid[gap_at + 1][_IS_SENTENCE_END[codes[last]]]
    no_start = spaces | _IS_SPACELESS_END[codes] | _IS_CLOSING[codes]
    follows = _IS_SPACELESS_END[codes[:-1]] & ~no_start[1:]
    follows[1:] |= _IS_SPACELESS_END[codes[:-2]] & _IS_CLOSING[codes[1:-1]] & ~no_start[2:]
    return merged(after_space.astype(np.int64), np.flatnonzero(follows) + 1)
