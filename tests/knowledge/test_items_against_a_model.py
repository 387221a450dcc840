"""Any sequence of operations leaves the same items as in a plain dictionary."""

import dataclasses
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from app.errors import ConflictError, NotFoundError
from app.knowledge.items import ItemDraft, ItemFilter, type_complaint
from app.settings import Settings
from tests.databases import Databases
from tests.light_service import light_service

TEXT = st.text(st.sampled_from("aAbÄä%_\\ '"), min_size=1, max_size=4)
CATEGORY = st.sampled_from([None, "A", "a", "A/B", "A/B/C", "AB", "A_", "A_/x", "A%/y", "É/z"])
TAGS = st.lists(st.sampled_from(["x", "X", "y", "%"]), unique=True).map(tuple)
STATUS = st.sampled_from(["pending", "archived"])
DRAFTS = st.builds(
    ItemDraft,
    title=TEXT,
    uri=st.sampled_from(["/a", "/B", "file:///a"]),
    document_type=st.sampled_from(["markdown", "folder"]),
    category=CATEGORY,
    tags=TAGS,
    collection=st.sampled_from([None, "one", "two"]),
    licence=st.sampled_from([None, "MIT"]),
    status=st.none() | STATUS,
)
FILTERS = st.builds(
    ItemFilter,
    status=st.none() | STATUS,
    category=CATEGORY,
    tags=TAGS,
    tags_match=st.sampled_from(["any", "all"]),
    document_type=st.sampled_from([None, None, "markdown", "folder"]),
    collection=st.sampled_from([None, None, "one", "two", "knowledge_base"]),
    text=st.none() | TEXT,
)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXT,
        "category": CATEGORY,
        "tags": TAGS,
        "status": STATUS | st.just("active"),
        "uri": st.sampled_from(["/a", "/new", "https://example.com"]),
    },
)


def meant(wanted: ItemFilter, item: dict[str, Any]) -> bool:
    """The filter, written as plainly as can be."""
    category = item["category"] or ""
    present = set(wanted.tags) & set(item["tags"])
    needed = len(wanted.tags) if wanted.tags_match == "all" else min(1, len(wanted.tags))
    text = (wanted.text or "").lower()
    return (
        wanted.status in (None, item["status"])
        and wanted.document_type in (None, item["document_type"])
        and wanted.collection in (None, item["collection"])
        and (wanted.category is None or (category + "/").startswith(wanted.category + "/"))
        and len(present) >= needed
        and (text in item["title"].lower() or text in item["uri"].lower())
    )


class ItemsAgainstAModel(RuleBasedStateMachine):
    """The service beside a dictionary from id to fields."""

    databases: Databases
    ids: Bundle[int] = Bundle("ids")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        own = Settings(_env_file=None, data_dir=self.folder)
        self.mark = self.databases.mark()
        self.service = light_service(own, self.databases)
        self.items = self.service.knowledge
        self.model: dict[int, dict[str, Any]] = {}
        self.last_id = 0

    def teardown(self) -> None:
        self.service.database.close()
        self.databases.drop_since(self.mark)
        shutil.rmtree(self.folder)

    @rule(target=ids, draft=DRAFTS)
    def create(self, draft: ItemDraft) -> int:
        item = self.items.create(draft)
        assert item.id > self.last_id
        self.last_id = item.id
        self.model[item.id] = dataclasses.asdict(draft) | {
            "collection": draft.collection or "knowledge_base",
            "status": draft.status or "pending",
        }
        return item.id

    @rule(item_id=ids, changes=CHANGES)
    def update(self, item_id: int, changes: dict[str, Any]) -> None:
        before = self.model[item_id]
        after = before | changes
        if type_complaint(after["document_type"], after["uri"]) and after["uri"] != before["uri"]:
            with pytest.raises(ConflictError):
                self.items.update(item_id, changes)
            return
        if after["status"] == "active":  # nothing here is ever indexed
            if before["status"] != "archived":
                with pytest.raises(ConflictError):
                    self.items.update(item_id, changes)
                return
            after["status"] = "pending"
        self.items.update(item_id, changes)
        self.model[item_id] = after

    @rule(target=ids, item_id=consumes(ids))
    def delete(self, item_id: int) -> Any:
        self.items.delete(item_id)
        del self.model[item_id]
        with pytest.raises(NotFoundError):
            self.items.delete(item_id)
        return multiple()

    @rule(wanted=FILTERS, sort=st.sampled_from(["id", "-id", "title", "-title"]))
    def list_pages(self, wanted: ItemFilter, sort: str) -> None:
        key = sort.removeprefix("-")
        expected = sorted(
            (item_id for item_id, item in self.model.items() if meant(wanted, item)),
            key=lambda item_id: (self.model[item_id].get(key, item_id), item_id),
            reverse=sort.startswith("-"),
        )
        listed: list[int] = []
        cursor: str | None = None
        while cursor is not None or not listed:
            page = self.items.list(wanted, sort, 2, cursor)
            assert page.total == len(expected)
            listed += [item.id for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert listed == expected
        assert list(self.items.ids(wanted)) == sorted(expected)

    @invariant()
    def items_are_equal(self) -> None:
        page = self.items.list(ItemFilter(), "id", 200, None)
        stored = {
            item.id: {
                field.name: getattr(item, field.name) for field in dataclasses.fields(ItemDraft)
            }
            for item in page.items
        }
        assert stored == self.model


def test_items_behave_like_a_dictionary(databases: Databases) -> None:
    ItemsAgainstAModel.databases = databases
    run_state_machine_as_test(
        ItemsAgainstAModel,
        settings=settings(max_examples=15, stateful_step_count=20, deadline=None),
    )
