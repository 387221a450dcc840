"""The text around a result continues it on both sides, and its lines are those of the source."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.search.neighbours import Neighbours, neighbours_of_chunks
from app.search.results import SearchResult
from tests.search.shelf import Shelf

TEXTS = st.text(alphabet="ab \n\r.#", min_size=1, max_size=300).filter(lambda text: text.strip())


def neighbours(shelf: Shelf, results: list[SearchResult], distance: int) -> dict[str, Neighbours]:
    with shelf.database.snapshot() as connection:
        return neighbours_of_chunks(connection, [r.chunk_id for r in results], distance)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(TEXTS, st.integers(1, 5), st.integers(1, 40), st.integers(0, 12))
def test_before_chunk_and_after_joined_are_text_of_the_document(
    shelf: Shelf, text: str, distance: int, first_line: int, overlap: int
) -> None:
    shelf = Shelf(shelf.database, chunk_size=13, overlap=overlap)
    results = shelf.put("a.md", text, first_line=first_line)

    found = neighbours(shelf, results, distance)
    for place, result in enumerate(results):
        around = found[result.chunk_id]
        first = results[max(place - distance, 0)]
        last = results[min(place + distance, len(results) - 1)]
        assert (around.before is None) == (place == 0)
        assert (around.after is None) == (place == len(results) - 1)
        if around.before:
            assert around.before.start_index == first.start_index
            assert around.before.end_index == result.start_index
        if around.after:
            assert around.after.start_index == result.end_index
            assert around.after.end_index == last.end_index
        for part in filter(None, (around.before, around.after)):
            assert part.content == text[part.start_index : part.end_index]
            assert part.start_line == line_of(text, part.start_index, first_line)
            assert part.end_line == line_of(text, part.end_index - 1, first_line)


def line_of(text: str, position: int, first_line: int) -> int:
    """By counting what ends before the position; a `\\r` before a `\\n` ends nothing."""
    ended = sum(
        text[n] == "\n" or (text[n] == "\r" and text[n + 1 : n + 2] != "\n")
        for n in range(position)
    )
    return first_line + ended


def test_no_distance_and_no_chunks_ask_for_nothing(shelf: Shelf):
    results = shelf.put("a.md", "Some words.\n" * 20)
    assert neighbours(shelf, results, 0) == {}
    assert neighbours(shelf, [], 3) == {}


def test_neighbours_are_of_the_same_document(shelf: Shelf):
    item = shelf.add_item()
    shelf.put("a.md", "Other words.\n" * 20, item_id=item)
    results = shelf.put("b.md", "One line only.\n", item_id=item)
    assert neighbours(shelf, results, 5) == {results[0].chunk_id: Neighbours(None, None)}


@pytest.mark.parametrize("distance", [1, 5])
def test_chunks_that_sql_no_longer_holds_are_left_out(shelf: Shelf, distance: int):
    item = shelf.add_item()
    gone = shelf.put("a.md", "Old words.\n" * 20, item_id=item)
    shelf.put("a.md", "New.\n", item_id=item)
    assert neighbours(shelf, gone, distance) == {}
