"""What the worker does for a job that indexes all items, and what is done to these meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from app.clock import now
from app.container import Container
from app.jobs import claim_queries
from app.jobs.kinds import INDEX_ALL_JOB, index_all_arguments
from app.jobs.records import Job, Outcome
from app.jobs.worker import JobWorker
from app.knowledge.items import ItemDraft
from app.models import ItemRow, JobRow
from app.protocols import Vectors
from app.settings import Settings
from tests.fakes import FakeEmbedder

ALL = index_all_arguments(None, force=False)


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
    return container.run_job(INDEX_ALL_JOB, ALL, lambda _: None)


@pytest.fixture
def open_idle(settings: Settings, embedder: FakeEmbedder) -> Iterator[Callable[[], Container]]:
    """Opens the service without its workers; call it again after `close` to restart."""
    opened: list[Container] = []

    def open_one() -> Container:
        opened.append(Container.open(settings, embedder=embedder, run_jobs=False))
        return opened[-1]

    yield open_one
    for container in opened:
        container.close()


def begin_anew(container: Container, job: Job) -> Job:
    """What the workers do at a start; gives the job as it ended."""
    with container.database.write() as session:
        claim_queries.requeue_running(session)
    JobWorker(container.database, container.rag.job_handlers(), 1).drain()
    ended = container.jobs.get(job.id)
    assert ended.state == "succeeded"
    return ended


def kill_while_it_runs(container: Container) -> Job:
    """A job of all items as a process leaves it that dies."""
    with container.database.write() as session:
        return claim_queries.add_running_job(session, INDEX_ALL_JOB, ALL)


def leave_queued(container: Container) -> Job:
    return container.jobs.add(INDEX_ALL_JOB, ALL)


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


@pytest.mark.parametrize("left", [kill_while_it_runs, leave_queued])
def test_what_is_taken_out_stays_out_when_the_job_begins_anew_after_a_restart(
    container: Container,
    open_idle: Callable[[], Container],
    items: list[int],
    left: Callable[[Container], Job],
) -> None:
    container.close()
    before = open_idle()
    job = left(before)
    before.indexer.remove(items[1])
    before.close()
    after = open_idle()
    result = begin_anew(after, job).result
    assert result is not None
    assert [each["knowledge_id"] for each in result["results"]] == [items[0], items[2]]
    assert after.knowledge.get(items[1]).status == "pending"


def promise_again(container: Container, job: Job) -> None:
    assert container.jobs.add(INDEX_ALL_JOB, ALL).id == job.id


def cancel_and_retry(container: Container, job: Job) -> None:
    container.jobs.cancel(job.id)
    container.jobs.retry(job.id)


@pytest.mark.parametrize("ask", [promise_again, cancel_and_retry])
def test_who_asks_for_all_items_after_one_was_taken_out_has_it_indexed(
    container: Container,
    open_idle: Callable[[], Container],
    items: list[int],
    ask: Callable[[Container, Job], None],
) -> None:
    container.close()
    idle = open_idle()
    job = leave_queued(idle)
    idle.indexer.remove(items[1])
    ask(idle, job)
    begin_anew(idle, job)
    assert idle.knowledge.get(items[1]).status == "active"


@pytest.fixture(params=["skipped", "warnings", "error"])
def told(
    container: Container, source_root: Path, request: pytest.FixtureRequest
) -> tuple[int, Job]:
    """An item of a folder with something to tell of, and the job that told of that."""
    folder = source_root / "quays"
    folder.mkdir()
    if request.param != "error":
        (folder / "granite.md").write_text("# Granite\n\nThe quay is made of granite.\n")
    odd = b"---\ntitle: [\n---\nOak.\n" if request.param == "warnings" else b"\x00\x01\x02"
    (folder / "secret.md").write_bytes(odd)
    item = container.knowledge.create(ItemDraft("Quays", str(folder), "folder"))
    index_all(container)
    (job, *_) = container.jobs.list(None, None, 10)
    assert job.result is not None
    assert job.progress["documents_skipped"] == (request.param != "warnings")
    assert "secret.md" in str(job.result["results"][-1][request.param])
    assert "secret.md" not in str(job.progress)
    return item.id, job


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "taken out"])
def test_what_a_job_of_all_items_told_of_one_goes_with_it(
    container: Container, items: list[int], told: tuple[int, Job], *, is_deleted: bool
) -> None:
    item_id, job = told
    (container.knowledge.delete if is_deleted else container.indexer.remove)(item_id)
    assert "secret" not in str(container.jobs.list(None, None, 10))
    left = container.jobs.get(job.id).result
    assert left is not None
    assert "secret" not in str(left)
    assert [each["knowledge_id"] for each in left["results"]] == [*items, item_id]
    assert left["chunks_indexed"] == sum(each["chunks_indexed"] for each in left["results"])


def test_an_item_is_left_out_once_however_often_it_is_taken_out(
    container: Container, told: tuple[int, Job]
) -> None:
    item_id, job = told
    for _ in range(2):
        container.indexer.remove(item_id)
    assert "secret" not in str(container.jobs.get(job.id))


def test_what_an_item_that_is_indexed_anew_skipped_before_stays_forgotten(
    container: Container, told: tuple[int, Job]
) -> None:
    item_id, job = told
    container.indexer.remove(item_id)
    container.indexer.index(item_id)
    assert "secret" not in str(container.jobs.get(job.id))
    index_all(container)
    assert "secret" in str(container.jobs.list(None, None, 1))


def test_what_a_deleted_item_skipped_is_not_told_of_another_that_is_given_its_id(
    container: Container, told: tuple[int, Job]
) -> None:
    item_id, job = told
    draft = ItemDraft("Other", container.knowledge.get(item_id).uri, "folder")
    container.knowledge.delete(item_id)
    container.knowledge.save(item_id, draft)
    assert "secret" not in str(container.jobs.get(job.id))


def test_of_an_item_that_is_there_a_job_tells_though_the_clock_was_put_back(
    container: Container, told: tuple[int, Job]
) -> None:
    item_id, job = told
    ahead = now() + timedelta(hours=1)
    with container.database.write() as session:
        session.get_one(ItemRow, item_id).created_at = ahead
    assert container.jobs.get(job.id) == job


def test_compacting_leaves_nothing_of_it_in_the_database(
    container: Container, told: tuple[int, Job]
) -> None:
    item_id, job = told
    container.knowledge.delete(item_id)
    container.compact()
    with container.database.read() as session:
        assert "secret" not in str(session.get_one(JobRow, job.id).result)
