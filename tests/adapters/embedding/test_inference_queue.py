"""The queue is fair, lets queries by, and never leaves anyone waiting."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.embedding.inference_queue import InferenceQueue, pack
from app.adapters.embedding.openvino_runtime import TokenIds
from app.errors import EmbeddingError
from app.protocols import Vectors

WAIT_SECONDS = 20


def row(value: int, length: int = 4) -> TokenIds:
    return np.full(length, value, np.int64)


class GatedStream:
    """Answers each row with its first id, once the gate is open; remembers its batches.

    What comes after the first `most` batches waits for `rest` as well.
    """

    def __init__(self, *, is_open: bool = True, most: int | None = None) -> None:
        self.most = most
        self.rest = threading.Event()
        self.batches: list[list[int]] = []
        self.started = threading.Semaphore(0)
        self.gate = threading.Event()
        if is_open:
            self.gate.set()

    def run(self, rows: list[TokenIds]) -> Vectors:
        assert rows, "a batch of nothing"
        values = [int(ids[0]) for ids in rows]
        self.batches.append(values)
        self.started.release()
        assert self.gate.wait(WAIT_SECONDS)
        if self.most is not None and len(self.batches) > self.most:
            assert self.rest.wait(WAIT_SECONDS)
        if -1 in values:
            raise EmbeddingError("a bad row")
        if -2 in values:
            raise MemoryError
        return np.array(values, np.float32)[:, None]


def queue_over(
    documents: list[GatedStream], query: GatedStream, batch_tokens: int = 8
) -> InferenceQueue:
    return InferenceQueue(
        documents, query, dimension=1, batch_tokens=batch_tokens, query_batch_tokens=12
    )


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as executor:
        yield executor


@given(st.lists(st.integers(0, 300), max_size=80), st.integers(1, 2000))
def test_packing_takes_every_row_once_and_keeps_to_the_budget(
    lengths: list[int], budget: int
) -> None:
    batches = pack(np.array(lengths, np.int64), budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[index] for index in batch) * len(batch) <= budget


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_vectors_come_back_in_the_order_given(lengths: list[int]) -> None:
    queue = queue_over([GatedStream(), GatedStream()], GatedStream(), batch_tokens=40)
    vectors = queue.documents([row(number, length) for number, length in enumerate(lengths)])
    queue.close()
    assert vectors[:, 0].tolist() == list(range(len(lengths)))


def test_a_query_does_not_wait_for_documents(pool: ThreadPoolExecutor) -> None:
    documents = GatedStream(is_open=False)
    queue = queue_over([documents], GatedStream())
    call = pool.submit(queue.documents, [row(1)] * 50)
    assert documents.started.acquire(timeout=WAIT_SECONDS)
    assert queue.query([row(7)])[0, 0] == 7
    assert not call.done()
    documents.gate.set()
    assert call.result(WAIT_SECONDS).shape == (50, 1)
    queue.close()


def test_callers_take_turns(pool: ThreadPoolExecutor) -> None:
    stream = GatedStream(is_open=False)
    queue = queue_over([stream], GatedStream())
    calls = [pool.submit(queue.documents, [row(1)] * 20)]
    assert stream.started.acquire(timeout=WAIT_SECONDS)
    calls.append(pool.submit(queue.documents, [row(2)] * 4))
    wait_for_calls(queue, 2)
    stream.gate.set()
    for call in calls:
        call.result(WAIT_SECONDS)
    queue.close()
    order = [batch[0] for batch in stream.batches]
    assert order.index(2) <= 2
    assert order[-1] == 1, "the long call ends last though it came first"


def test_queries_that_wait_go_together(pool: ThreadPoolExecutor) -> None:
    stream = GatedStream(is_open=False)
    queue = queue_over([GatedStream()], stream)
    calls = [pool.submit(queue.query, [row(0)])]
    assert stream.started.acquire(timeout=WAIT_SECONDS)
    calls += [pool.submit(queue.query, [row(number)]) for number in (1, 2, 3, 4)]
    wait_for_calls(queue, 4)
    stream.gate.set()
    assert [int(call.result(WAIT_SECONDS)[0, 0]) for call in calls] == [0, 1, 2, 3, 4]
    queue.close()
    assert [len(batch) for batch in stream.batches] == [1, 3, 1], "12 tokens hold three queries"


def test_a_short_query_does_not_wait_for_the_end_of_a_long_one(pool: ThreadPoolExecutor) -> None:
    """It may be answered on the thread of the long one, which goes on with its own windows."""
    stream = GatedStream(is_open=False, most=3)
    queue = queue_over([GatedStream()], stream)
    long = pool.submit(queue.query, [row(1, 12)] * 8)
    assert stream.started.acquire(timeout=WAIT_SECONDS)
    short = pool.submit(queue.query, [row(7)])
    wait_for_calls(queue, 2)
    stream.gate.set()
    assert short.result(WAIT_SECONDS)[0, 0] == 7
    assert not long.done()
    stream.rest.set()
    assert long.result(WAIT_SECONDS).shape == (8, 1)
    queue.close()


def test_closing_lets_the_query_end_that_is_being_answered(pool: ThreadPoolExecutor) -> None:
    stream = GatedStream(is_open=False)
    queue = queue_over([GatedStream()], stream)
    running = pool.submit(queue.query, [row(1)])
    assert stream.started.acquire(timeout=WAIT_SECONDS)
    waiting = pool.submit(queue.query, [row(2)])
    wait_for_calls(queue, 1)
    closing = pool.submit(queue.close)
    with pytest.raises(EmbeddingError, match="closed"):
        waiting.result(WAIT_SECONDS)
    assert not closing.done()
    stream.gate.set()
    closing.result(WAIT_SECONDS)
    assert running.result(WAIT_SECONDS)[0, 0] == 1


def test_every_query_has_its_answer_however_many_come_at_once(pool: ThreadPoolExecutor) -> None:
    queue = queue_over([GatedStream()], GatedStream())
    rows = [[row(number, 3 + number % 5)] * (1 + number % 4) for number in range(400)]
    answers = pool.map(queue.query, rows, timeout=WAIT_SECONDS)
    for number, vectors in enumerate(answers):
        assert vectors[:, 0].tolist() == [number] * (1 + number % 4)
    assert queue.waiting_calls == 0
    queue.close()


def test_a_failing_batch_fails_its_callers_only(pool: ThreadPoolExecutor) -> None:
    queue = queue_over([GatedStream()], GatedStream())
    with pytest.raises(EmbeddingError, match="a bad row"):
        queue.documents([row(-1)] + [row(1)] * 10)
    assert queue.documents([row(5)])[0, 0] == 5
    queue.close()


@pytest.mark.parametrize("lane", ["documents", "query"])
def test_a_failure_that_nobody_expected_is_one_of_its_batch_only(lane: str) -> None:
    queue = queue_over([GatedStream()], GatedStream())
    embed = getattr(queue, lane)
    with pytest.raises(EmbeddingError, match="the server's log"):
        embed([row(-2)])
    assert embed([row(5)])[0, 0] == 5
    queue.close()


def test_closing_fails_those_who_wait_and_those_who_come(pool: ThreadPoolExecutor) -> None:
    stream = GatedStream(is_open=False)
    queue = queue_over([stream], GatedStream())
    running = pool.submit(queue.documents, [row(1)])
    assert stream.started.acquire(timeout=WAIT_SECONDS)
    waiting = pool.submit(queue.documents, [row(2)] * 9)
    wait_for_calls(queue, 1)
    closing = pool.submit(queue.close)
    with pytest.raises(EmbeddingError, match="closed"):
        waiting.result(WAIT_SECONDS)
    stream.gate.set()
    closing.result(WAIT_SECONDS)
    assert running.result(WAIT_SECONDS)[0, 0] == 1
    for method in (queue.documents, queue.query):
        with pytest.raises(EmbeddingError, match="closed"):
            method([row(1)])


def test_a_short_call_is_shared_out_among_the_streams() -> None:
    streams = [GatedStream(), GatedStream()]
    queue = queue_over(streams, GatedStream(), batch_tokens=1000)
    queue.documents([row(number) for number in range(8)])
    queue.close()
    batches = [batch for stream in streams for batch in stream.batches]
    assert sum(len(batch) for batch in batches) == 8


def wait_for_calls(queue: InferenceQueue, count: int) -> None:
    """Return once so many calls stand in the lanes."""
    deadline = time.monotonic() + WAIT_SECONDS
    while queue.waiting_calls < count:
        assert time.monotonic() < deadline
