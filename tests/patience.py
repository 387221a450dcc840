"""How long tests wait for what goes on beside them; only a test that fails waits so long."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

PATIENCE_SECONDS = 20

Result = TypeVar("Result")


def run_in_time(main: Callable[[], Awaitable[Result]]) -> Result:
    """What this gives on an event loop of its own; raises TimeoutError when it takes too long."""

    async def in_time() -> Result:
        with anyio.fail_after(PATIENCE_SECONDS):
            return await main()

    return anyio.run(in_time)
