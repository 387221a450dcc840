"""The filter of a search, as the indexes are given it."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class SearchScope:
    """What a search may find. A chunk must satisfy both; None stands for no limit."""

    item_ids: Collection[int] | None = None
    document_numbers: Collection[int] | None = None
    """Numbers of documents, as the records carry them."""
    share: float = 1.0
    """Which share of all items or documents that is, 0 to 1. An index may choose the quicker way
    by it; what is found does not depend on it."""


EVERYWHERE = SearchScope()
