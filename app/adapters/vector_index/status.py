"""What can be said about a vector index while it runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VectorIndexStatus:
    """How the index is doing."""

    name: str
    ready: bool
    """Whether the primary answers; otherwise the exact scan does."""
    degraded_reason: str | None
    count: int
