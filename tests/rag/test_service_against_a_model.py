"""Any sequence of operations, restarts and crashes: searches show what a simple model shows."""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.container import Container
from app.jobs.kinds import INDEX_ALL_JOB, index_all_arguments
from app.knowledge.items import ItemDraft
from app.search.requests import Mode, SearchRequest
from app.settings import Settings
from tests.databases import Databases
from tests.fakes import FakeEmbedder

CATEGORIES = (None, "A", "A/B", "C")
CHANGES = st.dictionaries(
    st.sampled_from(("one.md", "two.md", "sub/three.md")), st.integers(0, 4), min_size=1
)
"""Files and their paragraphs (1 to 3 chunks); without any, the file is deleted."""


@dataclass
class Item:
    """What the world knows of an item."""

    folder: Path
    category: str | None
    archived: bool = False
    files: dict[str, str] = field(default_factory=dict)
    """What lies in its folder now."""
    shown: dict[str, str] = field(default_factory=dict)
    """What searches must show: the files as they were when it was indexed last."""


class Service(RuleBasedStateMachine):
    """The real service on real SQL and tantivy, beside plain dictionaries."""

    databases: Databases
    vector_index = "exact"

    @initialize()
    def open(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="groundwork-model-"))
        self.lives = 0
        self.texts = 0
        self.items: dict[int, Item] = {}
        self.embedder = FakeEmbedder()
        data_dir = self.root / "data-0"
        data_dir.mkdir()
        self.mark = self.databases.mark()
        self.database_url = self.databases.for_service(data_dir)
        self.container = self._opened(data_dir)

    def teardown(self) -> None:
        if hasattr(self, "container"):
            self.container.close()
            self.databases.drop_since(self.mark)
            shutil.rmtree(self.root)

    def _opened(self, data_dir: Path) -> Container:
        (self.root / "sources").mkdir(exist_ok=True)
        settings = Settings(
            _env_file=None,
            data_dir=data_dir,
            database_url=self.database_url,
            source_roots=[self.root / "sources"],
            vector_index=self.vector_index,
            chunk_size=200,
            overlap=40,
            index_care_interval_seconds=0,
        )
        container = Container.open(settings, embedder=self.embedder, run_jobs=False)
        container.settle()
        return container

    def _chosen(self, number: int) -> tuple[int, Item]:
        return sorted(self.items.items())[number % len(self.items)]

    # What people do ------------------------------------------------------------------------

    @precondition(lambda self: len(self.items) < 3)
    @rule(category=st.sampled_from(CATEGORIES))
    def create(self, category: str | None) -> None:
        folder = self.root / "sources" / f"folder-{len(list((self.root / 'sources').iterdir()))}"
        (folder / "sub").mkdir(parents=True)
        draft = ItemDraft(folder.name, str(folder), "folder", category=category)
        self.items[self.container.knowledge.create(draft).id] = Item(folder, category)

    @precondition(lambda self: self.items)
    @rule(number=st.integers(0, 2), changes=CHANGES, index=st.booleans(), force=st.booleans())
    def change_files(self, number: int, changes: dict[str, int], index: bool, force: bool) -> None:
        """Write and delete files, and perhaps have the item indexed."""
        item_id, item = self._chosen(number)
        for name, paragraphs in changes.items():
            if paragraphs:
                self._write(item, name, paragraphs)
            elif item.files.pop(name, None) is not None:
                (item.folder / name).unlink()
        if index:
            result = self.container.indexer.index(item_id, force=force)
            assert result.success == bool(item.files), result.error
            item.shown = dict(item.files)

    def _write(self, item: Item, name: str, paragraphs: int) -> None:
        self.texts += 1
        text = "\n\n".join(
            f"harbour text{self.texts} of paragraph {n} " + "with some more words " * 6
            for n in range(paragraphs)
        )
        (item.folder / name).write_text(text)
        item.files[name] = text

    @rule()
    def index_all(self) -> None:
        outcome = self.container.run_job(
            INDEX_ALL_JOB, index_all_arguments(None, force=False), lambda _: None
        )
        assert outcome.state == "succeeded", outcome.error
        for item in self.items.values():
            if not item.archived:
                item.shown = dict(item.files)

    @precondition(lambda self: self.items)
    @rule(number=st.integers(0, 2))
    def take_out_of_the_index(self, number: int) -> None:
        item_id, item = self._chosen(number)
        assert self.container.indexer.remove(item_id) == bool(item.shown)
        item.shown = {}

    @precondition(lambda self: self.items)
    @rule(number=st.integers(0, 2), category=st.sampled_from(CATEGORIES), tag=st.booleans())
    def patch(self, number: int, category: str | None, tag: bool) -> None:
        item_id, item = self._chosen(number)
        changes = {"category": category, "title": f"Title {self.texts}"}
        self.container.knowledge.update(item_id, changes | ({"tags": ("t",)} if tag else {}))
        item.category = category

    @precondition(lambda self: self.items)
    @rule(number=st.integers(0, 2))
    def archive_or_bring_back(self, number: int) -> None:
        item_id, item = self._chosen(number)
        wish = "pending" if item.archived else "archived"
        self.container.knowledge.update(item_id, {"status": wish})
        item.archived = not item.archived

    @precondition(lambda self: self.items)
    @rule(number=st.integers(0, 2))
    def delete(self, number: int) -> None:
        item_id, _ = self._chosen(number)
        self.container.knowledge.delete(item_id)
        del self.items[item_id]

    # What becomes of the process -----------------------------------------------------------

    @rule(event=st.sampled_from(("restart", "crash", "compare", "verify", "compact")))
    def happens(self, event: str) -> None:
        getattr(self, f"_{event}")()

    def _restart(self) -> None:
        self.container.close()
        self.container = self._opened(self.container.settings.data_dir)

    def _crash(self) -> None:
        """The data directory as a kill at this moment leaves it goes on in a new process."""
        old = self.container.settings.data_dir
        self.lives += 1
        new = self.root / f"data-{self.lives}"
        copy_as_it_is(old, new)
        self.container.close()
        shutil.rmtree(old)
        self.container = self._opened(new)

    def _compare(self) -> None:
        assert self.container.parts.caretaker.walk(mend=True).drift == []

    def _verify(self) -> None:
        assert self.container.maintenance.verify().problems == ()

    def _compact(self) -> None:
        self.container.compaction.run()

    # What must be visible ------------------------------------------------------------------

    @invariant()
    def searches_show_what_the_model_shows(self) -> None:
        if not hasattr(self, "container"):
            return
        visible = {
            (item_id, name): text
            for item_id, item in self.items.items()
            for name, text in item.shown.items()
            if not item.archived
        }
        for mode in ("dense", "hybrid", "lexical"):
            assert self._found(mode) == visible
        for category in ("A", "C"):
            of_category = {
                key: text
                for key, text in visible.items()
                if (self.items[key[0]].category or "").split("/")[0] == category
            }
            assert self._found("hybrid", category=category) == of_category
        if self.items:
            item_id, _ = self._chosen(self.texts)
            of_item = {key: text for key, text in visible.items() if key[0] == item_id}
            assert self._found("dense", knowledge_ids=(item_id,)) == of_item

    def _found(self, mode: Mode, **wanted: object) -> dict[tuple[int, str], str]:
        """The documents that a search for a word of all of them shows, put together again."""
        request = SearchRequest("harbour", n_results=100, mode=mode, **wanted)  # type: ignore[arg-type]
        answer = self.container.searcher.search(request)
        assert answer.degraded == ()
        documents: dict[tuple[int, str], str] = {}
        ids = [result.chunk_id for result in answer.results]
        assert len(set(ids)) == len(ids)
        for result in sorted(answer.results, key=lambda each: each.start_index):
            folder = f"/{self.items[result.knowledge_id].folder.name}/"
            key = (result.knowledge_id, result.document_uri.partition(folder)[2])
            text = documents.get(key, "")
            assert result.start_index <= len(text) + 2, "a chunk is missing"
            documents[key] = text[: result.start_index].ljust(result.start_index, "\n") + (
                result.content
            )
        return documents


def copy_as_it_is(old: Path, new: Path) -> None:
    """Copy a data directory in use; what vanishes meanwhile (merged segments) is not missed."""

    def copy(source: str, target: str) -> str:
        if Path(source).name != "stopped-cleanly" and Path(source).exists():
            shutil.copy2(source, target)
        return target

    try:
        shutil.copytree(old, new, copy_function=copy)
    except shutil.Error:
        assert new.exists()


def run(machine: type[Service], databases: Databases, examples: int, steps: int) -> None:
    """Run a machine; `HYPOTHESIS_SEED` in the failure's message repeats it."""
    chosen = type("Chosen", (machine,), {"databases": databases})
    run_state_machine_as_test(
        chosen,
        settings=hypothesis_settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize="CHAOS_SEED" not in os.environ,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_searches_show_what_the_model_shows(databases: Databases):
    run(Service, databases, examples=8, steps=25)


class ServiceOnChroma(Service):
    vector_index = "chroma"


@pytest.mark.slow
def test_searches_show_what_the_model_shows_on_chroma_and_for_long(databases: Databases):
    run(ServiceOnChroma, databases, examples=15, steps=40)
    run(Service, databases, examples=150, steps=60)
