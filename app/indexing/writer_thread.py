"""The thread of the single writer: runs what is handed in, in order, one piece at a time."""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from app.errors import StoppingError
from app.surviving import is_failure

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class WriterThread:
    """Work can be handed in before the thread is started; it then waits for that."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._closed = False
        self._handing_in = threading.Lock()
        """What is handed in stands in the queue before whatever ends it."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more submissions; returns at once."""
        with self._handing_in:
            self._closed = True

    def close(self) -> None:
        """Finish what was handed in, then stop."""
        self.stop()
        self._tasks.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def require_open(self) -> None:
        """Raise UnavailableError, once `stop` has been called."""
        if self._closed:
            raise StoppingError

    def submit(self, work: Callable[[], Result]) -> "Future[Result]":
        """Run work whose result or error is awaited; raises UnavailableError."""
        future: Future[Result] = Future()

        def run() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001, raised again where the result is awaited
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._handing_in:
            self.require_open()
            self._tasks.put(run)
        return future

    def add(self, work: Callable[[], None]) -> None:
        """Run work whose result is not awaited."""
        self._tasks.put(work)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except BaseException as error:
                if not is_failure(error):
                    raise
                logger.exception("The %s goes on after an unexpected error", self._name)
