"""What the commands print for a person."""

import bisect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from app.command.display import address, line, printable, results
from app.command.sources import WEB_ADDRESS
from app.knowledge.content_lines import count_line_ends

if TYPE_CHECKING:
    from app.command.care_schemas import CompactionReport, VerifyReport
    from app.command.indexing import Indexed
    from app.knowledge.schemas import Item
    from app.rag.answer_schemas import Highlight, SearchAnswer, SearchResult
    from app.rag.generation_schemas import GenerationList
    from app.rag.schemas import CollectionStats, SourceNote

SHOWN_NOTES = 10
SNIPPET_LINES = 4
SNIPPET_COLUMNS = 160


# Search ----------------------------------------------------------------------------------------


def print_search(answer: "SearchAnswer") -> None:
    """The results: rank, score, place, headings and the lines that fit the question best."""
    console = results()
    for rank, result in enumerate(answer.results, 1):
        start, shown = snippet(result.content, result.highlights)
        heading = Text(f"{rank:>2}. ", "bold")
        heading.append(f"{result.score:.3f}  ", "green")
        heading.append(place(result, start), "cyan")
        console.print(heading, soft_wrap=True)
        console.print(Text(f"    {_headings(result)}", "bold"), soft_wrap=True)
        for text in shown:
            console.print(Text(f"    │ {text}"), overflow="ellipsis", no_wrap=True)
        console.print()


def place(result: "SearchResult", start: int = 0) -> str:
    """Where a result stands: `path:120` for a file, which editors and terminals can open.

    There begins what is shown of it, at `start` in its content.
    """
    uri = address(result.document_uri)
    lines = f"lines {result.start_line}-{result.end_line}"
    if WEB_ADDRESS.match(uri):
        return f"{uri}  {lines}"
    above = count_line_ends(result.content[:start])
    return f"{uri}:{result.start_line + above}  {lines}"


def _headings(result: "SearchResult") -> str:
    return line(" > ".join(result.heading_path) or result.document_title or result.title)


def snippet(content: str, highlights: "Sequence[Highlight]") -> tuple[int, list[str]]:
    """The consecutive lines, at most SNIPPET_LINES, with most of the highlighted words.

    And where in the content the first of them begins.

    Of several such those with the highlighted sentence; of these the last that begin with one of
    the words, since what answers a question often stands below its words.
    """
    lines = [match for match in re.finditer(r"[^\n]+", content) if not match[0].isspace()]
    starts = [match.start() for match in lines]
    words: list[set[str]] = [set() for _ in lines]
    telling: dict[int, int] = {}
    for highlight in highlights:  # the sentence comes first
        number = max(bisect.bisect_right(starts, highlight.start) - 1, 0)
        telling.setdefault(number, highlight.start - starts[number])
        if highlight.kind == "word":
            words[number].add(highlight.text.lower())
    first_told = next(iter(telling), 0)

    def fitness(start: int) -> tuple[int, bool, bool, int]:
        shown = range(start, min(start + SNIPPET_LINES, len(lines)))
        said = set[str]().union(*(words[number] for number in shown))
        return len(said), first_told in shown, start in telling, start

    windows = range(max(1, len(lines) - SNIPPET_LINES + 1))
    start = max(windows, key=fitness) if telling else 0
    shown = [
        _cut(match[0], telling.get(number, 0))
        for number, match in enumerate(lines[start : start + SNIPPET_LINES], start)
    ]
    return (starts[start] if starts else 0), shown


def _cut(text: str, telling: int) -> str:
    """The line as it is printed; of a long one the part around the character that tells most."""
    before = len(text[:telling].expandtabs(4))
    shown = printable(text.rstrip()).expandtabs(4)
    spare = len(shown) - SNIPPET_COLUMNS
    if spare <= 0:
        return shown
    start = min(max(before - SNIPPET_COLUMNS // 4, 0), spare)
    part = shown[start : start + SNIPPET_COLUMNS]
    part = f"…{part[1:]}" if start else part
    return f"{part[:-1]}…" if start < spare else part


# Indexing --------------------------------------------------------------------------------------


def print_indexed(indexed: "Indexed") -> None:
    """What became of a source."""
    console = results()
    item, result = indexed.item, indexed.result
    if result.success:
        summary = Text("Indexed ", "bold green")
        summary.append(f"{line(item.uri)} ({item.document_type}) as item {item.id}", "default")
        console.print(summary, soft_wrap=True)
        seconds = result.duration_ms / 1000
        console.print(
            f"  {counted(result.documents, 'document')}, "
            f"{counted(result.chunks_indexed, 'chunk')}: "
            f"{result.chunks_added:,} added, {result.chunks_removed:,} removed, "
            f"{result.chunks_unchanged:,} unchanged; {result.chunks_embedded:,} embedded; "
            f"{seconds:.1f} s",
            soft_wrap=True,
        )
    _print_notes("skipped", result.skipped)
    _print_notes("taken in with a warning", result.warnings)


def _print_notes(what: str, notes: "Sequence[SourceNote]") -> None:
    """The first notes and how many there are."""
    if not notes:
        return
    console = results()
    console.print(f"  {len(notes):,} {what}:")
    for note in notes[:SHOWN_NOTES]:
        console.print(f"    {line(note.uri)}: {line(note.reason)}", soft_wrap=True)
    if len(notes) > SHOWN_NOTES:
        console.print(f"    … and {len(notes) - SHOWN_NOTES:,} more; --json lists all of them")


def counted(number: int, noun: str) -> str:
    """`1 chunk`, `1,234 chunks`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


# Items -----------------------------------------------------------------------------------------


def print_items(items: "Sequence[Item]") -> None:
    """The items as a table, one a line; errors are shown if there are any."""
    failing = any(item.error for item in items)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (("id", "right"), ("status", "left"), ("chunks", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]  # literals
    table.add_column("title", overflow="fold")
    table.add_column("category and tags", overflow="fold")
    table.add_column("uri", overflow="fold")
    if failing:
        table.add_column("error", overflow="fold")
    for item in items:
        labels = " ".join([item.category or "", *(f"#{tag}" for tag in item.tags)]).strip()
        cells = [str(item.id), item.status, f"{item.chunk_count:,}", item.title, labels, item.uri]
        if failing:
            cells.append(item.error or "")
        table.add_row(*(Text(line(cell)) for cell in cells))
    results().print(table)


def print_item(item: "Item") -> None:
    """One item, a field a line."""
    values = {**item.model_dump(mode="json"), "tags": ", ".join(item.tags)}
    _print_fields({name: value for name, value in values.items() if value not in (None, "")})


def print_generations(found: "GenerationList") -> None:
    """A line for each: state, model, splitter, and how far it is."""
    table = Table(box=None, pad_edge=False)
    for name in ("ID", "STATE", "MODEL", "SPLITTER", "DOCUMENTS", "CHUNKS"):
        table.add_column(name, justify="right" if name in {"ID", "CHUNKS"} else "left")
    for each in found.generations:
        done = f"{each.documents_done:,} of {each.documents_total:,}"
        table.add_row(
            str(each.id), each.state, line(each.embedding_model), each.splitter, done,
            f"{each.chunks:,}",
        )  # fmt: skip
    results().print(table)


def print_stats(stats: "CollectionStats") -> None:
    """The counts, one a line."""
    _print_fields(stats.model_dump())


def _print_fields(fields: dict[str, object]) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in fields.items():
        shown = f"{value:,}" if isinstance(value, int) and name != "id" else line(str(value))
        grid.add_row(name.replace("_", " "), Text(shown))
    results().print(grid)


def print_verified(report: "VerifyReport") -> None:
    """What was compared and found."""
    console = results()
    for sentence in report.healed:
        console.print(line(sentence), soft_wrap=True)
    for problem in report.problems:
        console.print(line(problem), soft_wrap=True)
    unlisted = report.problem_count - len(report.problems)
    if unlisted:
        console.print(f"… and {unlisted:,} more problems")
    verdict = "Clean" if not report.problem_count else counted(report.problem_count, "problem")
    if report.mended_count:
        verdict += f" ({report.mended_count:,} mended)"
    console.print(
        f"{verdict}: compared {counted(report.documents, 'document')}, "
        f"{counted(report.chunks, 'chunk')}, {counted(report.index_records, 'index record')} and "
        f"{counted(report.sampled_vectors, 'vector')}.",
        soft_wrap=True,
    )


def print_compacted(report: "CompactionReport") -> None:
    """What takes how much space, before and after."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in ("before", "after"):
        table.add_column(name, justify="right")
    for name, before in report.before.model_dump().items():
        after = getattr(report.after, name)
        cells = (name.replace("_", " "), _mebibytes(before), _mebibytes(after))
        table.add_row(*(Text(cell) for cell in cells))
    console = results()
    console.print(table)
    if report.generations_dropped:
        generations = counted(report.generations_dropped, "former generation")
        console.print(
            f"Dropped {generations}: to go back now is to embed again.",
            soft_wrap=True,
        )
    vectors = counted(report.embeddings_dropped, "vector")
    console.print(f"Dropped {vectors} of texts that no chunk has any more.", soft_wrap=True)


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"
