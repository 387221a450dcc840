"""Keeps the threads of jobs going when something fails in a way that nobody expected."""

import logging
from collections.abc import Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


def survive(
    work: Callable[[], Result], remark: str, expected: tuple[type[Exception], ...]
) -> Result | None:
    """What the work gives, or None when it failed unexpectedly, which is logged with the remark.

    Raises what is `expected`: whoever calls knows what that means.
    """
    try:
        return work()
    except Exception as error:
        if isinstance(error, expected):
            raise
        logger.exception(remark)
        return None
