"""Runs an evaluation through the service's own pipeline: index the corpus, ask every question."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.container import Container
from app.errors import InvalidRequestError, SourceUnreadableError
from app.evaluation.corpus_source import CorpusSources
from app.evaluation.question_set import CorpusDocument, Question, QuestionScores, QuestionSet
from app.indexing.indexer import Indexer
from app.knowledge.items import ItemDraft, ItemFilter
from app.protocols import ProgressListener
from app.search.context import AnswersSearches
from app.search.profiles import BOOST_FIELDS, NO_WISHES, PROFILE_NAMES, RankingWishes
from app.search.requests import FusionMethod, Mode, SearchRequest
from app.search.results import SearchResult
from app.search.soundness import require_sound_ranking

TIMED_RESULTS = 10
"""Results of the searches whose latency is measured."""


@dataclass(frozen=True)
class EvaluatedMode:
    """A way to search that `groundwork eval` compares with others."""

    mode: Mode
    fusion: FusionMethod = SearchRequest.fusion
    ranking: RankingWishes = NO_WISHES


EVALUATED_MODES: Mapping[str, EvaluatedMode] = {
    "hybrid": EvaluatedMode("hybrid"),
    "dense": EvaluatedMode("dense"),
    "lexical": EvaluatedMode("lexical"),
    "rrf": EvaluatedMode("hybrid", "rrf"),
}
"""By name; the first is what a search does when nothing is said."""

FIELD_NAMES = frozenset(
    field.name
    for field in dataclasses.fields(RankingWishes)
    if field.name not in ("profile", *BOOST_FIELDS)
)
"""Of a ranking, those that are one number or yes and no."""
PROFILE_PREFIX = "profile:"


def evaluated_mode(name: str) -> EvaluatedMode:
    """The way to search that a name stands for.

    `hybrid`; with `profile:code` after a plus sign (or alone: of `hybrid`) that profile; with
    `diversity=0.3` that field of a ranking: `dense+profile:code+recency_weight=0`. Raises
    ValueError, with a sentence.
    """
    first, *parts = name.split("+")
    if first not in EVALUATED_MODES:
        first, parts = next(iter(EVALUATED_MODES)), [first, *parts]
    settings: dict[str, Any] = {}
    for part in parts:
        field, equals, value = part.partition("=")
        if part.startswith(PROFILE_PREFIX):
            settings["profile"] = _one_of(part.removeprefix(PROFILE_PREFIX), PROFILE_NAMES)
        elif equals and field in FIELD_NAMES:
            settings[field] = _value(field, value)
        else:
            _one_of(part, (*EVALUATED_MODES, f"{PROFILE_PREFIX}NAME", "FIELD=NUMBER"))
    wishes = RankingWishes(**settings)
    try:
        require_sound_ranking(wishes)
    except InvalidRequestError as error:
        raise ValueError(error.detail) from error
    of = EVALUATED_MODES[first]
    return dataclasses.replace(of, ranking=wishes) if settings else of


def _one_of(given: str, names: Sequence[str]) -> str:
    if given not in names:
        raise ValueError(f"{given!r} is none of {', '.join(names)}.")
    return given


def _value(field: str, text: str) -> float | int | bool:
    if field == "expand":
        return _one_of(text, ("true", "false")) == "true"
    try:
        return int(text) if field == "feedback_results" else float(text)
    except ValueError:
        raise ValueError(f"{field} is a number, not {text!r}.") from None


@dataclass(frozen=True)
class IndexedCorpus:
    """A corpus in the service."""

    items: Mapping[str | None, int]
    """Ids of the items by group."""
    chunks: int
    seconds: float
    """How long indexing took; what a kept directory had already takes no time."""
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class ModeRun:
    """What one mode achieved."""

    scores: QuestionScores
    milliseconds: tuple[float, ...]
    """Of one search for each question, its embedding included."""
    degraded: tuple[str, ...]
    """What could not take part, in words."""


# Indexing --------------------------------------------------------------------------------------


def index_corpus(
    container: Container, question_set: QuestionSet, progress: ProgressListener
) -> IndexedCorpus:
    """Bring the corpus into the service, an item for each group; raises SourceUnreadableError.

    Items of groups that the set does not have (any more) are deleted.
    """
    started = time.perf_counter()
    groups = _groups(question_set)
    container.renew()  # a directory that was kept may be of another model or splitter
    indexer = Indexer(
        database=container.database,
        pipeline=container.pipeline_for(
            CorpusSources({_uri(group): found for group, found in groups.items()})
        ),
        publisher=container.publisher,
        metrics=container.metrics,
    )
    items: dict[str | None, int] = {}
    chunks, remarks = 0, []
    try:
        known = _delete_all_but(container, {_uri(group) for group in groups})
        for group in groups:
            item_id = known.get(_uri(group)) or _create_item(container, question_set, group)
            result = indexer.index(item_id, progress=progress)
            if not result.success:
                raise SourceUnreadableError(f"{question_set.name}: {result.error}")
            if result.skipped:
                remarks.append(f"{len(result.skipped)} documents hold no text.")
            items[group] = item_id
            chunks += result.chunks_indexed
    finally:
        indexer.close()
    container.settle()
    return IndexedCorpus(items, chunks, time.perf_counter() - started, tuple(remarks))


def _groups(question_set: QuestionSet) -> dict[str | None, list[CorpusDocument]]:
    groups: dict[str | None, list[CorpusDocument]] = {}
    for document in question_set.documents:
        groups.setdefault(document.group, []).append(document)
    return groups


def _uri(group: str | None) -> str:
    return f"evaluation:/{group or ''}"


def _delete_all_but(container: Container, keep: set[str]) -> dict[str, int]:
    """Delete the items of other addresses; gives the ids of those that stay, by address."""
    known: dict[str, int] = {}
    for item_id in container.knowledge.ids(ItemFilter()):
        uri = container.knowledge.get(item_id).uri
        if uri in keep:
            known[uri] = item_id
        else:
            container.knowledge.delete(item_id)
    return known


def _create_item(container: Container, question_set: QuestionSet, group: str | None) -> int:
    # A folder: one document that cannot be read does not fail the others.
    draft = ItemDraft(title=group or question_set.name, uri=_uri(group), document_type="folder")
    return container.knowledge.create(draft).id


# Asking ----------------------------------------------------------------------------------------


def ask_all(
    searcher: AnswersSearches,
    question_set: QuestionSet,
    questions: Sequence[Question],
    items: Mapping[str | None, int],
    modes: Sequence[str],
) -> dict[str, ModeRun]:
    """Ask the questions in every mode, for rankings and for times; raises what the search does."""
    milliseconds = _timed(searcher, questions, items, modes)
    runs = {}
    for name in modes:
        scores, degraded = rank_all(searcher, question_set, questions, items, name)
        runs[name] = ModeRun(scores, tuple(milliseconds[name]), degraded)
    return runs


def rank_all(
    searcher: AnswersSearches,
    question_set: QuestionSet,
    questions: Sequence[Question],
    items: Mapping[str | None, int],
    mode: str,
) -> tuple[QuestionScores, tuple[str, ...]]:
    """Ask the questions in one mode; gives their scores, and what could not take part."""
    scorer, degraded = question_set.scorer(), set[str]()
    for question in questions:
        results: dict[str, SearchResult] = {}
        for depth in question_set.depths:
            answer = searcher.search(_request(question, evaluated_mode(mode), items, depth))
            degraded.update(answer.degraded)
            for result in answer.results:
                results.setdefault(result.chunk_id, result)
            if len(answer.results) < depth:
                break
        scorer.add(question, list(results.values()))
    return scorer.scores(), tuple(sorted(degraded))


def _timed(
    searcher: AnswersSearches,
    questions: Sequence[Question],
    items: Mapping[str | None, int],
    modes: Sequence[str],
) -> dict[str, list[float]]:
    """How long each question takes in each mode, in turns: what else the machine does hits all."""
    milliseconds: dict[str, list[float]] = {name: [] for name in modes}
    for name in modes:  # what is loaded late is loaded now
        searcher.search(_request(questions[0], evaluated_mode(name), items, TIMED_RESULTS))
    for question in questions:
        for number, name in enumerate(modes, 1):
            # Vectors of queries are cached. A space more for each mode is the same question to
            # both sides of the search, but not to the cache: so every mode pays for its embedding.
            unheard = " " * number
            request = _request(question, evaluated_mode(name), items, TIMED_RESULTS, unheard)
            milliseconds[name].append(searcher.search(request).duration_ms)
    return milliseconds


def _request(
    question: Question,
    mode: EvaluatedMode,
    items: Mapping[str | None, int],
    n_results: int,
    unheard: str = "",
) -> SearchRequest:
    group_items = None
    if question.group is not None:
        # A group without documents: nothing can be found, and nothing of others may be.
        group_items = (items[question.group],) if question.group in items else ()
    return SearchRequest(
        query=question.text + unheard,
        n_results=n_results,
        mode=mode.mode,
        fusion=mode.fusion,
        ranking=mode.ranking,
        knowledge_ids=group_items,
        highlight=n_results <= TIMED_RESULTS,  # what is only ranked need not be shown
    )
