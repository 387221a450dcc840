"""The log: whatever a record quotes, it is one line, and steers no terminal."""

import io
import logging

import pytest

from app.command.log_lines import LogLines


@pytest.fixture
def written() -> io.StringIO:
    """What has been logged."""
    return io.StringIO()


@pytest.fixture
def logger(written: io.StringIO) -> logging.Logger:
    handler = logging.StreamHandler(written)
    handler.setFormatter(LogLines("%(levelname)s: %(message)s"))
    logger = logging.Logger("tests")
    logger.addHandler(handler)
    return logger


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("a  b\tc äöü 東京", "a  b\tc äöü 東京"),
        ("x\nERROR: forged", "x ERROR: forged"),
        ("x\r\nERROR: forged\n", "x ERROR: forged"),
        ("x\x85y\u2028z\x0bw", "x y z w"),
        ("image/\x1b]0;owned\x07", "image/\ufffd]0;owned\ufffd"),
        ("\x9b2J \u202egnp.exe", "\ufffd2J \ufffdgnp.exe"),
        ("half a character \udc80", "half a character \ufffd"),
    ],
)
def test_what_a_record_quotes_stays_on_its_line(
    logger: logging.Logger, written: io.StringIO, quoted: str, shown: str
) -> None:
    logger.info("Not indexed: %s", quoted)
    assert written.getvalue() == f"INFO: Not indexed: {shown}\n"


def test_a_traceback_has_its_lines(logger: logging.Logger, written: io.StringIO) -> None:
    def fail() -> None:
        raise ValueError("\x1b[31m")

    try:
        fail()
    except ValueError:
        logger.exception("It failed")
    first, begin, *_, last = written.getvalue().splitlines()
    assert (first, begin) == ("ERROR: It failed", "Traceback (most recent call last):")
    assert last == "ValueError: \ufffd[31m"
