"""A model that fails half of its calls, a source that never answers: no partial state, recovery."""

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from pytest_httpserver import HTTPServer
from sqlalchemy import update

from app.clock import now
from app.container import Container
from app.errors import EmbeddingError
from app.knowledge.items import ItemDraft
from app.models import JobRow
from app.search.requests import SearchRequest
from app.settings import Settings
from tests.fakes import FakeEmbedder


class FickleEmbedder(FakeEmbedder):
    """Fails every other call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.steady = False
        self.failures = 0
        self.stored: Counter[str] = Counter()

    def embed_documents(self, texts):
        self.calls += 1
        if not self.steady and self.calls % 2:
            self.failures += 1
            raise EmbeddingError("The endpoint answered 500.")
        self.stored.update(texts)
        return super().embed_documents(texts)


class TestFickleModel:
    @pytest.fixture
    def embedder(self) -> FickleEmbedder:
        return FickleEmbedder()

    def test_every_run_leaves_whole_documents_and_the_last_one_all(
        self, container: Container, source_root: Path, embedder: FickleEmbedder, index, add_item
    ):
        for number in range(60):
            body = "\n\n".join(f"Ferry {number} leaves at {n} sharp. " * 4 for n in range(6))
            (source_root / f"{number}.md").write_text(f"# Ferry {number}\n\n{body}\n")
        item = add_item(source_root)
        outcomes = []
        for _ in range(30):
            outcomes.append(index(item))
            assert_documents_are_whole(container)
            if outcomes[-1].success:
                break
        assert outcomes[-1].success, "it recovers without a hand"
        assert len(outcomes) > 2
        assert embedder.failures >= len(outcomes) - 1
        assert all(outcome.error == "The endpoint answered 500." for outcome in outcomes[:-1])
        assert max(embedder.stored.values()) == 1, "nothing is embedded twice"
        assert container.knowledge.get(item.id).status == "active"
        assert container.knowledge.get(item.id).error is None
        assert container.maintenance.verify().problems == ()

    def test_a_job_says_what_failed_and_is_tried_again_by_itself_until_all_is_there(
        self, container: Container, source_root: Path, embedder: FickleEmbedder, add_item
    ):
        for number in range(60):
            body = "\n\n".join(f"Tug {number} pulls {n} barges home. " * 4 for n in range(6))
            (source_root / f"{number}.md").write_text(f"# Tug {number}\n\n{body}\n")
        item, other = add_item(source_root), add_item(source_root / "1.md", "markdown")
        job = container.jobs.add("index", {"knowledge_id": item.id, "force": False})
        while not job.has_ended:
            job = anyio.run(container.job_watch.wait_for_end, job)
            if job.has_ended:
                break
            assert (job.state, job.error) == ("queued", "The endpoint answered 500.")
            assert container.knowledge.get(item.id).error == "The endpoint answered 500."
            assert_documents_are_whole(container)
            let_time_pass(container)
            container.jobs.add("index", {"knowledge_id": other.id, "force": False})
        assert (job.state, job.error) == ("succeeded", None)
        assert job.retries > 1
        assert container.knowledge.get(item.id).error is None
        assert container.maintenance.stats().total_documents >= 60
        assert max(embedder.stored.values()) == 1, "nothing is embedded twice"

    def test_a_failing_new_version_leaves_the_old_one_to_be_found(
        self, container: Container, source_root: Path, embedder: FickleEmbedder, index, add_item
    ):
        embedder.steady = True
        (source_root / "a.md").write_text("# Timetable\n\nThe old ferry leaves at noon.\n")
        item = add_item(source_root)
        index(item)
        (source_root / "a.md").write_text("# Timetable\n\nThe new ferry leaves at dusk.\n")
        embedder.steady, embedder.calls = False, 0
        while index(item).success is False:
            answer = container.searcher.search(SearchRequest("ferry"))
            assert [result.content.split()[3] for result in answer.results] == ["old"]
        answer = container.searcher.search(SearchRequest("ferry"))
        assert [result.content.split()[3] for result in answer.results] == ["new"]


def let_time_pass(container: Container) -> None:
    """What waits for its next try is due now."""
    with container.database.write() as session:
        session.execute(update(JobRow).where(JobRow.state == "queued").values(not_before=now()))


def assert_documents_are_whole(container: Container) -> None:
    """Whatever is stored is stored whole: verify would name a gap."""
    assert container.maintenance.verify().problems == ()


class TestSourceThatNeverAnswers:
    @pytest.fixture
    def silent(self) -> Iterator[socket.socket]:
        """A server that takes connections and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield listener

    @pytest.fixture
    def silent_port(self, silent: socket.socket) -> int:
        return int(silent.getsockname()[1])

    @pytest.fixture
    def settings(self, settings: Settings, silent_port: int) -> Settings:
        return settings.model_copy(
            update={
                "fetch_allow_hosts": [f"127.0.0.1:{silent_port}"],
                "robots_ignore_hosts": [f"127.0.0.1:{silent_port}"],
                "fetch_timeout_seconds": 1.0,
            }
        )

    def test_it_ends_with_a_clear_error_and_holds_up_nobody(
        self,
        container: Container,
        source_root: Path,
        silent_port: int,
        found: Callable[[str], list[str]],
    ):
        uri = f"http://127.0.0.1:{silent_port}/page"
        hanging = container.knowledge.create(ItemDraft("silent", uri, "website"))
        (source_root / "a.md").write_text("# Rope\n\nA rope of hemp.\n")
        other = container.knowledge.create(ItemDraft("rope", str(source_root), "folder"))
        results = []
        waiting = threading.Thread(
            target=lambda: results.append(container.indexer.index(hanging.id))
        )
        waiting.start()
        assert container.indexer.index(other.id).success, "beside the one that hangs"
        assert found("rope") == ["# Rope\n\nA rope of hemp.\n"]
        waiting.join(30)
        (result,) = results
        assert not result.success
        assert "did not answer" in (result.error or "") or "second" in (result.error or "")
        item = container.knowledge.get(hanging.id)
        assert (item.status, item.chunk_count) == ("error", 0)
        assert container.maintenance.verify().problems == ()

    def test_as_a_job_it_is_tried_again_by_itself_and_succeeds_once_there_is_an_answer(
        self, container: Container, silent: socket.socket, silent_port: int
    ):
        uri = f"http://127.0.0.1:{silent_port}/page"
        item = container.knowledge.create(ItemDraft("silent", uri, "website"))
        job = container.jobs.add("index", {"knowledge_id": item.id, "force": False})
        job = anyio.run(container.job_watch.wait_for_end, job)
        assert job.state == "queued"
        assert job.error == container.knowledge.get(item.id).error
        assert "did not arrive within 1 second" in (job.error or "")
        silent.close()
        with HTTPServer(port=silent_port) as server:
            server.expect_request("/page").respond_with_data("<p>A rope of hemp.</p>")
            while not job.has_ended:
                let_time_pass(container)
                container.jobs.add("index_all", {"status": "archived", "force": False})
                job = anyio.run(container.job_watch.wait_for_end, job)
        assert (job.state, job.error) == ("succeeded", None)
        assert container.knowledge.get(item.id).status == "active"
        assert container.maintenance.verify().problems == ()
