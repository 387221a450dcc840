"""Keeps threads going after an unexpected failure."""

import logging
from collections.abc import Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

WENT_WRONG = "Something went wrong on our side; the server's log says what."
"""What is shown of an unexpected failure."""


def survive(
    work: Callable[[], Result], remark: str, expected: tuple[type[Exception], ...]
) -> Result | None:
    """The result of the work, or None if it failed unexpectedly, which is logged with the remark.

    Exceptions of the types `expected` are raised, for the caller to handle; so are those of Ctrl-C
    and SIGTERM.
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
    """Whether this is a failure, and not a wish to end the process, such as Ctrl-C."""
    return isinstance(error, Exception) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Whether the error is the panic of a library in Rust, such as a tokenizer.

    It is a BaseException, of a class that cannot be imported.
    """
    return type(error).__name__ == "PanicException"


def _interruption_before(error: BaseException) -> BaseException | None:
    """The Ctrl-C or SIGTERM that ended the work, if the error only arose on its way out.

    An interruption may come between any two steps: a lock, say, is then released that is not held.
    """
    earlier = error.__context__
    while earlier is not None and not isinstance(earlier, KeyboardInterrupt | SystemExit):
        earlier = earlier.__context__
    return earlier
