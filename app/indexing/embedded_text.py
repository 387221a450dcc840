"""What is embedded of a chunk: its own words, after a line that says where they stand."""

from pathlib import PurePosixPath

from app.protocols import LoadedDocument, TextChunk, TokenMeter
from app.text_suffixes import TEXT_SUFFIXES

CONTEXT_RULE = "context-1"
"""Raised whenever the same chunk would get another context, so that it is indexed again."""

CONTEXT_TOKENS = 24
"""Tokens of the model's window that the splitter leaves for the context and its line end. Against
none (nDCG@10 by meaning alone): code questions 0.839 instead of 0.781, questions to documentation
0.897 instead of 0.854; prose as before. See docs/adr/0010."""

PROSE_SUFFIXES = (*TEXT_SUFFIXES, ".html", "")
"""Of files whose bare name says little that their text does not say better."""

MOST_CHARACTERS = 200
"""Of a context when there is no meter to say how many tokens it has."""

SEPARATOR = " > "

MARKS = str.maketrans("", "", "`*\\")
"""Of code, emphasis and escapes: titles and headings come without them, texts with them."""


def splitting_limit(meter: TokenMeter) -> int:
    """The tokens that a chunk may have, so that its context fits into the window beside it."""
    return max(meter.max_tokens - CONTEXT_TOKENS, (meter.max_tokens + 1) // 2)


def chunk_context(
    loaded: LoadedDocument, key: str, chunk: TextChunk, meter: TokenMeter | None
) -> str:
    """The line of context for a chunk; empty when the chunk says it all, or fills the window.

    It has the title of the document and the headings above the chunk, without what the chunk says
    itself. Where the title is nothing but the name of the file, it has the path instead, and for
    prose that lies in no folder it is empty. If it is too long, its beginning goes: the name of the
    file and the nearest heading come last.
    """
    title = loaded.title or ""
    path = PurePosixPath(key)
    if not title or title == path.stem:
        bare = path.suffix.lower() in PROSE_SUFFIXES and "/" not in key
        return "" if bare else _fitted(key, chunk.content, meter)
    said = _bare(chunk.content)
    parts: list[str] = []
    for part in (" ".join(part.split()) for part in (title, *chunk.heading_path)):
        told = _bare(part)
        if part and told not in said and not (parts and _bare(parts[-1]) == told):
            parts.append(part)
    return _fitted(SEPARATOR.join(parts), chunk.content, meter)


def embedded_text(context: str, content: str) -> str:
    """The text that is embedded."""
    return f"{context}\n{content}" if context else content


def _bare(text: str) -> str:
    """The text for comparing: without marks, on one line, and whatever its case."""
    return " ".join(text.translate(MARKS).casefold().split())


def _fitted(line: str, content: str, meter: TokenMeter | None) -> str:
    """The end of the line for which the window has room beside the content."""
    if meter is None:
        return line[-MOST_CHARACTERS:]
    spans = meter.spans(line)
    room = meter.max_tokens - splitting_limit(meter) - 1
    if len(spans) > room:
        room = meter.max_tokens - meter.count(content) - 1
    if len(spans) <= room:
        return line
    for start in spans[len(spans) - room :, 0].tolist() if room > 0 else ():
        if meter.count(line[start:]) <= room:  # the rest of a cut word may be more tokens
            return line[start:]
    return ""
