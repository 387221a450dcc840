"""Cuts documents into chunks at the best natural boundaries that their size and tokens allow."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from app.adapters.splitting.boundaries import TextMap, map_text
from app.adapters.splitting.chunk_facts import FactFinder
from app.adapters.splitting.cutting import Cutter, plan_cuts
from app.adapters.splitting.headings import Heading
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.markup import markup_of
from app.adapters.splitting.structure import read_structure
from app.adapters.splitting.tokens import TokenRuler
from app.protocols import TextChunk, TokenMeter

ALGORITHM = "recursive-24"
"""Raised whenever the same text would be cut or described in another way: it is indexed again."""


class RecursiveTextSplitter:
    """Cuts at a section, paragraph, line, sentence, word or character: the first that fills enough.

    Every character of a text with anything but white space stands in some chunk, and
    `text[start_index:end_index] == content`. A chunk has at most `chunk_size` characters and,
    measured alone, at most `max_tokens` tokens; neighbours share up to `chunk_overlap` characters.
    Fenced code, literal blocks and tables that fit into one chunk are not cut, nor are the rows of
    a table in Markdown that does not fit, and a heading stays with what it is the heading of. A
    grapheme cluster is cut only when it cannot fit into a chunk by itself; a single character with
    more tokens than `max_tokens` is a chunk of its own.
    """

    def __init__(
        self,
        chunk_size: int = 1000,
        chunk_overlap: int = 200,
        token_meter: TokenMeter | None = None,
        max_tokens: int | None = None,
    ) -> None:
        if chunk_size < 1:
            raise ValueError(f"The chunk size must be at least 1 character, not {chunk_size}.")
        if not 0 <= chunk_overlap < chunk_size:
            raise ValueError(
                f"The overlap must be at least 0 and smaller than the chunk size ({chunk_size} "
                f"characters), not {chunk_overlap}."
            )
        if max_tokens is not None and token_meter is None:
            raise ValueError("A token limit needs a token meter to measure with.")
        if token_meter is not None:
            max_tokens = token_meter.max_tokens if max_tokens is None else max_tokens
            if not 1 <= max_tokens <= token_meter.max_tokens:
                raise ValueError(
                    "The token limit must be at least 1 and no more than the "
                    f"{token_meter.max_tokens} tokens that the model reads, not {max_tokens}."
                )
        self._chunk_size = chunk_size
        self._chunk_overlap = chunk_overlap
        self._token_meter = token_meter
        self._max_tokens = max_tokens

    @property
    def fingerprint(self) -> str:
        """Algorithm, sizes and token limit. The embedder's fingerprint names the tokenizer."""
        limit = "-" if self._max_tokens is None else self._max_tokens
        return f"{ALGORITHM}:{self._chunk_size}:{self._chunk_overlap}:{limit}"

    def split_text(
        self, content: str, metadata: Mapping[str, Any] | None = None, *, name: str = ""
    ) -> list[TextChunk]:
        """Cut the text; chunks come in its order. Empty text and white space give no chunks.

        The metadata is copied once, and handed on to every chunk read-only. `name` is the path or
        address of the document, which tells its markup: see `markup_of`.
        """
        if not content.strip():
            return []
        text_map = map_text(content)
        lines = Lines(content, text_map)
        structure = read_structure(lines, markup_of(name))
        ruler = self._ruler(content, text_map)
        plan = plan_cuts(text_map, lines, structure, ruler, self._chunk_size)
        cuts = list(Cutter(plan, ruler, self._chunk_size, self._chunk_overlap).cuts())
        finder = FactFinder(lines, structure)
        return _chunks(content, cuts, text_map, structure.headings, finder, dict(metadata or {}))

    def _ruler(self, content: str, text_map: TextMap) -> TokenRuler | None:
        if self._token_meter is None or self._max_tokens is None:
            return None
        return TokenRuler(
            content, text_map.spaces, self._token_meter, self._max_tokens, self._chunk_size
        )


def _chunks(
    content: str,
    cuts: list[tuple[int, int]],
    text_map: TextMap,
    headings: list[Heading],
    finder: FactFinder,
    metadata: dict[str, Any],
) -> list[TextChunk]:
    starts, ends = np.array(cuts, dtype=np.int64).T
    first_lines = np.searchsorted(text_map.line_starts, starts, side="right")
    last_lines = np.searchsorted(text_map.line_starts, ends - 1, side="right")
    heading_starts = np.array([heading.start for heading in headings], dtype=np.int64)
    leading = [_first_letter(content, start, end) for start, end in cuts]
    above = np.searchsorted(heading_starts, leading, side="right")
    shared = MappingProxyType(metadata)
    facts = [finder.facts(start, end) for start, end in cuts]
    return [
        TextChunk(
            content=content[start:end],
            start_index=start,
            end_index=end,
            chunk_index=index,
            start_line=int(first_lines[index]),
            end_line=int(last_lines[index]),
            heading_path=headings[above[index] - 1].path if above[index] else (),
            metadata=shared,
            chunk_type=facts[index].chunk_type,
            completeness=facts[index].completeness,
        )
        for index, (start, end) in enumerate(cuts)
    ]


def _first_letter(content: str, start: int, end: int) -> int:
    """The chunk's first character that is not white space, else its start."""
    chunk = content[start:end]
    without_indent = chunk.lstrip()
    return end - len(without_indent) if without_indent else start
