"""What a search may find, as the indexes are told."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class SearchScope:
    """What a search may find. A chunk must satisfy both; None stands for no limit."""

    item_ids: Collection[int] | None = None
    document_numbers: Collection[int] | None = None
    """Numbers of documents, as the records carry them."""


EVERYWHERE = SearchScope()
