"""The history of items over HTTP, and what is kept of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.database import Database
from app.knowledge.history_queries import KEPT_RUNS, add_run
from app.knowledge.history_records import IndexingRun
from app.models import IndexingRunRow
from tests.web.problem_checks import assert_problem

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def run(minute: int, outcome: str = "changed", **fields: Any) -> IndexingRun:
    begun = NOON + timedelta(minutes=minute)
    return IndexingRun(outcome, begun, begun + timedelta(seconds=1), **fields)


def note(database: Database, item_id: int, *runs: IndexingRun) -> None:
    for one in runs:
        with database.write() as session:
            add_run(session, item_id, one)


def history(client: TestClient, item_id: int, **query: Any) -> dict[str, Any]:
    response = client.get(f"/api/v1/knowledge/{item_id}/history", params=query)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_a_new_item_has_no_history_and_an_unknown_one_is_404(client: TestClient, make_item) -> None:
    item = make_item()
    assert history(client, item["id"]) == {"items": [], "next_cursor": None}
    unknown = client.get(f"/api/v1/knowledge/{item['id'] + 1}/history")
    assert_problem(unknown, 404, "not-found")


def test_a_run_is_answered_whole(client: TestClient, database: Database, make_item) -> None:
    item = make_item()
    counts = {
        "documents_added": 2,
        "documents_changed": 1,
        "documents_removed": 1,
        "documents_unchanged": 5,
        "documents_skipped": 3,
        "chunks_added": 7,
        "chunks_removed": 4,
    }
    names = {"added": ("a.md",), "changed": ("b.md",), "removed": ("c.md",)}
    note(database, item["id"], run(0, **counts, **names))
    (answered,) = history(client, item["id"])["items"]
    assert answered.pop("id") > 0
    assert answered == {
        "outcome": "changed",
        "error": None,
        "runs": 1,
        "started_at": "2026-01-01T12:00:00Z",
        "finished_at": "2026-01-01T12:00:01Z",
        **counts,
        **{name: list(keys) for name, keys in names.items()},
        "truncated": True,  # two came, one is named
    }


def test_runs_that_change_nothing_and_end_alike_share_an_entry(
    client: TestClient, database: Database, make_item
) -> None:
    item = make_item()
    note(
        database,
        item["id"],
        run(0, documents_added=1, added=("a.md",)),
        run(1, "unchanged", documents_unchanged=1),
        run(2, "unchanged", documents_unchanged=1, documents_skipped=2),
        run(3, "failed", error="gone"),
        run(4, "failed", error="gone"),
        run(5, "failed", error="something else"),
        run(6, "failed", error="something else", documents_removed=1, removed=("a.md",)),
        run(7, "failed", error="something else"),
    )
    entries = history(client, item["id"])["items"]
    assert [(entry["outcome"], entry["error"], entry["runs"]) for entry in entries] == [
        ("failed", "something else", 1),
        ("failed", "something else", 1),
        ("failed", "something else", 1),
        ("failed", "gone", 2),
        ("unchanged", None, 2),
        ("changed", None, 1),
    ]
    folded = entries[4]
    assert folded["started_at"] == "2026-01-01T12:01:00Z"
    assert folded["finished_at"] == "2026-01-01T12:02:01Z"
    assert folded["documents_skipped"] == 2


def test_pages_follow_one_another_from_the_newest_to_the_oldest(
    client: TestClient, database: Database, make_item
) -> None:
    item, other = make_item(), make_item()
    note(database, other["id"], run(0, documents_added=1))
    note(database, item["id"], *(run(n, documents_added=n + 1) for n in range(7)))
    seen, cursor = [], {}
    while True:
        page = history(client, item["id"], limit=3, **cursor)
        seen += [entry["documents_added"] for entry in page["items"]]
        if page["next_cursor"] is None:
            break
        assert len(page["items"]) == 3
        cursor = {"cursor": page["next_cursor"]}
        refused = client.get(f"/api/v1/knowledge/{other['id']}/history", params=cursor)
        assert_problem(refused, 422, "invalid-request", "#/cursor")
    assert seen == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    "query",
    [{"limit": 0}, {"limit": 201}, {"limit": "1.0"}, {"cursor": "x"}, {"page": 2}],
    ids=["limit 0", "limit 201", "limit 1.0", "cursor", "unknown"],
)
def test_a_bad_page_is_refused(client: TestClient, make_item, query) -> None:
    response = client.get(f"/api/v1/knowledge/{make_item()['id']}/history", params=query)
    assert_problem(response, 422, "invalid-request")


def test_only_the_newest_entries_of_an_item_are_kept(database: Database, make_item) -> None:
    item, other = make_item(), make_item()
    note(database, other["id"], run(0, documents_added=1))
    note(database, item["id"], *(run(n, documents_added=1) for n in range(KEPT_RUNS + 5)))
    counted = select(IndexingRunRow.item_id, func.count()).group_by(IndexingRunRow.item_id)
    with database.read() as session:
        counts = dict(tuple(row) for row in session.execute(counted))
    assert counts == {other["id"]: 1, item["id"]: KEPT_RUNS}


def test_the_history_goes_with_its_item(client: TestClient, database: Database, make_item) -> None:
    item = make_item()
    note(database, item["id"], run(0, documents_added=1, added=("secret.md",)))
    assert client.delete(f"/api/v1/knowledge/{item['id']}").status_code == 204
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(IndexingRunRow)) == 0
    assert_problem(client.get(f"/api/v1/knowledge/{item['id']}/history"), 404, "not-found")
