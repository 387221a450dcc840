"""Holds the parts of the generation that answers, and replaces them while searches go on."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from app.errors import AppError
from app.search.context import ContextAnswer, ContextAssembler
from app.search.requests import ContextRequest, SearchRequest
from app.search.results import SearchAnswer
from app.search.searcher import Searcher


class AssemblesContext(Protocol):
    """Puts passages together for a prompt."""

    def assemble(self, request: ContextRequest) -> ContextAnswer:
        """See ContextAssembler.assemble."""
        ...


class SearchingParts(Protocol):
    """What answers searches, from one generation."""

    @property
    def searcher(self) -> Searcher: ...  # noqa: D102, the types say it
    @property
    def context(self) -> ContextAssembler: ...  # noqa: D102


Parts = TypeVar("Parts", bound=SearchingParts)
Answer = TypeVar("Answer")


class InUse(Generic[Parts]):
    """Borrowed parts stay open for as long as they are needed, even if they are replaced."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._changed = threading.Condition()
        self._borrowers: Counter[int] = Counter()
        """By the `id` of the parts."""

    @property
    def current(self) -> Parts:
        """The current parts."""
        return self._parts

    @contextmanager
    def borrowed(self) -> Iterator[Parts]:
        """The current parts, which are not closed before the block ends."""
        with self._changed:
            parts = self._parts
            self._borrowers[id(parts)] += 1
        try:
            yield parts
        finally:
            with self._changed:
                self._borrowers[id(parts)] -= 1
                if not self._borrowers[id(parts)]:
                    del self._borrowers[id(parts)]
                    self._changed.notify_all()

    def asked(self, ask: Callable[[Parts], Answer]) -> Answer:
        """The answer of the parts; they are asked again if they were replaced in the meantime.

        What has changed since may be only in the new ones, and the old ones may be dropped.
        """
        while True:
            with self.borrowed() as parts:
                try:
                    answer = ask(parts)
                except AppError:
                    if self._parts is parts:
                        raise
                else:
                    if self._parts is parts:
                        return answer

    def exchange(self, parts: Parts) -> Parts:
        """Lend these parts from now on; returns the former ones, which may still be in use."""
        with self._changed:
            former, self._parts = self._parts, parts
        return former

    def wait_until_unused(self, parts: Parts, timeout_seconds: float | None = None) -> bool:
        """Wait until these parts are no longer in use; returns whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: id(parts) not in self._borrowers, timeout_seconds)


class CurrentSearcher(Generic[Parts]):
    """Searches with the parts that are current at that moment."""

    def __init__(self, in_use: InUse[Parts]) -> None:
        self._in_use = in_use

    def search(self, request: SearchRequest) -> SearchAnswer:
        """See Searcher.search."""
        return self._in_use.asked(lambda parts: parts.searcher.search(request))


class CurrentContext(Generic[Parts]):
    """Assembles passages with the parts that are current at that moment."""

    def __init__(self, in_use: InUse[Parts]) -> None:
        self._in_use = in_use

    def assemble(self, request: ContextRequest) -> ContextAnswer:
        """See ContextAssembler.assemble."""
        return self._in_use.asked(lambda parts: parts.context.assemble(request))
