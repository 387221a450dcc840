"""Shares the streams of inference fairly between callers, with queries beside documents."""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.adapters.embedding.openvino_runtime import TokenIds
from app.errors import EmbeddingError
from app.protocols import Vectors
from app.surviving import WENT_WRONG, survive

CLOSED = "The embedding model has been closed."


class Stream(Protocol):
    """Runs one batch at a time."""

    def run(self, rows: list[TokenIds]) -> Vectors:
        """Embed tokenised texts; raises EmbeddingError."""
        ...


def pack(lengths: npt.NDArray[np.int64], batch_tokens: int) -> list[list[int]]:
    """Group rows, longest first, so that no group's padded size exceeds the budget.

    A row longer than the budget is a group of its own. Every index is returned exactly once.
    """
    batches: list[list[int]] = []
    room = 0
    for index in np.argsort(-lengths, kind="stable").tolist():
        if room == 0:
            batches.append([])
            room = max(batch_tokens // max(int(lengths[index]), 1), 1)
        batches[-1].append(index)
        room -= 1
    return batches


class _Call:
    """The rows of one caller, and the vectors it waits for."""

    def __init__(self, rows: Sequence[TokenIds], dimension: int, batches: list[list[int]]) -> None:
        self.rows = rows
        self.batches = deque(batches)
        self.vectors: Vectors = np.empty((len(rows), dimension), np.float32)
        self.error: str | None = None
        self.is_done = False
        self.has_turn = False
        """Whether its own thread is to run batches: see _Turns."""
        self.woken = threading.Event()
        """Set once it is done, or has the turn."""
        self._missing = len(rows)
        self._lock = threading.Lock()

    def deliver(self, indices: list[int], vectors: Vectors) -> None:
        self.vectors[indices] = vectors
        with self._lock:
            self._missing -= len(indices)
            if self._missing == 0:
                self._end()

    def outcome(self) -> Vectors:
        """The vectors, once done; raises EmbeddingError."""
        if self.error is not None:
            raise EmbeddingError(self.error)
        return self.vectors

    def fail(self, error: str) -> None:
        self.batches.clear()
        self.error = error
        self._end()

    def _end(self) -> None:
        self.is_done = True
        self.woken.set()


_Work = list[tuple[_Call, list[int]]]


class _Lane:
    """Calls that wait for the same streams: each gives a batch in turn, small ones together."""

    def __init__(self, batch_tokens: int) -> None:
        self._batch_tokens = batch_tokens
        self._calls: deque[_Call] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def submit(self, call: _Call) -> None:
        with self._changed:
            if self._closed:
                raise EmbeddingError(CLOSED)
            self._calls.append(call)
            self._changed.notify(len(call.batches))

    def take(self) -> _Work | None:
        """Wait for the parts of the next batch; None once closed."""
        with self._changed:
            while not self._calls and not self._closed:
                self._changed.wait()
            return None if self._closed else self._next_work()

    def take_now(self) -> _Work:
        """The parts of the next batch; empty if no call waits."""
        with self._changed:
            return self._next_work()

    def _next_work(self) -> _Work:
        work: _Work = []
        longest = count = 0
        while self._calls:
            call = self._calls[0]
            batch = call.batches[0]
            longest = max(longest, *(len(call.rows[index]) for index in batch))
            count += len(batch)
            if work and longest * count > self._batch_tokens:
                break
            work.append((call, call.batches.popleft()))
            self._calls.rotate(-1)
            if not call.batches:
                self._calls.pop()
        return work

    def __len__(self) -> int:
        with self._changed:
            return len(self._calls)

    def fail(self, call: _Call, error: str) -> None:
        with self._changed:
            call.fail(error)
            if call in self._calls:
                self._calls.remove(call)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            for call in self._calls:
                call.fail(CLOSED)
            self._calls.clear()
            self._changed.notify_all()


class _Turns:
    """Which caller of the queries runs their batches on its thread: one at a time.

    The turn goes on to a caller that still waits once the holder's own call is done. Whose call the
    holder has answered goes at once: it does not wait for the holder, whose query may be long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: deque[_Call] = deque()

    def take(self, call: _Call) -> bool:
        """Wait for the turn; False if the call was done before."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            self._waiting.append(call)
        call.woken.wait()
        with self._lock:  # it may get the turn just as it is done, and must pass it on then
            return call.has_turn

    def pass_on(self) -> None:
        """Give the turn to the first caller that still waits, if one does."""
        with self._lock:
            self._is_taken = False
            while self._waiting and not self._is_taken:
                call = self._waiting.popleft()
                if not call.is_done:
                    self._is_taken = call.has_turn = True
                    call.woken.set()


class InferenceQueue:
    """Two lanes over the model's streams: documents over many, queries over one of their own.

    Callers of `documents` are served in turn by threads of the queue, a batch each. A query is
    answered on its caller's own thread, which saves two thread switches; queries that arrive in the
    meantime go together into the next batch, on the thread of the first of them. Safe to call from
    many threads.
    """

    def __init__(
        self,
        document_streams: Sequence[Stream],
        query_stream: Stream,
        *,
        dimension: int,
        batch_tokens: int,
        query_batch_tokens: int,
    ) -> None:
        self._dimension = dimension
        self._batch_tokens = batch_tokens
        self._query_batch_tokens = query_batch_tokens
        self._stream_count = len(document_streams)
        self._documents = _Lane(batch_tokens)
        self._queries = _Lane(query_batch_tokens)
        self._query_stream = query_stream
        self._query_turns = _Turns()
        self._threads = [
            threading.Thread(
                target=_serve, args=(stream, self._documents), name=f"embedding-{n}", daemon=True
            )
            for n, stream in enumerate(document_streams)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting_calls(self) -> int:
        """How many calls have a batch that no stream has begun."""
        return len(self._documents) + len(self._queries)

    def documents(self, rows: Sequence[TokenIds]) -> Vectors:
        """Embed rows in the order given, taking turns with other callers; raises EmbeddingError."""
        lengths = np.array([len(row) for row in rows], np.int64)
        # A call that would fill less than a batch a stream is shared out among all of them.
        share = -(-int(lengths.sum()) // self._stream_count)
        call = _Call(rows, self._dimension, pack(lengths, min(self._batch_tokens, share)))
        if rows:
            self._documents.submit(call)
            call.woken.wait()
        return call.outcome()

    def query(self, rows: Sequence[TokenIds]) -> Vectors:
        """Embed the few rows of one query ahead of waiting documents; raises EmbeddingError."""
        lengths = np.array([len(row) for row in rows], np.int64)
        call = _Call(rows, self._dimension, pack(lengths, self._query_batch_tokens))
        if rows:
            self._queries.submit(call)
            if self._query_turns.take(call):  # else another's thread has answered this call as well
                try:
                    while not call.is_done:
                        if work := self._queries.take_now():  # none where the queue was just closed
                            _run(self._query_stream, self._queries, work)
                finally:
                    self._query_turns.pass_on()
        return call.outcome()

    def close(self) -> None:
        """Fail waiting calls, and let running batches end."""
        self._documents.close()
        self._queries.close()
        for thread in self._threads:
            thread.join()
        self._query_turns.take(_Call((), self._dimension, []))
        self._query_turns.pass_on()  # the query that was being answered has its answer


def _serve(stream: Stream, lane: _Lane) -> None:
    try:
        while (work := lane.take()) is not None:
            _run(stream, lane, work)
    finally:
        lane.close()  # whatever ended this thread, nobody may wait for it in vain


def _run(stream: Stream, lane: _Lane, work: _Work) -> None:
    error = CLOSED
    finished = False
    try:
        answered = survive(
            lambda: _answer(stream, work), "A batch was not embedded", (EmbeddingError,)
        )
        finished = bool(answered)
        error = f"The embedding model failed. {WENT_WRONG}"
    except EmbeddingError as failure:
        error = failure.detail
    finally:
        if not finished:
            for call, _ in work:
                lane.fail(call, error)


def _answer(stream: Stream, work: _Work) -> bool:
    """Embed a batch and hand out its vectors; gives that it was done."""
    vectors = stream.run([call.rows[index] for call, indices in work for index in indices])
    start = 0
    for call, indices in work:
        call.deliver(indices, vectors[start : start + len(indices)])
        start += len(indices)
    return True
