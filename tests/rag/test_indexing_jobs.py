"""What the worker does for a job that indexes all items, and what is done to these meanwhile."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from app.container import Container
from app.jobs.kinds import INDEX_ALL_JOB, index_all_arguments
from app.jobs.records import Outcome
from app.knowledge.items import ItemDraft
from app.protocols import Vectors
from tests.fakes import FakeEmbedder


class InterruptedEmbedder(FakeEmbedder):
    """Lets something happen while it embeds."""

    happens: Callable[[], object] = staticmethod(lambda: None)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.happens()
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> InterruptedEmbedder:
    return InterruptedEmbedder()


@pytest.fixture
def items(container: Container, source_root: Path) -> list[int]:
    """Three items; the first has changed since they were indexed."""
    created = []
    for name in ("one", "two", "three"):
        path = source_root / f"{name}.md"
        path.write_text(f"# Harbour {name}\n\nThe quay of harbour {name} is made of granite.\n")
        created.append(container.knowledge.create(ItemDraft(name, str(path), "markdown")).id)
    assert index_all(container).state == "succeeded"
    (source_root / "one.md").write_text("# Harbour one\n\nIts quay is made of oak by now.\n")
    return created


def index_all(container: Container) -> Outcome:
    arguments = index_all_arguments(None, force=False)
    return container.run_job(INDEX_ALL_JOB, arguments, lambda _: None)


def test_what_is_taken_out_while_all_items_are_indexed_stays_out(
    container: Container, embedder: InterruptedEmbedder, items: list[int]
) -> None:
    embedder.happens = lambda: container.indexer.remove(items[1])
    outcome = index_all(container)
    assert outcome.state == "succeeded"
    assert outcome.result is not None
    assert [each["knowledge_id"] for each in outcome.result["results"]] == [items[0], items[2]]
    taken_out = container.knowledge.get(items[1])
    assert (taken_out.status, taken_out.chunk_count) == ("pending", 0)


def test_what_was_taken_out_before_is_indexed_with_all_the_others(
    container: Container, embedder: InterruptedEmbedder, items: list[int]
) -> None:
    embedder.happens = lambda: container.indexer.remove(items[1])
    index_all(container)
    embedder.happens = lambda: None
    assert index_all(container).state == "succeeded"
    assert container.knowledge.get(items[1]).status == "active"
