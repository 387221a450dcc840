"""Question sets whose answers are spans of characters: how well the chunks found cover them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import SourceNotFoundError, SourceUnreadableError
from app.evaluation.files import JsonLine, find_file, json_lines
from app.evaluation.question_set import CorpusDocument, Question
from app.search.results import SearchResult

CORPORA, QUESTIONS = "corpora", "questions.jsonl"

RESULTS = 5
"""Chunks retrieved for each question, as in the published figures."""

Span = tuple[int, int]
"""Offsets of the first character and of the one after the last."""


@dataclass(frozen=True)
class Answer:
    """Where a question is answered."""

    document_id: str
    spans: Sequence[Span]
    """In order, without overlap."""


@dataclass(frozen=True)
class SpanSet:
    """A question set judged by characters."""

    name: str
    documents: Sequence[CorpusDocument]
    questions: Sequence[Question]
    answers: Mapping[str, Answer]
    remarks: Sequence[str] = ()
    depths: Sequence[int] = (RESULTS,)

    def scorer(self) -> "Coverage":
        """A new scorer for the answers of one mode."""
        return Coverage(self.answers)


class Coverage:
    """A Scorer: recall, precision and intersection over union (IoU) of what chunks cover.

    The formulas are those of Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval",
    as their published code computes them, with characters in place of tokens. In the denominator of
    the precision, a character counts once for each chunk that contains it.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers
        names = ("recall", "precision", "IoU")
        self._scores: dict[str, dict[str, float]] = {
            f"token {name}@{RESULTS}": {} for name in names
        }

    def add(self, question: Question, results: Sequence[SearchResult]) -> None:
        """Take note of what was found for a question, best first."""
        answer = self._answers[question.id]
        chunks = [(result.start_index, result.end_index) for result in results]
        there = [
            chunk
            for chunk, result in zip(chunks, results, strict=True)
            if result.document_uri == answer.document_id
        ]
        wanted = length(answer.spans)
        covered = length(united(_shared(there, answer.spans)))
        retrieved = length(chunks)
        values = (
            covered / wanted,
            covered / retrieved if retrieved else 0.0,
            covered / (retrieved + wanted - covered),
        )
        for scores, value in zip(self._scores.values(), values, strict=True):
            scores[question.id] = value

    def scores(self) -> Mapping[str, Mapping[str, float]]:
        """Every measure of every question that was added."""
        return self._scores


def united(spans: Iterable[Span]) -> list[Span]:
    """The same characters as ordered spans that do not overlap."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(spans: Iterable[Span]) -> int:
    """The total length of the spans; characters of two spans count twice."""
    return sum(end - start for start, end in spans)


def _shared(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    pairs = ((max(a, c), min(b, d)) for a, b in spans for c, d in others)
    return [(start, end) for start, end in pairs if start < end]


# Files -----------------------------------------------------------------------------------------


def is_span_set(folder: Path) -> bool:
    """Whether the folder has the files of this layout."""
    return (folder / CORPORA).is_dir() and find_file(folder, QUESTIONS) is not None


def read_spans(folder: Path) -> SpanSet:
    """Read a folder with `corpora/*.md` and `questions.jsonl`.

    A question has `_id`, `text`, `corpus_id` (a file's name without suffix) and `spans`, pairs of
    character offsets. Raises SourceNotFoundError and SourceUnreadableError.
    """
    documents = {path.stem: _document(path) for path in sorted((folder / CORPORA).glob("*.md"))}
    path = find_file(folder, QUESTIONS)
    if path is None or not documents:
        raise SourceNotFoundError(f"{folder} has no {QUESTIONS} or no {CORPORA}/*.md.")
    questions: list[Question] = []
    answers: dict[str, Answer] = {}
    for line in json_lines(path):
        question = Question(line.text("_id"), line.words("text"))
        if question.id in answers:
            raise SourceUnreadableError(f"{line.place}: the _id occurs twice.")
        document = documents.get(line.text("corpus_id"))
        if document is None:
            raise SourceUnreadableError(f"{line.place}: {CORPORA} has no file for its corpus_id.")
        answers[question.id] = Answer(document.id, _spans(line, len(document.text)))
        questions.append(question)
    if not questions:
        raise SourceUnreadableError(f"{path} has no questions.")
    return SpanSet(folder.name, list(documents.values()), questions, answers)


def _document(path: Path) -> CorpusDocument:
    try:
        # Decoded from bytes: translating line ends would shift every later offset.
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadableError(f"{path} cannot be read: {error}") from error
    return CorpusDocument(id=path.name, key=path.name, text=text, title=path.stem)


def _spans(line: JsonLine, document_length: int) -> list[Span]:
    spans = line.fields.get("spans")
    if not isinstance(spans, list) or not spans:
        raise SourceUnreadableError(f"{line.place}: 'spans' is not a list of pairs of offsets.")
    for span in spans:
        fits = (
            isinstance(span, list)
            and len(span) == 2
            and all(isinstance(offset, int) for offset in span)
            and 0 <= span[0] < span[1] <= document_length
        )
        if not fits:
            raise SourceUnreadableError(f"{line.place}: {span} is not a span within the document.")
    return united((start, end) for start, end in spans)
