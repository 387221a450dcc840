"""Joins ranked candidates to SQL: finds which of them are results, and what is shown with them."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from app.knowledge.tag_queries import tags_of
from app.search.demands import Demands
from app.search.document_spread import spread
from app.search.grouping import GroupedHits, RowHit, group_by_document, group_by_text, hits_to_group
from app.search.neighbours import NO_NEIGHBOURS, Neighbours, neighbours_of_chunks
from app.search.profiles import Ranking
from app.search.queries import Shown, hit_of, result_of
from app.search.ranking import RankedCandidates, explain
from app.search.requests import GroupBy, SearchRequest
from app.search.results import Explanation, ResultGroup, SearchResult
from app.search.retrieval import Candidates
from app.search.row_hits import RowHits, strong_hits
from app.search.weighing import weigh

GROUPINGS: Mapping[GroupBy, Callable[[Sequence[RowHit]], list[GroupedHits]]] = {
    "document": group_by_document,
    "text": group_by_text,
}


@dataclass(frozen=True)
class JoinedRows:
    """Everything that results are made of."""

    ranked: RankedCandidates
    """In the order in which the rows were chosen."""
    rows: Sequence[tuple[Any, int, ResultGroup | None]]
    """The rows of the results, each with its position in the ranking, and the group it leads."""
    least: float
    """Candidates of less strength were left out as weak; -inf: none were."""
    rejected: int
    """How many candidates were read that cannot be results."""
    near: Mapping[str, Neighbours]
    tags: Mapping[int, tuple[str, ...]]

    def results(
        self,
        request: SearchRequest,
        demands: Demands,
        candidates: Candidates,
        earlier: Mapping[str, Explanation | None],
        deeper: int,
    ) -> list[SearchResult]:
        """The results; needs no connection. One of an earlier round keeps its explanation."""
        return [
            result_of(
                row,
                float(self.ranked.cosines[position]),
                self.tags.get(row.item_id, ()),
                Shown(
                    highlights=demands.words.of(row.collection).highlights(row.content, row.key)
                    if request.highlight
                    else (),
                    near=_allowed(self.near.get(row.id, NO_NEIGHBOURS), row, demands),
                    group=group,
                    explanation=(
                        earlier.get(row.id) or explain(self.ranked, candidates, position, deeper)
                    )
                    if request.explain
                    else None,
                ),
            )
            for row, position, group in self.rows
        ]


def _allowed(near: Neighbours, row: Any, demands: Demands) -> Neighbours:
    """The text on each side of a row, unless it says, together with it, what the query excludes."""
    words = demands.words.of(row.collection)
    if not words.exclude_any:
        return near
    before, after, text = near.before, near.after, row.content
    if before is not None and words.leave_out(before.content + text, row.key):
        before = None
    if before is not None:
        text = before.content + text
    if after is not None and words.leave_out(text + after.content, row.key):
        after = None
    return Neighbours(before, after)


def join(
    connection: Connection,
    ranked: RankedCandidates,
    request: SearchRequest,
    ranking: Ranking,
    demands: Demands,
    *,
    earlier: Collection[str],
    deeper: int,
    fingerprint: str,
    now: datetime,
) -> JoinedRows:
    """The first candidates that SQL holds and the filter allows, in the ranking's own order.

    `earlier` are the results of shallower rounds. They stay first, since a request for fewer
    results would have got just these, and scores depend on how many candidates there are.
    `fingerprint` is that of the model by whose vectors `diversity` tells what repeats what.
    """
    found_first = len(ranked.places)
    if ranking.weighs:
        ranked = weigh(connection, ranked, ranking, demands, fingerprint, now)
    left_out = found_first - len(ranked.places)
    for wanted in (_wanted_hits(request, deeper), found_first):
        spread_out, found = _spread_hits(
            connection, ranked, request, ranking, demands, earlier, wanted
        )
        rows = _grouped(found.hits, spread_out, request.group_by, request.n_results)
        if len(rows) >= request.n_results or len(found.hits) < wanted:
            break  # as many as are wanted, or all there are
    return JoinedRows(
        spread_out,
        rows,
        found.least,
        left_out + len(found.unfit),
        neighbours_of_chunks(connection, [row.id for row, _, _ in rows], request.context_chunks),
        tags_of(connection, {row.item_id for row, _, _ in rows}),
    )


def _wanted_hits(request: SearchRequest, deeper: int) -> int:
    """How many hits are looked for at first; all there are, if these make too few groups."""
    if request.group_by is None:
        return request.n_results
    return hits_to_group(request.n_results) * deeper


def _spread_hits(
    connection: Connection,
    ranked: RankedCandidates,
    request: SearchRequest,
    ranking: Ranking,
    demands: Demands,
    earlier: Collection[str],
    wanted: int,
) -> tuple[RankedCandidates, RowHits]:
    """The candidates spread over documents, and the first hits among them.

    A chunk that cannot be a result must not cost the others of its document anything. What costs a
    hit anything stands before it in the order, so it has been read: if it is unfit, it is taken
    out, and the rest are spread again.
    """
    unfit: frozenset[str] = frozenset()
    while True:
        ordered = ranked
        if not demands.words.exclude_any:  # else most may be unfit, and each round finds only a few
            ordered = spread(ranked, request, ranking)
        ordered = ordered.begun_by(earlier)
        found = strong_hits(connection, ordered, demands, ranking.least_share, wanted)
        unfit |= found.unfit
        if ordered.penalties is None or not found.unfit:
            return ordered, dataclasses.replace(found, unfit=unfit)
        ranked = ranked.without(found.unfit)


def _grouped(
    hits: Sequence[tuple[Any, int]],
    ranked: RankedCandidates,
    group_by: GroupBy | None,
    most: int,
) -> list[tuple[Any, int, ResultGroup | None]]:
    if group_by is None:
        return [(row, position, None) for row, position in hits]
    by_chunk = {row.id: (row, position) for row, position in hits}
    groups = GROUPINGS[group_by](
        [hit_of(row, float(ranked.cosines[position])) for row, position in hits]
    )
    return [
        (*by_chunk[group.best.chunk_id], ResultGroup(group.count, group.others))
        for group in groups[:most]
    ]
