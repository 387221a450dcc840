"""The Chroma index as the service sees it: held by a process of its own, which may die instead."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from app.adapters.vector_index.checks import checked_records, checked_vector
from app.adapters.vector_index.chroma_files import SYNC_THRESHOLD, FileStates, file_states
from app.adapters.vector_index.chroma_messages import (
    Operation,
    Request,
    Response,
    receive,
    send,
)
from app.errors import VectorIndexError
from app.protocols import Vector, VectorHit, VectorRecord

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

CHILD_MODULE = "app.adapters.vector_index.chroma_child"
RECORDS_AT_ONCE = 64
"""Records of one call: a search may go between two calls."""
VECTORS_AT_ONCE = 500
WRITING = frozenset({Operation.UPSERT, Operation.REMOVE, Operation.CLEAR})
CLOSED = "The vector index is closed."


@dataclass(frozen=True)
class TimeLimits:
    """How long the process may take before it counts as hanging, and is killed; in seconds."""

    opening: float = 60.0
    searching: float = 3.0
    anything_else: float = 30.0
    grace: float = 10.0
    """After that much more the process ends itself, should nobody be left to kill it."""


class ChromaProcessIndex:
    """A PrimaryIndex whose files are open in a child process. Made with `start`.

    One call at a time; other threads wait. Once a call failed because the process died, hung or
    talked nonsense, it is gone, and every further call raises VectorIndexError.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        connection: socket.socket,
        dimension: int,
        limits: TimeLimits,
        directory: Path,
    ) -> None:
        self._directory = directory
        self._damage: str | None = None
        """What others did to the files, once it was seen: whoever asks next is told as well."""
        self._written = True
        self._states: FileStates = {}
        self._process = process
        self._connection = connection
        self._dimension = dimension
        self._limits = limits
        self._call_lock = threading.Lock()
        self._others = 0
        self._others_lock = threading.Lock()
        self._failure: str | None = None

    @classmethod
    def start(
        cls,
        directory: Path,
        collection_name: str,
        dimension: int,
        *,
        anew: bool = False,
        sync_threshold: int = SYNC_THRESHOLD,
        limits: TimeLimits | None = None,
    ) -> Self:
        """Open the index in a new process, or with `anew` an empty one in place of what is there.

        VectorIndexError: it cannot be opened, crashes the process, or took too long.
        """
        limits = limits or TimeLimits()
        arguments = [
            str(directory.absolute()),
            collection_name,
            str(dimension),
            str(sync_threshold),
            "anew" if anew else "open",
            str(limits.opening + limits.grace),
        ]
        index = cls(*_started(arguments), dimension, limits, directory)
        with index._failures_noted(limits.opening):
            opened = receive(index._connection, Response, limits.opening)
        if opened.error is not None:
            index._abandon(opened.error)
            raise VectorIndexError(opened.error)
        index._remember_files()
        return index

    @property
    def pid(self) -> int:
        """The process that holds the index."""
        return self._process.pid

    @property
    def busy(self) -> bool:
        """Whether anything but searches is under way: a search would have to wait for it."""
        return self._others > 0

    @property
    def failure(self) -> str | None:
        """Why the process will not answer any more; notices a death that no call has met.

        Also that its files were replaced, cut or deleted under it.
        """
        if self._failure is None and self._process.poll() is not None:
            return _ending(self._process.returncode)
        if self._failure is None and self._damage is None:
            self._damage = self._foreign_change()
        return self._failure or self._damage

    def upsert(self, records: Sequence[VectorRecord]) -> None:
        """Add or replace records, in small batches so that other calls get their turn."""
        latest = checked_records(records, self._dimension)
        with self._counted():
            for batch in _pages(latest, RECORDS_AT_ONCE):
                self._call(
                    Operation.UPSERT,
                    chunk_ids=[record.chunk_id for record in batch],
                    item_ids=[int(record.item_id) for record in batch],
                    document_numbers=[int(record.document_number) for record in batch],
                    metadata=[dict(record.metadata) for record in batch],
                    vectors=np.stack([record.vector for record in batch]).astype(np.float32),
                )

    def remove(self, chunk_ids: Sequence[str]) -> None:
        """Remove records in small batches; unknown ids are no error."""
        with self._counted():
            for page in _pages(list(dict.fromkeys(chunk_ids)), RECORDS_AT_ONCE):
                self._call(Operation.REMOVE, chunk_ids=page)

    def search(self, vector: Vector, limit: int) -> list[VectorHit]:
        """The (approximately) nearest records, best first."""
        query = checked_vector(vector, self._dimension)
        response = self._call(Operation.SEARCH, limit=limit, vectors=query[np.newaxis])
        return [
            VectorHit(chunk_id, score)
            for chunk_id, score in zip(response.chunk_ids, response.scores, strict=True)
        ]

    def chunk_ids(self) -> set[str]:
        """The ids of all records."""
        with self._counted():
            return set(self._call(Operation.CHUNK_IDS).chunk_ids)

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The vectors held for these ids; unknown ids are left out."""
        found: dict[str, Vector] = {}
        with self._counted():
            for page in _pages(list(dict.fromkeys(chunk_ids)), VECTORS_AT_ONCE):
                response = self._call(Operation.VECTORS, chunk_ids=page)
                found.update(zip(response.chunk_ids, response.vectors, strict=True))
        return found

    def count(self) -> int:
        """How many records there are."""
        with self._counted():
            return self._call(Operation.COUNT).count

    def clear(self) -> None:
        """Start again with empty files."""
        with self._counted():
            self._call(Operation.CLEAR)

    def close(self) -> None:
        """Wait for the call that runs, flush, and end the process. Closing again does nothing."""
        with self._call_lock:
            if self._failure is not None:
                self._abandon(self._failure)
                return
            try:
                self._exchange(Request(Operation.CLOSE, 0))
                self._process.wait(self._limits.anything_else)
            except subprocess.TimeoutExpired:
                logger.warning("The process of the vector index did not end, and is killed.")
            finally:
                self._abandon(CLOSED)

    def _remember_files(self) -> None:
        """Note which files are ours: those that are there when the index has just been opened."""
        with suppress(OSError):  # the next look will do
            self._states = file_states(self._directory)

    def _foreign_change(self) -> str | None:
        """What somebody else has done to the files, as far as their states tell.

        Only writes change them, and only while their call runs (watched with chromadb 1.5.9): in
        between, any change is another's; across writes, a file that is another one is.
        """
        if not self._call_lock.acquire(blocking=False):
            return None  # a call is under way: the next look will do
        try:
            now = file_states(self._directory)
            before, written = self._states, self._written
            self._states, self._written = now, False
        except OSError as error:
            return f"The files of the vector index cannot be read: {error}"
        finally:
            self._call_lock.release()
        if not now or before.keys() - now.keys():
            return "Files of the vector index were deleted."
        replaced = any(now[name].inode != state.inode for name, state in before.items())
        if replaced or (not written and now != before):
            return "Files of the vector index were changed by another."
        return None

    def _call(self, operation: Operation, **fields: object) -> Response:
        request = replace(Request(operation, 0), **fields)  # type: ignore[arg-type]
        with self._call_lock:
            return self._exchange(request)

    def _exchange(self, request: Request) -> Response:
        """Ask, and wait for the answer. The call lock is held."""
        if self._failure is not None:
            raise VectorIndexError(self._failure)
        search = request.operation is Operation.SEARCH
        if request.operation in WRITING:
            self._written = True
        if request.operation is Operation.CLEAR:
            self._states = {}  # its files are new ones from here on
        limit = self._limits.searching if search else self._limits.anything_else
        with self._failures_noted(limit):
            send(self._connection, replace(request, seconds=limit + self._limits.grace), limit)
            response = receive(self._connection, Response, limit)
        if response.error is not None:
            raise VectorIndexError(response.error)
        if request.operation is Operation.CLEAR:
            self._remember_files()
        return response

    @contextmanager
    def _failures_noted(self, seconds: float) -> Iterator[None]:
        """Give the process up when it hangs, dies, or says what nobody understands."""
        try:
            yield
        except TimeoutError as error:
            self._abandon(f"The vector index did not answer within {seconds:g} seconds.")
            raise VectorIndexError(str(self._failure)) from error
        except (OSError, EOFError) as error:
            self._abandon(_ending(self._return_code()))
            raise VectorIndexError(str(self._failure)) from error
        except (ValueError, TypeError) as error:
            self._abandon(f"The process of the vector index talks nonsense: {error}")
            raise VectorIndexError(str(self._failure)) from error

    def _abandon(self, failure: str) -> None:
        """Make sure that the process has ended, and say why to whoever asks it again."""
        self._failure = failure
        self._process.kill()  # does nothing once it has ended
        self._process.wait()
        self._connection.close()

    def _return_code(self) -> int:
        try:
            return self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return 0

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._others_lock:
            self._others += 1
        try:
            yield
        finally:
            with self._others_lock:
                self._others -= 1


def _started(arguments: list[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A process, and the socket that is its standard input; it gets no other descriptor of ours."""
    ours, theirs = socket.socketpair()
    try:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", CHILD_MODULE, *arguments],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            # The packages that this process found, wherever it was started.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C in a terminal is for the service, which ends it
        )
    except OSError as error:
        ours.close()
        raise VectorIndexError(f"The vector index could not be started: {error}") from error
    finally:
        theirs.close()
    return process, ours


def _ending(return_code: int) -> str:
    if return_code < 0:
        how = f"crashed ({signal.Signals(-return_code).name})"
    else:
        how = f"ended with status {return_code}"
    return f"The process of the vector index {how}."


def _pages(values: list[Value], size: int) -> Iterator[list[Value]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
