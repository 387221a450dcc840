"""Two threads that ask how an index is, of which the second comes while the first one looks."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

WAIT_SECONDS = 10


def told_to_both(
    monkeypatch: pytest.MonkeyPatch, watch: type, look: str, ask: Callable[[], str | None]
) -> tuple[str | None, str | None]:
    """What `ask` tells each, where `watch` looks at the files by its method `look`."""
    looking, go_on = threading.Event(), threading.Event()
    method = getattr(watch, look)

    def slow_look(files: Any) -> Any:
        looking.set()
        assert go_on.wait(WAIT_SECONDS)
        return method(files)

    monkeypatch.setattr(watch, look, slow_look)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(ask)
        assert looking.wait(WAIT_SECONDS)
        second = threads.submit(ask)
        threading.Timer(0.2, go_on.set).start()
        return first.result(), second.result()
