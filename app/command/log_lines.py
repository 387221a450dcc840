"""How the log is written: whatever a record quotes stays on its line, and steers no terminal."""

import logging
from types import TracebackType

from app.command.display import printable

ExceptionFacts = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class LogLines(logging.Formatter):
    """Cleans what records quote: web servers and paths say anything.

    A line break in a path could begin a record that nobody wrote.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802, logging's own name
        """The record on one line; a traceback follows below it."""
        record.message = printable(" ".join(record.message.splitlines()))
        return super().formatMessage(record)

    def formatException(self, ei: ExceptionFacts) -> str:  # noqa: N802, logging's own name
        """A traceback, with its lines."""
        return printable(super().formatException(ei))


def write_log(level: int | str, line: str, *, anew: bool = False) -> None:
    """Log to stderr in the format `line`; if logging is already set up, only with `anew`."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines(line))
    logging.basicConfig(level=level, handlers=[handler], force=anew)
