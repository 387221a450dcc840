"""Passages are whole lines of their documents, and two of them never share or adjoin lines."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.knowledge.content_lines import split_lines, without_line_break
from app.search.context_budget import ContextBudget
from app.search.context_formats import FORMATS
from app.search.passage_queries import DocumentFacts, Extent
from app.search.passages import (
    Passage,
    PassageHit,
    PassageLines,
    PassagePlan,
    lines_of_plan,
    merge_plans,
)
from app.search.requests import ContextFormatName
from tests.fakes import FakeEmbedder

TEXTS = st.text(alphabet="ab \n\r.#", min_size=1, max_size=400).filter(lambda text: text.strip())
FORMAT_NAMES: st.SearchStrategy[ContextFormatName] = st.sampled_from(["markdown", "json", "tool"])
LINE_END = re.compile(r"\r\n|\r|\n")
METERS = st.sampled_from([None, FakeEmbedder()])


def document(row_id: int = 1, key: str = "guide.md") -> DocumentFacts:
    return DocumentFacts(row_id, 7, key, "Guide", f"/srv/{key}", "MIT", None, "knowledge_base")


def plan(
    rank: int, start_line: int, end_line: int, *, score: float = 0.5, row_id: int = 1
) -> PassagePlan:
    """A plan whose characters do not matter."""
    extent = Extent(start_line * 10, end_line * 10 + 10, start_line, end_line)
    hits = (PassageHit(rank, f"c{rank}", score, extent),)
    return PassagePlan(rank, document(row_id), (), hits, extent)


@st.composite
def documents_with_plans(draw: st.DrawFn) -> tuple[str, int, list[PassagePlan]]:
    """A text, the line at which it starts, and plans for some of its chunks with neighbours."""
    text = draw(TEXTS)
    first_line = draw(st.integers(1, 9))
    chunks = RecursiveTextSplitter(draw(st.integers(5, 60)), draw(st.integers(0, 4))).split_text(
        text
    )
    extents = [
        Extent(
            c.start_index, c.end_index, c.start_line + first_line - 1, c.end_line + first_line - 1
        )
        for c in chunks
    ]
    distance = draw(st.integers(0, 2))
    order = draw(st.permutations(range(len(chunks))))
    hits = order[: draw(st.integers(1, len(order)))]
    plans = [
        PassagePlan(
            rank=rank,
            document=document(),
            heading_path=(),
            hits=(PassageHit(rank, str(hit), 1 / rank, extents[hit]),),
            extent=extents[max(hit - distance, 0)].united(
                extents[min(hit + distance, len(extents) - 1)]
            ),
        )
        for rank, hit in enumerate(hits, 1)
    ]
    return text, first_line, plans


def assert_whole_lines(passage: Passage, text: str, first_line: int) -> None:
    lines = split_lines(text)[passage.start_line - first_line : passage.end_line - first_line + 1]
    assert passage.content == without_line_break("".join(lines))


def assert_lines(passage: Passage, text: str, first_line: int) -> None:
    """Its lines are those of its characters, and it says whether they go on beside it."""
    assert passage.start_line == first_line + len(LINE_END.findall(text[: passage.start_index]))
    assert passage.end_line == passage.start_line + len(LINE_END.findall(passage.content))
    before = LINE_END.split(text[: passage.start_index])[-1]
    after = LINE_END.split(text[passage.end_index :])[0]
    assert passage.cut_before == bool(before.strip())
    assert passage.cut_after == bool(after.strip())


@given(documents_with_plans())
def test_a_passage_is_whole_lines_verbatim_and_holds_its_hits(
    case: tuple[str, int, list[PassagePlan]],
) -> None:
    text, first_line, plans = case
    for merged in merge_plans(plans):
        lines = lines_of_plan(merged, text)
        passage = lines.passage(lines.first_line, lines.last_line)
        assert_whole_lines(passage, text, first_line)
        hit = text[merged.extent.start_index : merged.extent.end_index].strip()
        assert hit in passage.content
        if hit:
            edges = split_lines(passage.content)
            assert edges[0].strip()
            assert edges[-1].strip()


@given(documents_with_plans())
def test_between_two_passages_of_a_document_stands_at_least_one_line(
    case: tuple[str, int, list[PassagePlan]],
) -> None:
    _, _, plans = case
    merged = merge_plans(plans)
    in_order = sorted(merged, key=lambda each: each.extent.start_line)
    for one, next_one in pairwise(in_order):
        assert one.extent.end_line + 1 < next_one.extent.start_line
    assert [each.rank for each in merged] == sorted(each.rank for each in merged)
    assert sorted(hit.chunk_id for each in merged for hit in each.hits) == sorted(
        hit.chunk_id for each in plans for hit in each.hits
    )


@given(documents_with_plans(), FORMAT_NAMES, METERS, st.integers(50, 200))
def test_a_context_keeps_its_budget_and_says_of_every_line_where_it_went(
    case: tuple[str, int, list[PassagePlan]],
    name: ContextFormatName,
    meter: FakeEmbedder | None,
    max_tokens: int,
) -> None:
    text, first_line, plans = case
    merged = merge_plans(plans)
    budget = ContextBudget(max_tokens, meter, FORMATS[name])
    budget.fill(merged, lambda each: lines_of_plan(each, text))
    made = budget.finished()
    assert made.total_tokens == budget.count(made.text) <= max_tokens
    told: list[int] = []
    in_part: set[int] = set()
    shown: list[tuple[int, int]] = []
    hits = {hit.chunk_id: hit for each in plans for hit in each.hits}
    for passage in made.passages:
        assert passage.content == text[passage.start_index : passage.end_index]
        shown.append((passage.start_index, passage.end_index))
        if passage.is_cut:
            assert_lines(passage, text, first_line)
            in_part.update(range(passage.start_line, passage.end_line + 1))
            continue
        assert_whole_lines(passage, text, first_line)
        for hit in (hits[chunk_id] for chunk_id in passage.chunk_ids):
            assert hit.extent.start_line <= passage.end_line
            assert hit.extent.end_line >= passage.start_line
            assert hit.score <= passage.score
        told += range(passage.start_line, passage.end_line + 1)
    whole = set(told)
    assert len(whole) == len(told)
    for omission in made.omitted:
        lines_left_out = range(omission.start_line, omission.end_line + 1)
        assert in_part or not set(told) & set(lines_left_out)
        assert not whole & set(lines_left_out)
        told += lines_left_out
    for one, next_one in pairwise(sorted(shown)):
        assert one[1] <= next_one[0]
    planned = {n for p in merged for n in range(p.extent.start_line, p.extent.end_line + 1)}
    lines = split_lines(text)
    assert set(told) | in_part <= planned
    assert not any(lines[number - first_line].strip() for number in planned - set(told) - in_part)
    ranks = [passage.rank for passage in made.passages]
    assert ranks == sorted(ranks)


def test_merging_keeps_the_best_rank_and_score_and_the_hits_in_order():
    merged = merge_plans([plan(1, 20, 24, score=0.4), plan(2, 1, 3), plan(3, 25, 30, score=0.9)])
    assert [(p.rank, p.score, [hit.chunk_id for hit in p.hits]) for p in merged] == [
        (1, 0.9, ["c1", "c3"]),
        (2, 0.5, ["c2"]),
    ]
    assert (merged[0].extent.start_line, merged[0].extent.end_line) == (20, 30)
    assert merged[0].hits[0].extent.end_line == 24


@given(st.permutations(range(1, 7)))
def test_the_hits_of_a_passage_stand_best_first_however_they_lie(ranks: list[int]) -> None:
    (merged,) = merge_plans([plan(rank, line, line) for line, rank in enumerate(ranks, 1)])
    assert [hit.rank for hit in merged.hits] == [1, 2, 3, 4, 5, 6]
    assert merged.rank == 1


def test_a_passage_that_was_cut_names_only_the_hits_that_it_shows():
    (merged,) = merge_plans([plan(1, 1, 4, score=0.4), plan(2, 4, 6, score=0.9)])
    lines = PassageLines(merged, 0, 1, tuple(f"line {n}\n" for n in range(1, 7)))
    shown = {end: lines.passage(1, end) for end in (3, 4, 6)}
    assert [(p.chunk_ids, p.score) for p in shown.values()] == [
        (("c1",), 0.4),
        (("c1", "c2"), 0.9),
        (("c1", "c2"), 0.9),
    ]


def test_one_line_between_two_hits_keeps_them_apart_and_documents_never_merge():
    apart = merge_plans([plan(1, 1, 4), plan(2, 6, 9)])
    assert len(apart) == 2
    foreign = merge_plans([plan(1, 1, 4), plan(2, 3, 9, row_id=2)])
    assert len(foreign) == 2


def test_blank_lines_at_the_ends_are_left_out_and_the_lines_say_so():
    text = "above\n\n\n  indented\n\n  more\n\nbelow\n"
    extent = Extent(6, text.index("below"), 2, 7)
    hits = (PassageHit(1, "c", 0.5, extent),)
    lines = lines_of_plan(PassagePlan(1, document(), (), hits, extent), text)
    passage = lines.passage(lines.first_line, lines.last_line)
    assert (passage.start_line, passage.end_line) == (4, 6)
    assert passage.content == "  indented\n\n  more"
    assert passage.citation == "guide.md#L4-L6"
