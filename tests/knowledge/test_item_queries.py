"""What deleting and changing an item does below the surface, in SQL."""

import pytest
from sqlalchemy import func, select

from app.database import Database
from app.errors import ConflictError, InvalidRequestError
from app.knowledge import queries
from app.knowledge.index_changes import CHANGE_BATCH
from app.knowledge.items import ItemDraft, ItemFilter
from app.knowledge.service import KnowledgeService
from app.models import ChunkRow, CollectionLanguageRow, DocumentRow, IndexChangeRow, TagRow
from tests.knowledge.conftest import add_chunks
from tests.light_service import LightService

DRAFT = ItemDraft("Guide", "/srv/docs", "markdown", tags=("a", "b"))


@pytest.fixture
def items(service: LightService, database: Database) -> KnowledgeService:
    return service.knowledge


def outbox(database: Database) -> list[list[str]]:
    with database.read() as session:
        return list(session.scalars(select(IndexChangeRow.chunk_ids).order_by(IndexChangeRow.id)))


def test_deleting_an_item_deletes_what_was_made_of_it_and_notes_its_chunks(
    database: Database, items: KnowledgeService, service: LightService
) -> None:
    kept, gone = items.create(DRAFT), items.create(DRAFT)
    with database.write() as session:
        kept_chunks = add_chunks(session, kept.id, 2)
        gone_chunks = add_chunks(session, gone.id, CHANGE_BATCH + 1)
    assert items.get(gone.id).chunk_count == CHANGE_BATCH + 1
    items.delete(gone.id)
    with database.read() as session:
        assert set(session.scalars(select(ChunkRow.id))) == kept_chunks
        assert set(session.scalars(select(DocumentRow.item_id))) == {kept.id}
        assert set(session.scalars(select(TagRow.item_id))) == {kept.id}
    noted = outbox(database)
    assert [len(ids) for ids in noted] == [CHANGE_BATCH, 1]
    assert {chunk for ids in noted for chunk in ids} == gone_chunks
    assert service.told == [f"item {gone.id} deleted"]


@pytest.mark.parametrize(
    ("changes", "noted"),
    [
        ({"title": "New"}, True),
        ({"category": "A"}, True),
        ({"tags": ("b", "a")}, True),
        ({"licence": "MIT"}, False),
        ({"uri": "other.md"}, False),
        ({"status": "archived"}, False),
        ({"title": "Guide", "tags": ("a", "b")}, False),
    ],
)
def test_chunks_are_noted_when_something_changes_that_the_vector_index_copies(
    database: Database, items: KnowledgeService, changes: dict[str, object], noted: bool
) -> None:
    item = items.create(DRAFT)
    with database.write() as session:
        chunks = add_chunks(session, item.id, 3)
    items.update(item.id, changes)
    assert [set(ids) for ids in outbox(database)] == ([chunks] if noted else [])


@pytest.mark.parametrize(
    ("collection", "noted"),
    [("of no language", False), ("said to be english", False), ("german", True)],
)
def test_chunks_are_noted_when_an_item_comes_under_other_stems(
    database: Database, items: KnowledgeService, collection: str, noted: bool
) -> None:
    item = items.create(DRAFT)
    with database.write() as session:
        chunks = add_chunks(session, item.id, 1)
        session.add(CollectionLanguageRow(name="said to be english", language="english"))
        session.add(CollectionLanguageRow(name="german", language="german"))
    items.update(item.id, {"collection": collection})
    assert [set(ids) for ids in outbox(database)] == ([chunks] if noted else [])


def test_save_creates_an_item_under_its_number_and_replaces_it_the_next_time(
    items: KnowledgeService,
) -> None:
    assert items.save(40, DRAFT).id == 40
    assert items.save(40, ItemDraft("New", "/x", "folder")).title == "New"
    assert items.create(DRAFT).id == 41
    assert list(items.ids(ItemFilter())) == [40, 41]


def test_save_keeps_what_it_is_not_told(items: KnowledgeService) -> None:
    first = ItemDraft("T", "/x", "markdown", "A", ("a",), "mine", "MIT", "archived")
    items.save(40, first)
    kept = items.save(40, ItemDraft("New", "/x", "markdown"))
    assert (kept.title, kept.category, kept.tags) == ("New", None, ())
    assert (kept.collection, kept.licence, kept.status) == ("mine", "MIT", "archived")


@pytest.mark.parametrize("status", ["active", "error"])
def test_no_new_item_is_made_active_or_wrong(items: KnowledgeService, status: str) -> None:
    draft = ItemDraft("T", "/x", "markdown", status=status)
    with pytest.raises(ConflictError, match="by being indexed"):
        items.create(draft)
    with pytest.raises(ConflictError, match="by being indexed"):
        items.save(40, draft)
    assert list(items.ids(ItemFilter())) == []


@pytest.mark.parametrize("item_id", [0, -1, 2**53, 2**63 - 1, 2**70])
def test_save_refuses_a_number_after_which_there_is_no_next(
    items: KnowledgeService, item_id: int
) -> None:
    with pytest.raises(InvalidRequestError):
        items.save(item_id, DRAFT)
    assert items.create(DRAFT).id == 1


def test_filters_by_ids_and_by_unwanted_status(items: KnowledgeService) -> None:
    ids = [items.create(DRAFT).id for _ in range(4)]
    items.update(ids[1], {"status": "archived"})
    assert list(items.ids(ItemFilter(ids=(ids[1], ids[3], 999)))) == [ids[1], ids[3]]
    assert list(items.ids(ItemFilter(ids=()))) == []
    assert list(items.ids(ItemFilter(statuses_not=("archived",)))) == [ids[0], ids[2], ids[3]]


def test_all_tags_means_every_one_of_them(database: Database, items: KnowledgeService) -> None:
    both = items.create(DRAFT).id
    one = items.create(ItemDraft("T", "/x", "markdown", tags=("a", "c"))).id
    assert list(items.ids(ItemFilter(tags=("a", "b"), tags_match="all"))) == [both]
    assert list(items.ids(ItemFilter(tags=("a", "a"), tags_match="all"))) == [both, one]
    with database.read() as session:
        assert queries.count_items(session, ItemFilter(tags=("b", "c"))) == 2
        assert session.scalar(select(func.count()).select_from(TagRow)) == 4
