"""Long lists, some at a time: others get their turn between two pages."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Value = TypeVar("Value")


def pages(values: Sequence[Value], size: int) -> Iterator[list[Value]]:
    """The values in their order, `size` at a time; the last page may have fewer."""
    for start in range(0, len(values), size):
        yield list(values[start : start + size])
