"""Keeps threads going when something fails in a way that nobody expected."""

import logging
from collections.abc import Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

WENT_WRONG = "Something went wrong on our side; the server's log says what."
"""What is shown of a failure that nobody expected."""


def survive(
    work: Callable[[], Result], remark: str, expected: tuple[type[Exception], ...]
) -> Result | None:
    """What the work gives, or None when it failed unexpectedly, which is logged with the remark.

    Raises what is `expected`: whoever calls knows what that means. So does Ctrl-C or SIGTERM.
    """
    try:
        return work()
    except Exception as error:
        if isinstance(error, expected):
            raise
        if (interruption := _interruption_before(error)) is not None:
            raise interruption from error
        logger.exception(remark)
        return None


def _interruption_before(error: Exception) -> BaseException | None:
    """What ended the work, if that failed only on its way out of this.

    It may come between any two steps, such as of a lock that is let go then and is not held.
    """
    earlier = error.__context__
    while earlier is not None and not isinstance(earlier, KeyboardInterrupt | SystemExit):
        earlier = earlier.__context__
    return earlier
