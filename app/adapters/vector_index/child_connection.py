"""Starts the process that holds Chroma, asks it, and gives it up when it dies, hangs or raves."""

import logging
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from app.adapters.child_modules import module_command, module_environment
from app.adapters.vector_index.chroma_messages import Operation, Request, Response, receive, send
from app.adapters.vector_index.status import CLOSED
from app.errors import VectorIndexError

logger = logging.getLogger(__name__)

CHILD_MODULE = "app.adapters.vector_index.chroma_child"


@dataclass(frozen=True)
class TimeLimits:
    """How long the process may take before it counts as hanging, and is killed; in seconds."""

    opening: float = 60.0
    searching: float = 3.0
    anything_else: float = 30.0
    grace: float = 10.0
    """After that much more the process ends itself, should nobody be left to kill it."""


class ChildConnection:
    """A child process and the socket to it. Made with `start`; one call at a time, says the caller.

    Once a call failed because the process died, hung or talked nonsense, it is gone, and every
    further call raises VectorIndexError.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], connection: socket.socket, limits: TimeLimits
    ) -> None:
        self._process = process
        self._connection = connection
        self._limits = limits
        self._failure: str | None = None

    @classmethod
    def start(cls, arguments: Sequence[str], limits: TimeLimits) -> Self:
        """Start the process with these arguments, and wait until it says that the index is open.

        VectorIndexError: it cannot be started or opened, or took too long.
        """
        connection = cls(*_started(arguments), limits)
        with connection._failures_noted(limits.opening):
            opened = receive(connection._connection, Response, limits.opening)
        if opened.error is not None:
            connection._abandon(opened.error)
            raise VectorIndexError(opened.error)
        return connection

    @property
    def pid(self) -> int:
        """The process that holds the index."""
        return self._process.pid

    @property
    def failure(self) -> str | None:
        """Why the process will not answer any more; notices a death that no call has met."""
        if self._failure is None and self._process.poll() is not None:
            return _ending(self._process.returncode)
        return self._failure

    def exchange(self, request: Request) -> Response:
        """Ask, and wait for the answer; raises VectorIndexError for one that says what failed."""
        if self._failure is not None:
            raise VectorIndexError(self._failure)
        search = request.operation is Operation.SEARCH
        limit = self._limits.searching if search else self._limits.anything_else
        with self._failures_noted(limit):
            send(self._connection, replace(request, seconds=limit + self._limits.grace), limit)
            response = receive(self._connection, Response, limit)
        if response.error is not None:
            raise VectorIndexError(response.error)
        return response

    def close(self) -> None:
        """Have the index flushed, and end the process. Closing again does nothing."""
        if self._failure is not None:
            self._abandon(self._failure)
            return
        try:
            self.exchange(Request(Operation.CLOSE, 0))
            self._process.wait(self._limits.anything_else)
        except subprocess.TimeoutExpired:
            logger.warning("The process of the vector index did not end, and is killed.")
        finally:
            self._abandon(CLOSED)

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


def _started(arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A process, and the socket that is its standard input; it gets no other descriptor of ours."""
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise VectorIndexError(f"The vector index could not be started: {error}") from error
    try:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            module_command(CHILD_MODULE, *arguments),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            env=module_environment(),
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
