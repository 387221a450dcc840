"""Question sets judged by characters."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import SourceNotFoundError, SourceUnreadableError
from app.evaluation.question_set import Question
from app.evaluation.spans import Answer, Coverage, Span, length, read_spans, united
from tests.evaluation.question_files import write_lines
from tests.evaluation.search_results import result

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=6).map(
    lambda pairs: [(start, start + size) for start, size in pairs]
)
QUESTION = Question("q", "?")


def characters(spans: list[Span]) -> set[int]:
    return {place for start, end in spans for place in range(start, end)}


@given(SPANS)
def test_uniting_keeps_the_characters_and_leaves_no_overlap(spans: list[Span]) -> None:
    merged = united(spans)
    assert characters(merged) == characters(spans)
    assert length(merged) == len(characters(spans))


@given(wanted=SPANS, chunks=SPANS, elsewhere=SPANS)
def test_coverage_counts_characters(
    wanted: list[Span], chunks: list[Span], elsewhere: list[Span]
) -> None:
    coverage = Coverage({"q": Answer("a.md", united(wanted))})
    found = [result("a.md", "x" * (end - start), start) for start, end in chunks]
    found += [result("b.md", "x" * (end - start), start) for start, end in elsewhere]
    coverage.add(QUESTION, found)
    recall, precision, iou = (scores["q"] for scores in coverage.scores().values())
    covered = len(characters(wanted) & characters(chunks))
    retrieved = length(chunks) + length(elsewhere)
    missed = len(characters(wanted)) - covered
    assert recall == pytest.approx(covered / len(characters(wanted)))
    assert precision == pytest.approx(covered / retrieved)
    assert iou == pytest.approx(covered / (retrieved + missed))


def test_nothing_found_scores_nothing() -> None:
    coverage = Coverage({"q": Answer("a.md", [(0, 4)])})
    coverage.add(QUESTION, [])
    assert coverage.scores() == {
        "token recall@5": {"q": 0.0},
        "token precision@5": {"q": 0.0},
        "token IoU@5": {"q": 0.0},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "a.md").write_bytes("é\r\nbcd".encode())
    question = {"_id": "q", "text": "?", "corpus_id": "a", "spans": [[3, 5], [4, 6]]}
    write_lines(tmp_path / "questions.jsonl", [question])
    return tmp_path


def test_offsets_are_characters_of_the_file_as_it_lies_there(folder: Path) -> None:
    found = read_spans(folder)
    assert found.answers["q"] == Answer("a.md", [(3, 6)])
    assert found.documents[0].text[3:6] == "bcd"


@pytest.mark.parametrize(
    "spans", [None, [], [[1]], [[2, 2]], [[0, 7]], [[-1, 2]], ["ab"], [["0", 1]]]
)
def test_spans_that_are_no_stretch_of_the_document_are_refused(folder: Path, spans: object) -> None:
    row = {"_id": "q", "text": "?", "corpus_id": "a", "spans": spans}
    (folder / "questions.jsonl").write_text(json.dumps(row))
    with pytest.raises(SourceUnreadableError, match=r"questions\.jsonl, line 1"):
        read_spans(folder)


def test_a_question_that_asks_nothing_is_refused(folder: Path) -> None:
    row = {"_id": "q", "text": "", "corpus_id": "a", "spans": [[0, 1]]}
    write_lines(folder / "questions.jsonl", [row])
    with pytest.raises(SourceUnreadableError, match="line 1: 'text' is empty"):
        read_spans(folder)


def test_a_question_on_no_file_and_one_asked_twice_are_refused(folder: Path) -> None:
    row = {"_id": "q", "text": "?", "corpus_id": "a", "spans": [[0, 1]]}
    write_lines(folder / "questions.jsonl", [row, row])
    with pytest.raises(SourceUnreadableError, match="line 2: the _id occurs twice"):
        read_spans(folder)
    write_lines(folder / "questions.jsonl", [row | {"corpus_id": "b"}])
    with pytest.raises(SourceUnreadableError, match="has no file for its corpus_id"):
        read_spans(folder)
    write_lines(folder / "questions.jsonl", [])
    with pytest.raises(SourceUnreadableError, match="no questions"):
        read_spans(folder)
    (folder / "corpora" / "a.md").unlink()
    with pytest.raises(SourceNotFoundError):
        read_spans(folder)
