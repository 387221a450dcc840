"""A document that shows a mistake of ours costs itself: neither its folder nor other items."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.container import Container
from app.protocols import TextChunk
from tests.indexing.conftest import AddItem, Found, Index

POISON = "poison"


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
        return split(self, content, metadata, name=name)

    monkeypatch.setattr(RecursiveTextSplitter, "split_text", failing)


def test_the_rest_of_a_folder_is_taken_in_and_what_was_known_stays(
    source_root: Path, add_item: AddItem, index: Index, found: Found
) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (source_root / name).write_text(f"Harbour {name}.\n")
    item = add_item(source_root)
    assert index(item).success
    (source_root / "b.md").write_text(f"Harbour {POISON}.\n")
    (source_root / "c.md").write_text("Harbour anew.\n")
    result = index(item)
    (note,) = result.skipped
    assert note.uri.endswith("b.md")
    assert "ValueError" in note.reason
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
