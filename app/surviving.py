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
    except BaseException as error:
        if isinstance(error, expected) or not is_failure(error):
            raise
        if (interruption := _interruption_before(error)) is not None:
            raise interruption from error
        logger.exception(remark)
        return None


def is_failure(error: BaseException) -> bool:
    """Whether something went wrong; else somebody wants an end, as with Ctrl-C."""
    return isinstance(error, Exception) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Whether it comes from a library in Rust that gave up what it was asked for.

    Such as a tokenizer. It is a BaseException, of a class that cannot be imported.
    """
    return type(error).__name__ == "PanicException"


def _interruption_before(error: BaseException) -> BaseException | None:
    """What ended the work, if that failed only on its way out of this.

    It may come between any two steps, such as of a lock that is let go then and is not held.
    """
    earlier = error.__context__
    while earlier is not None and not isinstance(earlier, KeyboardInterrupt | SystemExit):
        earlier = earlier.__context__
    return earlier
