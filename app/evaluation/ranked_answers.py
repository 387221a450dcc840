"""Scores rankings against judgements, with the measures of ir-measures (trec_eval's)."""

from collections.abc import Callable, Mapping, Sequence

from app.errors import UnavailableError
from app.evaluation.extra import HOW_TO_INSTALL
from app.evaluation.question_set import Question, QuestionScores
from app.search.results import SearchResult

MEASURES = ("nDCG@10", "MRR@10", "P@5", "R@5", "R@10", "R@20", "R@100")
"""In the order of the report. ir-measures knows the second as RR@10; nDCG's gain is the judged
score itself, as in trec_eval."""

Judgements = Mapping[str, Mapping[str, int]]
"""For each question, by id, the score of each judged name."""

Naming = Callable[[Question, Sequence[SearchResult]], Sequence[str]]
"""Names the results of a question as the judgements do; best first, each once."""


class RankedAnswers:
    """A Scorer of rankings."""

    def __init__(self, judgements: Judgements, names: Naming) -> None:
        self._judgements = judgements
        self._names = names
        self._found: dict[str, Sequence[str]] = {}

    def add(self, question: Question, results: Sequence[SearchResult]) -> None:
        """Take note of what was found for a question, best first."""
        self._found[question.id] = self._names(question, results)

    def scores(self) -> QuestionScores:
        """Every measure of every question that was added."""
        judged = {question_id: self._judgements[question_id] for question_id in self._found}
        return score_rankings(judged, self._found)


def score_rankings(judgements: Judgements, rankings: Mapping[str, Sequence[str]]) -> QuestionScores:
    """Score one ranking for each judged question; raises UnavailableError without ir-measures."""
    try:
        import ir_measures  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise UnavailableError(
            f"The measures come from ir-measures, which is not installed: {HOW_TO_INSTALL}"
        ) from error
    # Not parse_measure: up to ir-measures 0.4.3 that needs a class that Python 3.14 does without.
    kinds_at = [(name, *name.split("@")) for name in MEASURES]
    measures = {getattr(ir_measures, kind) @ int(most): name for name, kind, most in kinds_at}
    judged = {question: dict(scores) for question, scores in judgements.items()}
    run = {
        question: {name: -float(rank) for rank, name in enumerate(names)}
        for question, names in rankings.items()
    }
    values: dict[str, dict[str, float]] = {name: {} for name in MEASURES}
    for metric in ir_measures.iter_calc(list(measures), judged, run):
        values[measures[metric.measure]][metric.query_id] = float(metric.value)
    return values
