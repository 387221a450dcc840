"""A filter leaves exactly the items and documents that it says, then and at the final look."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, delete, event, text, update

from app.database import Database
from app.models import ChunkRow, DocumentRow, DocumentTagRow, ItemRow, TagRow
from app.protocols import EVERYWHERE
from app.search.queries import rows_by_chunk
from app.search.requests import FILTERS, SearchRequest
from app.search.scope import REMEMBERED_FILTERS, ScopeResolver, resolve_filter
from tests.databases import Databases

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass
class Library:
    """Items and documents in SQL; each document has one chunk, called as the document's key."""

    database: Database
    documents: dict[str, tuple[ItemRow, DocumentRow]] = field(default_factory=dict)

    def add_item(self, tags: tuple[str, ...] = (), **fields: Any) -> int:
        row = ItemRow(
            **{"title": "T", "uri": "/x", "document_type": "folder", "collection": "kb"}
            | {"status": "active"} | fields
        )  # fmt: skip
        with self.database.write() as session:
            session.add(row)
            session.flush()
            session.add_all(TagRow(item_id=row.id, tag=t, position=n) for n, t in enumerate(tags))
            return row.id

    def add(self, item_id: int, key: str, **fields: Any) -> None:
        with self.database.write() as session:
            document = DocumentRow(
                **{"item_id": item_id, "key": key, "number": len(self.documents) + 1}
                | {"document_id": key, "uri": key, "tags": [], "content_hash": ""}
                | {"first_line": 1, "fetched_at": NOON, "indexed_at": NOON, "content": key}
                | fields
            )  # fmt: skip
            session.add(document)
            session.flush()
            session.add(
                ChunkRow(
                    id=f"{document.number:032}", item_id=item_id, document_id=document.id,
                    chunk_index=0, start_index=0, end_index=len(key), start_line=1, end_line=1,
                    heading_path=[], text_hash="", content=key,
                )
            )  # fmt: skip
            self.documents[key] = (session.get_one(ItemRow, item_id), document)

    def change(self, item_id: int, **fields: Any) -> None:
        with self.database.write() as session:
            for name, value in fields.items():
                setattr(session.get_one(ItemRow, item_id), name, value)

    def in_scope(self, **wanted: Any) -> set[str]:
        """Keys of the documents that the indexes are told to look at."""
        with self.database.snapshot() as connection:
            scope = resolve_filter(connection, SearchRequest("x", **wanted)).scope
        return {
            key
            for key, (item, document) in self.documents.items()
            if (scope.item_ids is None or item.id in scope.item_ids)
            and (scope.document_numbers is None or document.number in scope.document_numbers)
        }

    def joined(self, request: SearchRequest, before_join: Any = None) -> set[str]:
        """Keys of the documents that pass the final look, whatever the indexes said."""
        with self.database.snapshot() as connection:
            allowed = resolve_filter(connection, request)
        if before_join is not None:
            before_join()
        chunk_ids = [f"{document.number:032}" for _, document in self.documents.values()]
        with self.database.snapshot() as connection:
            return {row.key for row in rows_by_chunk(connection, chunk_ids, allowed).values()}

    def allowed(self, **wanted: Any) -> set[str]:
        """What both looks leave; they must agree."""
        scope, final = self.in_scope(**wanted), self.joined(SearchRequest("x", **wanted))
        assert scope == final
        return final


@pytest.fixture
def library(tmp_path: Path, databases: Databases) -> Iterator[Library]:
    database = Database(databases.new(tmp_path, "library.db"))
    yield Library(database)
    database.close()


@pytest.fixture
def filled(library: Library) -> Library:
    first = library.add_item(
        ("a", "b"), category="Eng/Security", licence="MIT", document_type="folder"
    )
    second = library.add_item(
        ("b",), category="Engine", licence="GPL-3.0-only", document_type="website", collection="web"
    )
    library.add(first, "docs/a.md", language="en", indexed_at=NOON - HOUR)
    library.add(first, "docs/deep/b.md", language="DE", licence="GPL-3.0-only")
    library.add(first, "README.md", licence="()", indexed_at=NOON + HOUR)
    library.add(second, "docs/c.py", language="en_US")
    library.add(second, "Docs/d.md", licence="MIT OR GPL-3.0-only", language="fr")
    return library


def in_order(value: Any) -> str:
    """A name that is the same in every process, which that of a set is not."""
    return str(sorted(value) if isinstance(value, set) else value)


ALL = {"docs/a.md", "docs/deep/b.md", "README.md", "docs/c.py", "Docs/d.md"}
FIRST = {"docs/a.md", "docs/deep/b.md", "README.md"}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"document_types": ("website", "pdf")}, ALL - FIRST),
        ({"category": "Eng"}, FIRST),
        ({"tags": ("a",)}, FIRST),
        ({"tags": ("a", "b")}, ALL),
        ({"tags": ("a", "b", "a"), "tags_match": "all"}, FIRST),
        ({"tags": ("a", "c"), "tags_match": "all"}, set()),
        ({"collection": "web"}, ALL - FIRST),
        ({"knowledge_ids": ()}, set()),
        ({"paths": ("docs/*",)}, {"docs/a.md", "docs/c.py"}),
        ({"paths": ("*.md", "docs/*.py")}, ALL),
        ({"paths": ("docs/**",)}, {"docs/a.md", "docs/deep/b.md", "docs/c.py"}),
        ({"paths": ("/Docs/",)}, {"Docs/d.md"}),
        ({"paths": ("docs",)}, set()),
        ({"languages": ("EN",)}, {"docs/a.md", "docs/c.py"}),
        ({"languages": ("en-us",)}, {"docs/c.py"}),
        ({"languages": ("en-gb", "e", "e%", "en_")}, set()),
        ({"languages": ("de", "fr")}, {"docs/deep/b.md", "Docs/d.md"}),
        # A document's own licence counts, else its item's; what is no expression is not permissive.
        ({"licence_policy": "permissive"}, {"docs/a.md", "Docs/d.md"}),
        ({"indexed_after": NOON}, {"README.md"}),
        ({"indexed_before": NOON}, {"docs/a.md"}),
        ({"indexed_after": NOON - HOUR, "indexed_before": NOON + HOUR},
         {"docs/deep/b.md", "docs/c.py", "Docs/d.md"}),
        ({"indexed_after": NOON.astimezone(timezone(9 * HOUR))}, {"README.md"}),
        ({"category": "Eng", "tags": ("b",), "paths": ("docs/**",), "languages": ("en", "de"),
          "licence_policy": "permissive", "indexed_before": NOON, "document_types": ("folder",)},
         {"docs/a.md"}),
        ({"category": "Engine", "paths": ("*.md",), "licence_policy": "permissive"}, {"Docs/d.md"}),
        ({"category": "Eng", "languages": ("fr",)}, set()),
    ],
    ids=in_order,
)  # fmt: skip
def test_each_filter_and_all_together_leave_what_they_say(filled, wanted, expected):
    assert filled.allowed(**wanted) == expected


def test_every_filter_that_nothing_passes_leaves_nothing(filled):
    nothing_passes = {
        "category": "none", "tags": ("none",), "knowledge_ids": (), "collection": "none",
        "document_types": ("none",), "paths": ("none",), "languages": ("none",),
        "indexed_after": NOON + 2 * HOUR, "indexed_before": NOON - 2 * HOUR,
    }  # fmt: skip
    of_others, of_chunks = {"tags_match"}, {"chunk_types"}
    always_lets_some_pass = {"licence_policy"}
    assert nothing_passes.keys() == set(FILTERS) - of_others - of_chunks - always_lets_some_pass
    for name, value in nothing_passes.items():
        assert filled.allowed(**{name: value}) == set(), name


def test_a_filter_is_remembered_by_all_that_it_is_made_of(filled):
    """Else one request would be answered by what another allows."""
    looked_at = set()

    class Watched(SearchRequest):
        def __getattribute__(self, name):
            looked_at.add(name)
            return super().__getattribute__(name)

    with filled.database.snapshot() as connection:
        for wanted in ({}, {"category": "Eng"}, {"paths": ("docs/**",)}):
            resolve_filter(connection, Watched("x", **wanted))
    known = {each.name for each in fields(SearchRequest)}
    assert looked_at & known == set(FILTERS) - {"chunk_types"}  # which are told of the candidates


def test_without_a_filter_everything_is_looked_at(filled):
    with filled.database.snapshot() as connection:
        allowed = resolve_filter(connection, SearchRequest("x"))
    assert allowed.scope == EVERYWHERE
    assert not allowed.allows_nothing
    assert filled.allowed() == ALL


@pytest.mark.parametrize(
    ("wanted", "share"),
    [
        ({"tags": ("b",)}, 1.0),
        ({"paths": ("**",)}, 1.0),
        ({"tags": ("a",)}, 1 / 2),
        ({"knowledge_ids": ()}, 0.0),
        ({"paths": ("docs/**",)}, 3 / 5),
    ],
    ids=in_order,
)
def test_the_scope_says_its_share_and_is_none_where_everything_passes(filled, wanted, share):
    with filled.database.snapshot() as connection:
        scope = resolve_filter(connection, SearchRequest("x", **wanted)).scope
    assert scope.share == share
    assert (scope == EVERYWHERE) == (share == 1.0)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [({}, {"docs/a.md", "README.md"}), ({"paths": ("docs/**",)}, {"docs/a.md"})],
    ids=in_order,
)
def test_the_scope_may_have_only_documents_with_chunks_of_a_type(filled, wanted, found):
    keys = ("docs/a.md", "README.md")
    with filled.database.write() as session:
        session.execute(
            update(ChunkRow).where(ChunkRow.content.in_(keys)).values(chunk_type="table")
        )
    with filled.database.snapshot() as connection:
        tables, lists = (
            resolve_filter(
                connection, SearchRequest("x", chunk_types=(kind,), **wanted), holding_types=True
            )
            for kind in ("table", "list")
        )
    assert lists.allows_nothing
    assert tables.scope.document_numbers == {filled.documents[key][1].number for key in found}


def test_what_is_added_under_a_filter_that_everything_passed_is_left_out(filled) -> None:
    def add_other() -> None:
        filled.add(filled.add_item(), "other.md")

    assert filled.joined(SearchRequest("x", tags=("b",)), add_other) == ALL


@pytest.mark.parametrize("wanted", [{"knowledge_ids": ()}, {"languages": ("xx",)}], ids=str)
def test_a_filter_that_nothing_passes_is_known_as_such(filled, wanted):
    with filled.database.snapshot() as connection:
        assert resolve_filter(connection, SearchRequest("x", **wanted)).allows_nothing


@pytest.mark.parametrize(
    "wanted", [{}, {"category": "Eng"}, {"languages": ("en",)}, {"paths": ("**",)}], ids=str
)
def test_archived_items_never_answer(filled, wanted):
    filled.change(1, status="archived")
    assert filled.allowed(**wanted).isdisjoint(FIRST)


@pytest.mark.parametrize(
    ("wanted", "change"),
    [
        ({"category": "Eng"}, {"category": "Private"}),
        ({"collection": "kb"}, {"collection": "other"}),
        ({"licence_policy": "permissive"}, {"licence": "GPL-3.0-only"}),
        ({"paths": ("docs/a.md",), "category": "Eng"}, {"category": None}),
        ({}, {"status": "archived"}),
    ],
    ids=str,
)
def test_an_item_that_leaves_the_filter_before_the_join_is_left_out(filled, wanted, change):
    request = SearchRequest("x", **wanted)
    assert "docs/a.md" in filled.joined(request)
    assert "docs/a.md" not in filled.joined(request, lambda: filled.change(1, **change))


@pytest.mark.parametrize("tags_match", ["any", "all"])
def test_an_item_that_loses_its_tag_before_the_join_is_left_out(filled, tags_match):
    def lose_tag() -> None:
        with filled.database.write() as session:
            session.execute(delete(TagRow).where(TagRow.tag == "a"))

    request = SearchRequest("x", tags=("a",), tags_match=tags_match)
    assert filled.joined(request) == FIRST
    assert filled.joined(request, lose_tag) == set()


@pytest.mark.parametrize("with_own_tags", [False, True])
@pytest.mark.parametrize("tags_match", ["any", "all"])
def test_the_final_look_on_sqlite_never_lists_all_items_with_a_tag(
    tmp_path: Path, tags_match: str, with_own_tags: bool
) -> None:
    """That costs a search over 5,000 such items six times its rows."""
    library = Library(Database(f"sqlite:///{tmp_path / 'library.db'}"))
    library.database.migrate()
    library.add(library.add_item(tags=("a",)), "one.md")
    if with_own_tags:
        with library.database.write() as session:
            session.add(DocumentTagRow(document_id=1, tag="a"))
    statements: list[tuple[str, Any]] = []

    @event.listens_for(library.database._engine, "before_cursor_execute")
    def note(_1: Any, _2: Any, sql: str, parameters: Any, _3: Any, _4: Any) -> None:
        statements.append((sql, parameters))

    assert library.joined(SearchRequest("x", tags=("a", "b"), tags_match="any")) == {"one.md"}
    library.joined(SearchRequest("x", tags=("a", "b"), tags_match=tags_match))
    sql, parameters = statements[-1]
    assert "FROM chunks" in sql
    with library.database.snapshot() as connection:
        plan = [
            row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters)
        ]
    of_tags = [step for step in plan if "item_tags" in step]
    assert of_tags
    assert all("item_id=?" in step for step in of_tags), plan
    library.database.close()


@pytest.mark.parametrize("paths", [("'; DROP TABLE documents; --",), ("%",), ("_",), ("\\*",)])
def test_signs_of_sql_are_just_text_in_a_glob(filled, paths):
    assert filled.allowed(paths=paths) == set()
    assert filled.allowed() == ALL


def test_a_documents_key_is_a_path_whatever_signs_and_accents_it_holds(library: Library) -> None:
    item, key = library.add_item(), "gro\u00df/[id]/a\u0308.md"
    for other in (key, "gro\u00df/id/b.md"):
        library.add(item, other)
    assert library.allowed(paths=(key,)) == {key}
    assert library.allowed(paths=("gro\u00df/[id]/\u00e4.md",)) == {key}
    assert library.allowed(paths=("gro\u00df/**/\u00e4.*",)) == {key}


@pytest.mark.parametrize("hours", [14, -14])
def test_moments_at_the_ends_of_the_calendar_are_bounds_like_others(filled, hours):
    zone = timezone(hours * HOUR)
    earliest, latest = datetime.min.replace(tzinfo=zone), datetime.max.replace(tzinfo=zone)
    assert filled.allowed(indexed_after=earliest, indexed_before=latest) == ALL
    assert filled.allowed(indexed_after=latest) == filled.allowed(indexed_before=earliest) == set()


# What is remembered ----------------------------------------------------------------------------


def test_a_remembered_filter_is_forgotten_as_soon_as_anything_is_written(library: Library) -> None:
    resolver = ScopeResolver(library.database)
    first = library.add_item(tags=("a",))
    library.add_item()
    request = SearchRequest("x", tags=("a",))
    assert resolver.resolve(request).scope.item_ids == {first}
    assert resolver.resolve(request) is resolver.resolve(request)
    second = library.add_item(tags=("a",))
    assert resolver.resolve(request).scope.item_ids == {first, second}
    library.change(first, status="archived")
    assert resolver.resolve(request).scope.item_ids == {second}


class InterruptedDatabase(Database):
    """Does something else, once, when it has been looked at and the answer is not used yet."""

    meanwhile: Callable[[], object] | None = None

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        with super().snapshot() as connection:
            yield connection
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()


def test_what_is_outdated_when_it_is_found_is_not_remembered(
    tmp_path: Path, databases: Databases
) -> None:
    database = InterruptedDatabase(databases.new(tmp_path, "library.db"))
    library, resolver = Library(database), ScopeResolver(database)
    tagged = {library.add_item(tags=("a",))}
    library.add_item()
    request = SearchRequest("x", tags=("a",))

    def write_and_ask() -> None:
        tagged.add(library.add_item(tags=("a",)))
        resolver.resolve(dataclasses.replace(request, category="another"))

    database.meanwhile = write_and_ask
    resolver.resolve(request)
    assert resolver.resolve(request).scope.item_ids == tagged
    database.close()


def test_what_another_process_writes_is_seen_as_well(library: Library) -> None:
    resolver = ScopeResolver(library.database)
    item = library.add_item(tags=("a",))
    library.add_item()
    request = SearchRequest("x", tags=("a",))
    assert resolver.resolve(request).scope.item_ids == {item}
    other = create_engine(library.database._engine.url)
    with other.begin() as connection:
        connection.execute(text("DELETE FROM item_tags"))
    other.dispose()
    assert resolver.resolve(request).scope.item_ids == set()


def test_different_filters_are_not_taken_for_each_other(library: Library) -> None:
    resolver = ScopeResolver(library.database)
    items = [library.add_item(tags=(f"t{n}",)) for n in range(REMEMBERED_FILTERS + 2)]
    for _ in range(2):
        for number, item in enumerate(items):
            request = SearchRequest("x", tags=(f"t{number}",))
            assert resolver.resolve(request).scope.item_ids == {item}


def test_every_field_of_a_request_is_known_to_filter_or_not_to() -> None:
    filter_nothing = {
        "query", "n_results", "mode", "fusion", "dense_depth", "lexical_depth", "min_score",
        "max_tokens", "context_chunks", "group_by", "ranking", "highlight", "explain",
    }  # fmt: skip
    assert {one.name for one in fields(SearchRequest)} == filter_nothing | set(FILTERS)


def test_a_filter_in_use_is_remembered_longer_than_others(library: Library) -> None:
    resolver = ScopeResolver(library.database)
    used = SearchRequest("x", tags=("used",))
    first = resolver.resolve(used)
    for number in range(2 * REMEMBERED_FILTERS):
        resolver.resolve(SearchRequest("x", tags=(f"other {number}",)))
        assert resolver.resolve(used) is first
