"""Cuts long sequences into slices of which a database or an index takes one at once.

Who takes them one by one lets others have their turn between two.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

VALUES_AT_ONCE = 500
"""Values in one IN list; databases limit the parameters of a statement."""

Value = TypeVar("Value")


def slices(values: Sequence[Value], size: int = VALUES_AT_ONCE) -> Iterator[list[Value]]:
    """The values in order, at most `size` at a time."""
    for start in range(0, len(values), size):
        yield list(values[start : start + size])
