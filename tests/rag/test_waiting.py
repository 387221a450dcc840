"""Indexing that a client waits for is a job underneath, with the answers it always had."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi.testclient import TestClient

from app.container import Container
from app.errors import EmbeddingError, NotFoundError, UnavailableError, WorkStoppedError
from app.knowledge.items import ItemDraft
from app.protocols import Progress
from app.settings import Settings
from tests.fakes import FakeEmbedder
from tests.patience import PATIENCE_SECONDS, run_in_time

SLOW = "slowly"


class GatedEmbedder(FakeEmbedder):
    """Embeds texts that say SLOW only when it is let; fails while it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.gate = threading.Event(), threading.Event()
        self.failure: EmbeddingError | None = None

    def embed_documents(self, texts: Any) -> Any:
        if self.failure is not None:
            raise self.failure
        if any(SLOW in text for text in texts):
            self.reached.set()
            assert self.gate.wait(PATIENCE_SECONDS)
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> GatedEmbedder:
    return GatedEmbedder()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """One thread for all work in the background: the least there can be."""
    return settings.model_copy(update={"index_threads": 1})


@pytest.fixture
def add(container: Container, source_root: Path) -> Callable[[str, str], int]:
    def create(name: str, text: str) -> int:
        path = source_root / name
        path.write_text(text)
        return container.knowledge.create(ItemDraft(name, str(path), "markdown")).id

    return create


Add = Callable[[str, str], int]


async def reached(embedder: GatedEmbedder) -> None:
    assert await anyio.to_thread.run_sync(embedder.reached.wait, PATIENCE_SECONDS)


def test_what_is_waited_for_is_a_job(container: Container, client: TestClient, add: Add) -> None:
    item = add("a.md", "# A\n\nSome words.")
    answer = client.post(f"/api/v1/rag/index/{item}").json()
    (job,) = container.jobs.list(None, None, 10)
    assert (job.kind, job.state, job.arguments["knowledge_id"]) == ("index", "succeeded", item)
    stored = client.get(f"/api/v1/jobs/{job.id}").json()
    assert {name: stored["result"][name] for name in answer} == answer
    progress = stored["progress"]
    stages = ("found", "loaded", "split", "done", "stored")
    assert [progress[f"documents_{stage}"] for stage in stages] == [1] * 5
    assert [progress[f"chunks_{stage}"] for stage in ("split", "embedded", "total")] == [1] * 3


def test_a_single_item_does_not_wait_for_all_of_index_all(
    container: Container, add: Add, embedder: GatedEmbedder
) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(container.rag.index_all)
            await reached(embedder)
            assert (await container.rag.index_item(quick)).success
            assert not embedder.gate.is_set()
            embedder.gate.set()

    add("slow.md", f"It goes {SLOW}.")
    quick = add("quick.md", "It goes at once.")
    run_in_time(main)


def test_a_single_item_does_not_wait_for_jobs_in_the_background(
    container: Container, add: Add, embedder: GatedEmbedder
) -> None:
    async def main() -> None:
        await container.rag.submit_index(slow)
        await reached(embedder)
        await container.rag.submit_index(also_slow)
        assert (await container.rag.index_item(quick)).success
        embedder.gate.set()

    slow, also_slow = add("slow.md", f"It goes {SLOW}."), add("also.md", f"This, too, {SLOW}.")
    quick = add("quick.md", "It goes at once.")
    run_in_time(main)


def test_a_client_that_goes_away_leaves_the_job_running(
    container: Container, add: Add, embedder: GatedEmbedder
) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(container.rag.index_item, item)
            await reached(embedder)
            tasks.cancel_scope.cancel()
        embedder.gate.set()
        (job,) = container.jobs.list(None, None, 10)
        assert (await container.job_watch.wait_for_end(job)).state == "succeeded"

    item = add("slow.md", f"It goes {SLOW}.")
    run_in_time(main)
    assert container.knowledge.get(item).status == "active"


def test_who_asks_while_the_same_is_queued_shares_the_job_and_who_asks_while_it_runs_does_not(
    container: Container, add: Add, embedder: GatedEmbedder
) -> None:
    answers = []

    async def index() -> None:
        answers.append(await container.rag.index_item(item))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(index)
            await reached(embedder)
            for _ in range(3):
                tasks.start_soon(index)
            while container.job_watch.waiting < 4:
                await anyio.lowlevel.checkpoint()
            embedder.gate.set()

    item = add("slow.md", f"It goes {SLOW}.")
    run_in_time(main)
    assert [answer.success for answer in answers] == [True] * 4
    assert len(container.jobs.list(None, None, 10)) == 2


def test_a_failure_of_the_model_is_answered_at_once_and_is_not_tried_again_by_itself(
    container: Container, client: TestClient, add: Add, embedder: GatedEmbedder
) -> None:
    embedder.failure = EmbeddingError("The embedding endpoint failed.")
    item = add("a.md", "Some words.")
    answer = client.post(f"/api/v1/rag/index/{item}")
    assert answer.status_code == 200
    assert answer.json()["success"] is False
    assert answer.json()["error"] == "The embedding endpoint failed."
    (job,) = container.jobs.list(None, None, 10)
    assert (job.state, job.retries) == ("failed", 0)


def test_a_failure_of_the_model_in_the_background_is_tried_again(
    container: Container, client: TestClient, add: Add, embedder: GatedEmbedder
) -> None:
    async def main() -> None:
        job = await container.rag.submit_index(item)
        job = await container.job_watch.wait_for_end(job)
        assert (job.state, job.retries) == ("queued", 1)

    embedder.failure = EmbeddingError("The embedding endpoint failed.")
    item = add("a.md", "Some words.")
    run_in_time(main)
    (job,) = client.get("/api/v1/jobs").json()["items"]
    assert (job["state"], job["error"]) == ("queued", "The embedding endpoint failed.")
    assert job["not_before"] is not None
    embedder.failure = None
    assert client.post(f"/api/v1/rag/index/{item}").json()["success"]  # does not wait for that
    assert client.get(f"/api/v1/jobs/{job['id']}").json()["state"] == "succeeded"


def test_what_a_failure_skipped_is_answered_with_it(
    container: Container, client: TestClient, source_root: Path
) -> None:
    (source_root / "a.md").write_bytes(b"\x89PNG\x00\x00\x00")
    item = container.knowledge.create(ItemDraft("a", str(source_root / "a.md"), "markdown")).id
    answer = client.post(f"/api/v1/rag/index/{item}").json()
    assert answer["success"] is False
    assert answer["skipped"][0]["uri"].endswith("a.md")


@pytest.mark.parametrize("end", ["deleted", "removed from the index", "cancelled"])
def test_what_is_stopped_meanwhile_is_a_conflict(
    container: Container, add: Add, embedder: GatedEmbedder, end: str
) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(container.rag.index_item, item)
            await reached(embedder)
            stopping = threading.Thread(target=stop)
            stopping.start()
            while stopping.is_alive() and not waits_for_its_turn():
                await anyio.lowlevel.checkpoint()
            embedder.gate.set()
            await anyio.to_thread.run_sync(stopping.join)

    def waits_for_its_turn() -> bool:
        line = container.indexer._claims._lines.get(item, [])
        return any(turn.is_removal for turn in line)

    def stop() -> None:
        if end == "deleted":
            container.knowledge.delete(item)
        elif end == "cancelled":
            (job,) = container.jobs.list("running", None, 10)
            container.jobs.cancel(job.id)
        else:
            container.indexer.remove(item)

    item = add("slow.md", f"It goes {SLOW}.")
    with pytest.raises(ExceptionGroup) as raised:
        run_in_time(main)
    assert raised.group_contains((WorkStoppedError, NotFoundError))


def test_a_stop_answers_503_and_the_job_goes_on_after_the_restart(
    container: Container,
    add: Add,
    embedder: GatedEmbedder,
    open_container: Callable[[], Container],
) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(container.rag.index_item, item)
            await reached(embedder)
            container.stop_work()

    item = add("slow.md", f"It goes {SLOW}.")
    with pytest.raises(ExceptionGroup) as raised:
        run_in_time(main)
    assert raised.group_contains(UnavailableError, match="stopping")
    embedder.gate.set()
    container.close()
    again = open_container()
    (job,) = again.jobs.list(None, None, 10)
    ended = run_in_time(lambda: again.job_watch.wait_for_end(job))
    assert ended.state == "succeeded"
    assert again.knowledge.get(item).status == "active"


def test_indexing_in_this_thread_is_a_job_that_is_taken_over_if_it_dies(
    container: Container, add: Add, open_container: Callable[[], Container]
) -> None:
    class Death(BaseException):
        pass

    def die(progress: Progress) -> None:
        raise Death

    item = add("a.md", "Some words.")
    with pytest.raises(Death):
        container.rag.index_here(item, die)
    (job,) = container.jobs.list(None, None, 10)
    assert job.state == "running"
    container.close()
    again = open_container()
    assert run_in_time(lambda: again.job_watch.wait_for_end(job)).state == "succeeded"


def test_ctrl_c_cancels_what_is_indexed_in_this_thread(container: Container, add: Add) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    item = add("a.md", "Some words.")
    with pytest.raises(KeyboardInterrupt):
        container.rag.index_here(item, interrupt)
    (job,) = container.jobs.list(None, None, 10)
    assert (job.state, job.error) == ("cancelled", "It was interrupted.")


def test_indexing_in_this_thread_answers_like_any_other(container: Container, add: Add) -> None:
    seen: list[Progress] = []

    def note(progress: Progress) -> None:
        seen.append(progress)

    item = add("a.md", "Some words.")
    assert container.rag.index_here(item, note).chunks_indexed == 1
    assert seen[-1].chunks_total == 1
    with pytest.raises(NotFoundError):
        container.rag.index_here(4711, note)
