"""Question sets over files that may change: a passage is identified by its file and a phrase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from app.adapters.loading.text_document import document_from_bytes
from app.errors import SourceNotFoundError, SourceUnreadableError
from app.evaluation.files import JsonLine, find_file, json_lines
from app.evaluation.question_set import CorpusDocument, Question
from app.evaluation.ranked_answers import Judgements, RankedAnswers
from app.search.results import SearchResult

CORPUS, QUERIES = "corpus.json", "queries.jsonl"

DEPTHS = (100,)
"""Chunks are ranked, not documents: the most that HTTP returns is enough for every measure."""


@dataclass(frozen=True)
class ExpectedPassage:
    """A place that answers a question."""

    file: str
    phrase: str
    """Words that the passage contains; differences in white space do not matter."""

    @property
    def name(self) -> str:
        """Its key in judgements."""
        return f"{self.file}: {self.phrase}"


@dataclass(frozen=True)
class PhraseSet:
    """A question set that judges passages: a chunk counts if it contains a phrase completely."""

    name: str
    documents: Sequence[CorpusDocument]
    questions: Sequence[Question]
    passages: Mapping[str, Sequence[ExpectedPassage]]
    """For each question, by id, what answers it."""
    remarks: Sequence[str] = ()
    depths: Sequence[int] = DEPTHS

    def scorer(self) -> RankedAnswers:
        """A new scorer for the answers of one mode."""
        judgements: Judgements = {
            question_id: {passage.name: 1 for passage in passages}
            for question_id, passages in self.passages.items()
        }
        return RankedAnswers(judgements, self._names)

    def missing(self) -> list[ExpectedPassage]:
        """The passages whose phrase is no longer in their file."""
        texts = {document.id: one_line(document.text) for document in self.documents}
        return [
            passage
            for passages in self.passages.values()
            for passage in passages
            if passage.phrase not in texts.get(passage.file, "")
        ]

    def _names(self, question: Question, results: Sequence[SearchResult]) -> Sequence[str]:
        """For each result, the passages it is the first to contain; without any, its chunk id."""
        left = list(self.passages[question.id])
        names = []
        for result in results:
            content = one_line(result.content)
            shown = [p for p in left if p.file == result.document_uri and p.phrase in content]
            names += [passage.name for passage in shown] or [result.chunk_id]
            left = [passage for passage in left if passage not in shown]
        return names


def one_line(text: str) -> str:
    """The text with single spaces for all white space."""
    return " ".join(text.split())


# Files -----------------------------------------------------------------------------------------


class Corpus(BaseModel):
    """The file that says which files the questions are about."""

    model_config = ConfigDict(extra="forbid")

    root: Path
    """A folder, relative to that of the question set."""
    files: list[str] = Field(min_length=1)
    """Globs below the root, such as `docs/**/*.md`."""


def is_phrase_set(folder: Path) -> bool:
    """Whether the folder has the files of this layout."""
    return (folder / CORPUS).is_file() and find_file(folder, QUERIES) is not None


def read_phrases(folder: Path) -> PhraseSet:
    """Read a folder with `corpus.json` and `queries.jsonl`.

    A query has `_id`, `text` and `metadata.answers`, a list of objects with `file` and `phrase`.
    Raises SourceNotFoundError and SourceUnreadableError, the latter also for a missing phrase.
    """
    documents = _documents(folder)
    path = find_file(folder, QUERIES)
    if path is None:
        raise SourceNotFoundError(f"{folder} has no {QUERIES}.")
    questions: list[Question] = []
    passages: dict[str, Sequence[ExpectedPassage]] = {}
    for line in json_lines(path):
        question = Question(line.text("_id"), line.words("text"))
        if question.id in passages:
            raise SourceUnreadableError(f"{line.place}: the _id occurs twice.")
        passages[question.id] = _passages(line)
        questions.append(question)
    if not questions:
        raise SourceUnreadableError(f"{path} has no questions.")
    found = PhraseSet(folder.name, documents, questions, passages)
    if missing := found.missing():
        listed = "; ".join(passage.name for passage in missing[:5])
        raise SourceUnreadableError(
            f"{path}: {len(missing)} phrases are no longer in their files: {listed}"
        )
    return found


def _documents(folder: Path) -> list[CorpusDocument]:
    try:
        corpus = Corpus.model_validate_json((folder / CORPUS).read_bytes())
        root = (folder / corpus.root).resolve()
        paths = sorted({path for glob in corpus.files for path in root.glob(glob)})
    except (OSError, ValueError, NotImplementedError) as error:
        raise SourceUnreadableError(f"{folder / CORPUS}: {error}") from error
    documents = [_document(root, path) for path in paths if path.is_file()]
    if not documents:
        raise SourceNotFoundError(f"{folder / CORPUS}: no file below {root} matches its globs.")
    return documents


def _document(root: Path, path: Path) -> CorpusDocument:
    key = PurePosixPath(path.relative_to(root)).as_posix()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceUnreadableError(f"{path} cannot be read: {error}") from error
    try:
        loaded = document_from_bytes(data, name=path.name, document_id=key, source_uri=key)
    except SourceUnreadableError:  # indexing passes over it, and counts it
        return CorpusDocument(id=key, key=key, text="", title=None)
    return CorpusDocument(id=key, key=key, text=loaded.content, title=loaded.title)


def _passages(line: JsonLine) -> list[ExpectedPassage]:
    answers: Any = line.mapping("metadata").get("answers")
    if not isinstance(answers, list) or not answers:
        raise SourceUnreadableError(f"{line.place}: 'metadata.answers' is not a list of answers.")
    passages = []
    for answer in answers:
        fields = JsonLine(line.place, answer if isinstance(answer, dict) else {})
        passages.append(ExpectedPassage(fields.text("file"), one_line(fields.words("phrase"))))
    return passages
