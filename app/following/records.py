"""What following sources knows of an item."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class FollowedItem:
    """An item whose source is looked at again by itself."""

    id: int
    uri: str
    document_type: str
    refresh_interval: int | None
    """Seconds; 0: never, None: what suits its type."""
    next_refresh_at: datetime | None
