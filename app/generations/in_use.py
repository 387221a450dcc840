"""The parts of the generation that answers, exchanged as a whole while searches go on."""

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
    """Who borrows the parts keeps them for as long as needed, whatever is exchanged meanwhile."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._changed = threading.Condition()
        self._borrowers: Counter[int] = Counter()
        """By the `id` of the parts."""

    @property
    def current(self) -> Parts:
        """The parts of this moment."""
        return self._parts

    @contextmanager
    def borrowed(self) -> Iterator[Parts]:
        """The parts of this moment, which are not closed before the block ends."""
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
        """What the parts answer; asked again when they were exchanged meanwhile.

        What changed since may stand in the new ones alone, and the old ones may be dropped.
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
        """Let these be borrowed from now on; gives the others back, which may be in use yet."""
        with self._changed:
            former, self._parts = self._parts, parts
        return former

    def wait_until_unused(self, parts: Parts, timeout_seconds: float | None = None) -> bool:
        """Wait until nobody has these any more; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: id(parts) not in self._borrowers, timeout_seconds)


class CurrentSearcher(Generic[Parts]):
    """Searches what answers at the moment of the search."""

    def __init__(self, in_use: InUse[Parts]) -> None:
        self._in_use = in_use

    def search(self, request: SearchRequest) -> SearchAnswer:
        """See Searcher.search."""
        return self._in_use.asked(lambda parts: parts.searcher.search(request))


class CurrentContext(Generic[Parts]):
    """Assembles passages from what answers at the moment."""

    def __init__(self, in_use: InUse[Parts]) -> None:
        self._in_use = in_use

    def assemble(self, request: ContextRequest) -> ContextAnswer:
        """See ContextAssembler.assemble."""
        return self._in_use.asked(lambda parts: parts.context.assemble(request))
