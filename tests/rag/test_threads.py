"""How many searches run side by side, and which are refused."""

import anyio
import pytest

from app.rag.threads import MOST_THREADS, WorkerThreads, searches_at_once


@pytest.mark.parametrize(("cores", "expected"), [(1, 2), (2, 2), (8, 8), (64, MOST_THREADS)])
def test_searches_that_embed_here_share_the_cores(cores: int, expected: int) -> None:
    assert searches_at_once(cores, embedded_here=True) == expected


def test_searches_that_wait_for_an_endpoint_do_not_depend_on_the_cores() -> None:
    assert searches_at_once(1, embedded_here=False) == MOST_THREADS


def test_a_search_is_answered_while_a_thread_is_free_even_where_none_may_wait() -> None:
    threads = WorkerThreads(1, most_waiting_searches=0)
    assert anyio.run(threads.search, "a query", lambda: "an answer") == "an answer"
