"""Ends the work for a client that has gone away meanwhile."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import anyio
from fastapi import Request, Response

CLIENT_GONE = 499
"""As nginx calls it. Nobody receives it; it is for the log and the metrics."""

Answer = TypeVar("Answer")


async def unless_client_leaves(request: Request, work: Awaitable[Answer]) -> Answer | Response:
    """What the work comes to. If the client goes away before, it is cancelled.

    What has begun on a thread still runs to its end. The body must have been read, or be one that
    nobody reads.
    """
    answer: Answer | Response = Response(status_code=CLIENT_GONE)
    with anyio.CancelScope() as scope:
        watch = asyncio.create_task(_departure(request))
        watch.add_done_callback(lambda _: scope.cancel())
        try:
            answer = await work
        finally:
            watch.cancel()
    return answer


async def _departure(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
