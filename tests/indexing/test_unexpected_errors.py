"""A document that shows a mistake of ours costs itself: neither its folder nor other items."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.container import Container
from app.indexing.embedding import GROUP_CHUNKS
from app.knowledge import history_queries
from app.knowledge.history_records import IndexingRun
from app.protocols import TextChunk, Vectors
from app.surviving import WENT_WRONG
from tests.fakes import FakeEmbedder
from tests.indexing.conftest import AddItem, Found, Index
from tests.panics import panic

POISON, RIDDLE, PANIC = "poison", "riddle", "panic"


class MistakenEmbedder(FakeEmbedder):
    """Fails at texts with a certain word, as no model is expected to."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if any(RIDDLE in text for text in texts):
            raise ValueError("a secret of the model")
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> MistakenEmbedder:
    return MistakenEmbedder()


@pytest.fixture(autouse=True)
def mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splitting fails at texts with a certain word, as no code of ours is meant to."""
    split = RecursiveTextSplitter.split_text

    def failing(
        self: RecursiveTextSplitter,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        name: str = "",
    ) -> list[TextChunk]:
        if POISON in content:
            raise ValueError("a secret of the inside")
        if PANIC in content:
            panic()
        return split(self, content, metadata, name=name)

    monkeypatch.setattr(RecursiveTextSplitter, "split_text", failing)


@pytest.mark.parametrize(("word", "reason"), [(POISON, "ValueError"), (PANIC, "PanicException")])
def test_the_rest_of_a_folder_is_taken_in_and_what_was_known_stays(
    source_root: Path, add_item: AddItem, index: Index, found: Found, word: str, reason: str
) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (source_root / name).write_text(f"Harbour {name}.\n")
    item = add_item(source_root)
    assert index(item).success
    (source_root / "b.md").write_text(f"Harbour {word}.\n")
    (source_root / "c.md").write_text("Harbour anew.\n")
    result = index(item)
    (note,) = result.skipped
    assert note.uri.endswith("b.md")
    assert reason in note.reason
    assert "secret" not in note.reason
    assert sorted(found("harbour")) == ["Harbour a.md.\n", "Harbour anew.\n", "Harbour b.md.\n"]


def test_an_item_shows_the_error_and_the_others_are_indexed(
    source_root: Path, add_item: AddItem, container: Container, found: Found
) -> None:
    (source_root / "bad.md").write_text(f"Harbour {POISON}.\n")
    (source_root / "good.md").write_text("Harbour of all.\n")
    bad, good = (add_item(source_root / name, "markdown") for name in ("bad.md", "good.md"))
    results = [container.indexer.index(item.id) for item in (bad, good)]
    assert [result.success for result in results] == [False, True]
    stored = container.knowledge.get(bad.id)
    assert stored.status == "error"
    assert "mistake on our side" in (results[0].error or "")
    assert found("harbour") == ["Harbour of all.\n"]


def test_a_run_that_fails_as_nobody_expected_leaves_its_error_on_the_item(
    source_root: Path,
    add_item: AddItem,
    container: Container,
    client: TestClient,
    found: Found,
    caplog: pytest.LogCaptureFixture,
) -> None:
    page = source_root / "page.md"
    page.write_text("Harbour of old.\n")
    item = add_item(page, "markdown")
    assert client.post(f"/api/v1/rag/index/{item.id}").json()["success"]
    page.write_text(f"Harbour and {RIDDLE}.\n")
    answer = client.post(f"/api/v1/rag/index/{item.id}").json()
    assert (answer["success"], answer["error"]) == (False, WENT_WRONG)
    stored = container.knowledge.get(item.id)
    assert (stored.status, stored.error) == ("active", WENT_WRONG)
    assert "a secret of the model" in caplog.text
    assert found("harbour") == ["Harbour of old.\n"]
    page.write_text("Harbour anew.\n")
    assert client.post(f"/api/v1/rag/index/{item.id}").json()["success"]
    assert container.knowledge.get(item.id).error is None


def test_an_item_whose_run_cannot_be_noted_fails_alone_and_says_so(
    source_root: Path,
    add_item: AddItem,
    container: Container,
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = [source_root / name for name in ("a.md", "b.md", "c.md")]
    for page in pages:
        page.write_text("Harbour.\n")
    items = [add_item(page, "markdown").id for page in pages]
    add_run = history_queries.add_run

    def failing(session: Session, item_id: int, run: IndexingRun) -> None:
        if item_id == items[1]:
            raise ValueError("a secret of the history")
        add_run(session, item_id, run)

    monkeypatch.setattr(history_queries, "add_run", failing)
    answer = client.post("/api/v1/rag/index-all").json()
    assert [result["error"] for result in answer["results"]] == [None, WENT_WRONG, None]
    assert [container.knowledge.get(id_).error for id_ in items] == [None, WENT_WRONG, None]
    pages[1].write_text("Harbour anew.\n")
    alone = client.post(f"/api/v1/rag/index/{items[1]}")
    assert (alone.status_code, alone.json()["error"]) == (200, WENT_WRONG)


def test_the_history_says_that_it_failed_and_what_was_stored_before(
    source_root: Path, add_item: AddItem, client: TestClient
) -> None:
    for number in range(GROUP_CHUNKS + 1):
        (source_root / f"{number:04}.md").write_text(f"Harbour {number}.\n")
    (source_root / "last.md").write_text(f"Harbour and {RIDDLE}.\n")
    item = add_item(source_root)
    assert client.post(f"/api/v1/rag/index/{item.id}").json()["error"] == WENT_WRONG
    (run,) = client.get(f"/api/v1/knowledge/{item.id}/history").json()["items"]
    assert (run["outcome"], run["error"]) == ("failed", WENT_WRONG)
    assert run["documents_added"] == GROUP_CHUNKS
