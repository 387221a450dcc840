"""What a job noted down of its failure becomes the error that the work itself raised."""

from dataclasses import asdict

import pytest

from app import errors
from app.errors import AppError
from app.indexing.results import BulkIndexingResult, IndexingResult
from app.jobs.records import Outcome
from app.protocols import SourceNote
from app.rag.answers import bulk_answer, indexing_answer

RESULT = IndexingResult(
    success=True,
    knowledge_id=3,
    chunks_indexed=2,
    content_hash="ab",
    skipped=(SourceNote("a.png", "no text"),),
    warnings=(SourceNote("b.md", "odd"), SourceNote("c.md", "odd")),
    duration_ms=1.5,
)


def test_an_answer_comes_back_as_it_was() -> None:
    assert indexing_answer(Outcome("succeeded", asdict(RESULT))) == RESULT
    bulk = BulkIndexingResult(True, 1, 1, 0, 2, 3.5, (RESULT,))
    assert bulk_answer(Outcome("succeeded", asdict(bulk))) == bulk


def test_a_failure_with_an_answer_is_no_error() -> None:
    failure = IndexingResult(success=False, knowledge_id=3, error="File not found: /x")
    assert indexing_answer(Outcome("failed", asdict(failure), failure.error)) == failure


@pytest.mark.parametrize(
    "kind",
    [
        errors.NotFoundError,
        errors.ConflictError,
        errors.UnavailableError,
        errors.OverloadedError,
        errors.EmbeddingError,
        errors.VectorIndexError,
        errors.LexicalIndexError,
        errors.StorageError,
        errors.SourceError,
    ],
    ids=lambda kind: kind.__name__,
)
def test_an_error_comes_back_with_its_status_and_words(kind: type[AppError]) -> None:
    with pytest.raises(AppError, match="It went wrong") as raised:
        indexing_answer(Outcome("failed", error="It went wrong.", problem=kind.slug))
    assert type(raised.value) is kind


def test_no_two_kinds_of_error_with_different_statuses_share_a_slug() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    statuses = {(kind.slug, kind.status) for kind in kinds if issubclass(kind, AppError)}
    assert len({slug for slug, _ in statuses}) == len(statuses)


@pytest.mark.parametrize(
    "problem", [None, "internal-error", "of a later version", "invalid-request"]
)
def test_an_error_that_nobody_knows_is_ours(problem: str | None) -> None:
    with pytest.raises(AppError) as raised:
        indexing_answer(Outcome("failed", error="Something went wrong.", problem=problem))
    assert raised.value.status == 500


def test_what_was_cancelled_is_a_conflict() -> None:
    with pytest.raises(errors.WorkStoppedError, match="was cancelled"):
        indexing_answer(Outcome("cancelled"))
