"""What can be said about a vector index while it runs."""

from dataclasses import dataclass

CLOSED = "The vector index is closed."


@dataclass(frozen=True)
class VectorIndexStatus:
    """How the index is doing."""

    name: str
    loaded: bool
    """Whether the exact scan holds everything: until then the first search loads it."""
    ready: bool
    """Whether what is on disk can be trusted after a clean stop now; true if nothing is there."""
    degraded_reason: str | None
    """Why the index on disk is not used though it should be, or None."""
    count: int
