"""Which signals end a command in order: Ctrl-C is Python's, the others are said here."""

import signal
import sys
from types import FrameType


def ending_signals() -> list[signal.Signals]:
    """SIGTERM, and SIGHUP of a terminal that closes, unless it is ignored already, as by nohup."""
    outlives_terminal = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGTERM] if outlives_terminal else [signal.SIGTERM, signal.SIGHUP]


def end_like_ctrl_c() -> None:
    """Let these signals end this process by way of its `finally` blocks, as Ctrl-C does."""
    for number in ending_signals():
        signal.signal(number, _exit)


def _exit(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
