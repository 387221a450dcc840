"""What the quick way writes is what the schema of a search's answer would have written."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from app.rag import answer_schemas, search_schemas
from app.rag.search_json import search_response
from app.search import results
from app.search.requests import SearchRequest
from app.search.results import NeighbourText, OtherHit

TEXT = st.text(max_size=12)
WHOLE = st.integers(-(2**53), 2**53)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = {str: TEXT, int: WHOLE, float: NUMBER}


def built(kind: type, /, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Objects of a dataclass; fields of plain types that are not given are made up.

    Every field must be one or the other: of one that keeps its default, both ways say the same.
    """
    annotations = {name: hint for name, hint in kind.__annotations__.items() if name not in fields}
    made = {name: PLAIN[hint] for name, hint in annotations.items() if hint in PLAIN}
    optional = {
        name: st.none() | PLAIN[plain]
        for name, hint in annotations.items()
        for plain in PLAIN
        if hint == plain | None
    }
    assert annotations.keys() - made.keys() - optional.keys() == set()
    return st.builds(kind, **made, **optional, **fields)


EXPLANATIONS = built(results.Explanation, signals=st.none() | built(results.SignalExplanation))
RESULTS = built(
    results.SearchResult,
    heading_path=st.lists(TEXT, max_size=2).map(tuple),
    tags=st.lists(TEXT, max_size=2).map(tuple),
    chunk_type=st.sampled_from([kind.value for kind in search_schemas.ChunkType]),
    highlights=st.lists(
        built(results.Highlight, kind=st.sampled_from(["word", "sentence"])), max_size=2
    ).map(tuple),
    before=st.none() | built(NeighbourText),
    after=st.none() | built(NeighbourText),
    group=st.none()
    | built(results.ResultGroup, others=st.lists(built(OtherHit), max_size=2).map(tuple)),
    explain=st.none() | EXPLANATIONS,
)
ANSWERS = built(
    results.SearchAnswer,
    results=st.lists(RESULTS, max_size=2).map(tuple),
    degraded=st.lists(TEXT, max_size=2).map(tuple),
    timings_ms=st.lists(st.tuples(TEXT, NUMBER), max_size=2).map(tuple),
)


@settings(max_examples=60)
@given(ANSWERS, st.booleans())
def test_both_ways_write_the_same(answer: results.SearchAnswer, explain: bool):
    request = SearchRequest("a question", explain=explain)
    quick = search_response(answer, request)
    modelled = answer_schemas.SearchAnswer.of(answer, request).model_dump_json()
    assert quick.media_type == "application/json"
    assert json.loads(quick.body) == json.loads(modelled)
