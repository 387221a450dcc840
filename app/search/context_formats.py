"""How passages are written into a prompt: Markdown, JSON, or the text of the `rag_search` tool."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import regex

from app.search.passages import Passage
from app.search.queries import one_line
from app.search.requests import ContextFormatName

NOTHING_FOUND = "No relevant documentation found for your query."
"""What the tool answers to a question without results, as its specification has it."""

NOTHING_FITS = "Relevant documentation was found, but no passage of it fits into the token limit."
"""Not the same: a model that reads NOTHING_FOUND stops looking. At most 22 tokens."""


CUT = "\N{HORIZONTAL ELLIPSIS}"
"""Stands where a line that is too long was cut."""

QUOTED = "> "
"""Before each line of a text that says what could pass for the header of another."""

_LIKE_A_HEADER = re.compile(
    r"""(?=[\W_]*[\#\uff03])[\W_]*+file[\W_]{0,9}?[:\uff1a\u2236\ua789]
        | (?=[\W_]*(?:[-\u2010-\u2015\u2212\u2500\u2501\uff0d]{2}|[\u2e3a\u2e3b]))
          [\W_]*+result[\W_]{0,9}+\d""",
    re.IGNORECASE | re.VERBOSE,
)
"""The beginning of such a line, of either format, whatever signs and blanks stand around it."""

LOOKED_THROUGH = 1_000
"""Characters seen at the beginning of a line in which letters may stand for others: lines may have
millions."""

_UNSEEN = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Cf}]+")
"""What nobody sees: joiners, soft hyphens, selectors, and letters that are blank."""


@dataclass(frozen=True)
class ContextWriter:
    """Writes passages one after the other."""

    block: Callable[[Passage, int], str]
    """One passage with its header, verbatim; the blocks are numbered from 1."""
    written: Callable[[str], str] = str
    """A stretch of text as it stands within a block, for counting."""
    opening: str = ""
    separator: str = "\n\n"
    closing: str = ""
    nothing_found: str = ""
    """The whole text where the search found nothing."""
    nothing_fits: str = ""
    """The whole text where no passage had room."""

    def joined(self, blocks: Sequence[str]) -> str:
        """The whole text of some blocks."""
        return self.opening + self.separator.join(blocks) + self.closing


def _markdown_block(passage: Passage, _number: int) -> str:
    """`# File: core/agents.py (lines 5-8)`, then the text.

    It is not fenced, not even code: a passage that begins or ends within a fence of its own would
    turn ours inside out, and the specification's example has none. What a text says like another
    header is quoted instead.
    """
    within = "within " if passage.is_cut else ""
    lines = f"({within}lines {passage.start_line}-{passage.end_line})"
    return f"# File: {one_line(passage.document.key)} {lines}\n{_text_of(passage)}"


def _json_block(passage: Passage, _number: int) -> str:
    """An object, in which no text of a source can pass for a header or end its passage."""
    fields = {
        "citation": passage.citation,
        "knowledge_id": passage.document.knowledge_id,
        "score": round(passage.score, 3),
        "content": passage.content,
    }
    if passage.is_cut:
        fields["cut"] = True
    return json.dumps(fields, ensure_ascii=False)


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _tool_block(passage: Passage, number: int) -> str:
    """`--- Result 1 (score: 0.823, source: guide.md) ---`, then the text."""
    source = one_line(passage.document.key)
    header = f"--- Result {number} (score: {passage.score:.3f}, source: {source}) ---"
    return f"{header}\n{_text_of(passage)}"


def _text_of(passage: Passage) -> str:
    """The text, with a sign where a line begins before it or goes on after it.

    All of it is quoted where a line of it could pass for a header: not that line alone, for what
    stands below it would still seem to come from where it says.
    """
    before = CUT + " " if passage.cut_before else ""
    after = " " + CUT if passage.cut_after else ""
    text = before + passage.content + after
    if any(map(_is_like_a_header, passage.content.splitlines())):
        return "".join(QUOTED + line for line in text.splitlines(keepends=True))
    return text


def _is_like_a_header(line: str) -> bool:
    """Whether it reads like one as it is, or with letters for what they stand for (NFKC), if they
    are seen.
    """
    if _LIKE_A_HEADER.match(line):
        return True
    if line.isascii():
        return False
    seen = _UNSEEN.sub("", line, concurrent=False)[:LOOKED_THROUGH]
    return _LIKE_A_HEADER.match(unicodedata.normalize("NFKC", seen)) is not None


FORMATS: Mapping[ContextFormatName, ContextWriter] = {
    "markdown": ContextWriter(_markdown_block),
    "json": ContextWriter(
        _json_block,
        written=_as_json,
        opening="[",
        separator=", ",
        closing="]",
        nothing_found="[]",
        nothing_fits="[]",
    ),
    "tool": ContextWriter(_tool_block, nothing_found=NOTHING_FOUND, nothing_fits=NOTHING_FITS),
}
