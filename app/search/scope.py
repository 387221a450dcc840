"""Resolves the filter of a search in SQL: which items and documents it may find."""

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, func, or_, select

from app.database import Database
from app.knowledge.queries import filter_conditions
from app.models import ChunkRow, DocumentRow, ItemRow
from app.protocols import EVERYWHERE, SearchScope
from app.search.document_labels import documents_decide, label_conditions
from app.search.language_tags import in_language
from app.search.licences import is_permissive
from app.search.path_globs import PathFilter
from app.search.requests import SearchRequest

REMEMBERED_FILTERS = 16
"""Each may name as many documents as there are: 7 MB for 100,000."""

LICENCE = func.coalesce(DocumentRow.licence, ItemRow.licence)
"""A document's own licence, else that of its item."""

# Built once: putting a statement together costs more than SQLite takes to answer it.
_ARCHIVED_ITEM_WITH_CHUNKS = (
    select(ItemRow.id)
    .where(ItemRow.status == "archived", exists().where(ChunkRow.item_id == ItemRow.id))
    .limit(1)
)
_ITEMS = select(func.count()).select_from(ItemRow)
_DOCUMENTS = select(func.count()).select_from(DocumentRow)


@dataclass(frozen=True)
class ResolvedFilter:
    """A request's filter: a scope for the indexes, and conditions for the final check in SQL."""

    scope: SearchScope
    conditions: tuple[ColumnElement[bool], ...]
    """On items and documents joined; the paths say the rest."""
    paths: PathFilter

    @property
    def allows_nothing(self) -> bool:
        """Whether no document can pass."""
        return not (self.scope.item_ids is None or len(self.scope.item_ids)) or not (
            self.scope.document_numbers is None or len(self.scope.document_numbers)
        )

    def allows_path(self, key: str) -> bool:
        """Whether the paths allow it, if there are any."""
        return self.paths.allows(key)


class ScopeResolver:
    """Resolves filters, and caches the results until something is written. Thread-safe.

    Finding 5,000 of 100,000 items by a tag takes 6 ms; people page, and search again under the same
    filter.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered: OrderedDict[tuple[object, ...], ResolvedFilter] = OrderedDict()
        self._version: int | str | None = None
        self._lock = threading.Lock()

    def resolve(self, request: SearchRequest, *, holding_types: bool = False) -> ResolvedFilter:
        """What the filter allows now; see `resolve_filter`. Raises StorageError."""
        # Read before the tables: a write in between then makes the cached answer outdated at once.
        version, key = self._database.version(), (*request.filter_key(), holding_types)
        with self._lock:
            if version != self._version:
                self._remembered.clear()
                self._version = version
            known = self._remembered.get(key)
            if known is not None:
                self._remembered.move_to_end(key)  # the one unused for longest goes first
        if known is None:
            with self._database.snapshot() as connection:
                known = resolve_filter(connection, request, holding_types=holding_types)
            with self._lock:
                if version == self._version:
                    self._remembered[key] = known
                    if len(self._remembered) > REMEMBERED_FILTERS:
                        self._remembered.popitem(last=False)
        return known


def resolve_filter(
    connection: Connection, request: SearchRequest, *, holding_types: bool = False
) -> ResolvedFilter:
    """What the filter allows now. Archived items are never allowed, so they count as a filter.

    With `holding_types`, the scope has only documents with a chunk of the types asked for. To find
    those all chunks are read: some 1 ms a thousand.
    """
    paths = PathFilter(request.paths)
    scope = EVERYWHERE
    by_document = documents_decide(connection, request.category, request.tags)
    of_items = _item_conditions(request, by_document=by_document, of_few=False)
    of_documents: list[ColumnElement[bool]] = []
    if request.restricts_documents or by_document or holding_types:
        of_documents = _document_conditions(connection, request, paths)
        holders = (_holds_types(request.chunk_types),) if holding_types else ()
        numbers = _document_numbers(connection, (*of_items, *of_documents, *holders), paths)
        share = len(numbers) / max(connection.scalar(_DOCUMENTS) or 0, 1)
        scope = SearchScope(document_numbers=numbers, share=share)
    elif of_items or _archived_chunks_exist(connection):
        allowed = of_items or (ItemRow.status != "archived",)
        item_ids = frozenset(connection.scalars(select(ItemRow.id).where(*allowed)))
        share = len(item_ids) / max(connection.scalar(_ITEMS) or 0, 1)
        scope = SearchScope(item_ids=item_ids, share=share)
    if scope.share == 1.0:
        scope = EVERYWHERE  # the indexes need not compare each record with a list of all
    of_few_items = _item_conditions(request, by_document=by_document, of_few=True)
    return ResolvedFilter(scope, (*of_few_items, *of_documents), paths)


def conditions_now(
    connection: Connection, request: SearchRequest
) -> tuple[tuple[ColumnElement[bool], ...], PathFilter]:
    """The conditions and the paths of a ResolvedFilter, as they are in this snapshot."""
    paths = PathFilter(request.paths)
    by_document = documents_decide(connection, request.category, request.tags)
    return (
        (
            *_item_conditions(request, by_document=by_document, of_few=True),
            *_document_conditions(connection, request, paths),
        ),
        paths,
    )


def _item_conditions(
    request: SearchRequest, *, by_document: bool, of_few: bool
) -> list[ColumnElement[bool]]:
    """Empty if no item is ruled out; see `documents_decide` (for `by_document`) and `tagged`."""
    if not request.restricts_items:
        return []
    wanted = request.item_filter()
    if by_document:
        wanted = dataclasses.replace(wanted, category=None, tags=())
    conditions = filter_conditions(wanted, of_few=of_few)
    if by_document:
        conditions += label_conditions(
            request.category, request.tags, request.tags_match, of_few=of_few
        )
    if request.document_types:
        conditions.append(ItemRow.document_type.in_(request.document_types))
    return conditions


def _archived_chunks_exist(connection: Connection) -> bool:
    return connection.scalar(_ARCHIVED_ITEM_WITH_CHUNKS) is not None


def _document_numbers(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], paths: PathFilter
) -> frozenset[int]:
    allowed = (*conditions, ItemRow.status != "archived")
    if not paths:
        return frozenset(connection.scalars(_documents(DocumentRow.number).where(*allowed)))
    rows = connection.execute(_documents(DocumentRow.number, DocumentRow.key).where(*allowed))
    return frozenset(number for number, key in rows if paths.allows(key))


def _documents(*columns: Any) -> Select[Any]:
    return select(*columns).join(ItemRow, ItemRow.id == DocumentRow.item_id)


def _document_conditions(
    connection: Connection, request: SearchRequest, paths: PathFilter
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if paths:
        conditions.append(or_(*map(_begins_with, paths.literal_starts)))
    if request.languages:
        stored = DocumentRow.language.expression
        conditions.append(or_(*(in_language(stored, name) for name in request.languages)))
    if request.indexed_after is not None:
        conditions.append(DocumentRow.indexed_at > _in_utc(request.indexed_after))
    if request.indexed_before is not None:
        conditions.append(DocumentRow.indexed_at < _in_utc(request.indexed_before))
    if request.licence_policy == "permissive":
        conditions.append(LICENCE.in_(_permissive_licences(connection)))
    return conditions


def _holds_types(chunk_types: Sequence[str]) -> ColumnElement[bool]:
    """In any generation, as the candidates themselves are looked at anyway."""
    of_types = ChunkRow.chunk_type.in_(chunk_types)
    return DocumentRow.id.in_(select(ChunkRow.document_id).where(of_types))


def _permissive_licences(connection: Connection) -> list[str]:
    """The permissive ones among the licences in use, of which there are few."""
    in_use = connection.scalars(_documents(LICENCE).where(LICENCE.is_not(None)).distinct())
    return [licence for licence in in_use if is_permissive(licence)]


def _begins_with(start: str) -> ColumnElement[bool]:
    # Not LIKE, which ignores case on SQLite.
    return func.substr(DocumentRow.key, 1, len(start)) == start


def _in_utc(moment: datetime) -> datetime:
    """The time in UTC; one that only its zone puts outside the calendar becomes the nearest end."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        end = datetime.min if moment.year == datetime.min.year else datetime.max
        return end.replace(tzinfo=UTC)
