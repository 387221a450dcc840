"""What a search may find, as the indexes are told."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class SearchScope:
    """What a search may find. A chunk must satisfy both; None stands for no limit."""

    item_ids: Collection[int] | None = None
    document_numbers: Collection[int] | None = None
    """Numbers of documents, as the records carry them."""
    share: float = 1.0
    """How much of all items or documents that is, 0 to 1. An index may choose its way by it; what
    is found does not depend on it."""


EVERYWHERE = SearchScope()
