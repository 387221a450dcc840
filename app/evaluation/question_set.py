"""What an evaluation needs of a set of judged questions, whatever layout it lies in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.search.results import SearchResult

QuestionScores = Mapping[str, Mapping[str, float]]
"""For each measure, by name, the value of each question, by id."""


@dataclass(frozen=True)
class CorpusDocument:
    """A document of the corpus as it goes into the pipeline."""

    id: str
    """Unique within the corpus; the judgements name it so."""
    key: str
    """The id without its group: what citations show, and what ranking sees as the path."""
    text: str
    title: str | None = None
    group: str | None = None
    """Documents of a group are an item of their own."""


@dataclass(frozen=True)
class Question:
    """A question whose answer is known."""

    id: str
    text: str
    group: str | None = None
    """Only documents of this group are searched; None: all."""


class Scorer(Protocol):
    """Collects the answers to all questions in one mode, then scores them."""

    def add(self, question: Question, results: Sequence[SearchResult]) -> None:
        """Take note of what was found for a question, best first."""
        ...

    def scores(self) -> QuestionScores:
        """Every measure of every question that was added; the first measure is the main one."""
        ...


class QuestionSet(Protocol):
    """A corpus, questions on it, and what answers them."""

    @property
    def name(self) -> str:
        """The folder's name."""
        ...

    @property
    def documents(self) -> Sequence[CorpusDocument]:
        """The corpus."""
        ...

    @property
    def questions(self) -> Sequence[Question]:
        """The judged questions."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """What a reader of the figures should know of the set, a sentence each."""
        ...

    @property
    def depths(self) -> Sequence[int]:
        """How many results to ask for.

        The first number is what users may ask for, and decides the top of the ranking; a second
        search with a larger one only adds below it what the first did not reach.
        """
        ...

    def scorer(self) -> Scorer:
        """A new scorer for the answers of one mode."""
        ...
