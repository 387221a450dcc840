"""The whole: real files, the system's own news of changes, real jobs; only the model is fake."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from app.clock import now
from app.container import Container
from app.following import queries
from app.following.schedule import LOCAL_SPREAD_SECONDS
from app.knowledge.items import ItemDraft, KnowledgeItem
from app.models import ItemRow
from app.search.requests import SearchRequest
from app.settings import Settings
from tests.fakes import FakeEmbedder

LONGEST_SECONDS = 30.0
"""On a machine that is busy with other things; it takes half a second otherwise."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"disable_auto_indexing": False})


@pytest.fixture
def docs(source_root: Path) -> Path:
    folder = source_root / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("A lighthouse.")
    return folder


@pytest.fixture
def visible(container: Container) -> Callable[..., bool]:
    """Whether a word becomes searchable, or stops being so, before long."""

    def look(word: str, *, wanted: bool = True) -> bool:
        deadline = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < deadline:
            answer = container.searcher.search(SearchRequest(word, n_results=50, mode="lexical"))
            if any(word in result.content for result in answer.results) == wanted:
                return True
        return False

    return look


def follow(container: Container, path: Path, document_type: str = "folder") -> KnowledgeItem:
    item = container.knowledge.create(ItemDraft(path.name, str(path), document_type))
    assert container.indexer.index(item.id).success
    return item


def let_jobs_end(container: Container) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while {job.state for job in container.jobs.list(None, None, 100)} & {"queued", "running"}:
        assert time.monotonic() < deadline


def test_a_changed_a_new_and_a_deleted_file_are_followed(
    container: Container, docs: Path, visible
) -> None:
    follow(container, docs)
    (docs / "a.md").write_text("A windmill.")
    assert visible("windmill")
    assert visible("lighthouse", wanted=False)
    (docs / "new" / "deep").mkdir(parents=True)
    (docs / "new" / "deep" / "b.md").write_text("A giraffe.")
    assert visible("giraffe")
    (docs / "new" / "deep" / "b.md").write_text("An elephant.")
    assert visible("elephant")
    shutil.rmtree(docs / "new")
    assert visible("elephant", wanted=False)
    assert visible("windmill")


def test_a_single_file_is_followed_however_it_is_saved(
    container: Container, docs: Path, visible
) -> None:
    follow(container, docs / "a.md", "markdown")
    (docs / "a.md.tmp").write_text("A windmill.")
    (docs / "a.md.tmp").replace(docs / "a.md")  # as editors do
    assert visible("windmill")


def test_a_link_that_leads_elsewhere_is_followed_there(
    container: Container, docs: Path, source_root: Path, visible
) -> None:
    link, new = source_root / "current", source_root / "current.new"
    link.symlink_to(docs)
    follow(container, link)
    shutil.copytree(docs, source_root / "v2")
    (source_root / "v2" / "a.md").write_text("A windmill.")
    new.symlink_to("v2")
    new.replace(link)  # as deployments do
    assert visible("windmill")
    assert visible("lighthouse", wanted=False)
    (source_root / "v2" / "a.md").write_text("A giraffe.")
    assert visible("giraffe")


def test_a_folder_that_goes_away_loses_nothing_and_is_followed_when_it_is_back(
    container: Container, docs: Path, source_root: Path, visible
) -> None:
    item = follow(container, docs)
    docs.rename(source_root / "away")
    deadline = time.monotonic() + LONGEST_SECONDS
    while container.knowledge.get(item.id).error is None:
        assert time.monotonic() < deadline
    assert visible("lighthouse")
    (source_root / "away" / "b.md").write_text("A windmill.")
    (source_root / "away").rename(docs)
    assert visible("windmill")
    while container.knowledge.get(item.id).error is not None:
        assert time.monotonic() < deadline + LONGEST_SECONDS


def test_what_changed_while_the_service_was_off_is_found_after_its_start(
    container: Container, open_container, docs: Path
) -> None:
    container.knowledge.update(follow(container, docs).id, {"refresh_interval": 1})
    container.close()
    (docs / "a.md").write_text("A windmill.")
    again = open_container()
    deadline = time.monotonic() + LONGEST_SECONDS
    while not again.searcher.search(SearchRequest("windmill", mode="lexical")).results:
        assert time.monotonic() < deadline


def test_whatever_their_interval_watched_items_are_looked_at_soon_after_a_start(
    container: Container, open_container, docs: Path
) -> None:
    container.knowledge.update(follow(container, docs).id, {"refresh_interval": 86_400})
    container.close()
    again = open_container()
    deadline = time.monotonic() + LONGEST_SECONDS
    while seconds_until_due(again) > LOCAL_SPREAD_SECONDS:
        assert time.monotonic() < deadline


def seconds_until_due(container: Container) -> float:
    """Of the one item that there is."""
    with container.database.read() as session:
        due = session.scalars(select(ItemRow.next_refresh_at)).one()
    assert due is not None
    return (due - now()).total_seconds()


def test_what_was_taken_out_of_the_index_is_not_promised_to_be_indexed(
    container: Container, docs: Path, visible
) -> None:
    """Its files may have changed a moment before; a job that had begun by then does nothing."""
    item = follow(container, docs)

    def promise() -> object:
        wanted = {"knowledge_id": item.id, "force": False}
        return container.jobs.add_if(
            lambda session: queries.is_followed(session, item.id), "index", wanted
        )

    assert promise() is not None
    assert container.indexer.remove(item.id)
    assert promise() is None
    let_jobs_end(container)
    assert visible("lighthouse", wanted=False)


def test_a_file_that_changes_right_before_its_item_is_taken_out_does_not_bring_it_back(
    container: Container, docs: Path
) -> None:
    for number in range(5):
        item = follow(container, docs)
        (docs / "a.md").write_text(f"A windmill, number {number}.")
        container.indexer.remove(item.id)
        threading.Event().wait(0.6)  # what the system tells of it comes after a moment
        assert container.knowledge.get(item.id).status == "pending"
        assert not container.searcher.search(SearchRequest("windmill", mode="lexical")).results


def test_what_may_lie_on_the_disk_is_watched_and_web_addresses_are_not(
    container: Container, docs: Path
) -> None:
    folder = follow(container, docs)
    for uri in ("http://example.org/", "https://example.org/a"):
        container.knowledge.create(ItemDraft(title=uri, uri=uri, document_type="website"))
    with container.database.write() as session:
        session.execute(update(ItemRow).values(status="active"))
        session.execute(
            insert(ItemRow),
            [
                {
                    "title": uri,
                    "uri": uri,
                    "document_type": "markdown",
                    "status": "active",
                    "collection": "knowledge_base",
                }
                for uri in ("https.md", "http:/a.md", "file:///http://a.md")
            ],
        )
    with container.database.read() as session:
        watched = [item.uri for item in queries.watchable_items(session)]
    assert watched == [folder.uri, "https.md", "http:/a.md", "file:///http://a.md"]


def test_an_item_that_refuses_it_is_not_followed(
    container: Container, docs: Path, source_root: Path, visible
) -> None:
    refusing = follow(container, docs)
    container.knowledge.update(refusing.id, {"refresh_interval": 0})
    let_jobs_end(container)  # it was followed for a moment
    other = source_root / "other"
    other.mkdir()
    (other / "o.md").write_text("A tower.")
    follow(container, other)
    (docs / "a.md").write_text("A windmill.")
    (other / "o.md").write_text("A giraffe.")
    assert visible("giraffe")  # so the watch has seen both by now
    assert visible("lighthouse")


def test_a_pending_item_waits_until_somebody_has_it_indexed(
    container: Container, docs: Path, source_root: Path, visible
) -> None:
    pending = container.knowledge.create(ItemDraft("Docs", str(docs), "folder"))
    other = source_root / "other"
    other.mkdir()
    (other / "o.md").write_text("A tower.")
    follow(container, other)
    (docs / "a.md").write_text("A windmill.")
    (other / "o.md").write_text("A giraffe.")
    assert visible("giraffe")
    assert container.knowledge.get(pending.id).status == "pending"


@pytest.fixture
def silent(settings: Settings, embedder: FakeEmbedder) -> Iterator[Container]:
    without = settings.model_copy(update={"disable_auto_indexing": True})
    container = Container.open(without, embedder=embedder)
    yield container
    container.close()


def test_without_auto_indexing_there_is_neither_a_schedule_nor_a_watch(silent: Container) -> None:
    names = {thread.name for thread in threading.enumerate()}
    assert not names & {"refresh-schedule", "source-watch"}


def test_stopping_ends_both_threads(container: Container) -> None:
    container.close()
    names = {thread.name for thread in threading.enumerate()}
    assert not names & {"refresh-schedule", "source-watch"}
