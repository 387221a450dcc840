"""The switch gets its moment however busy indexing is, and nobody waits long for it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.container import Container
from app.errors import UnavailableError, WorkStoppedError
from app.generations.filling import GenerationFiller
from app.generations.quiet_moments import QuietMoments
from app.generations.renewal import GenerationRenewal
from app.indexing.embedding import TextsUnderWay
from app.knowledge.items import ItemDraft
from app.protocols import Progress, Vectors
from tests.e2e.server_process import wait_until
from tests.fakes import FakeEmbedder
from tests.generations.test_switching import (
    PARAGRAPHS,
    WAIT_SECONDS,
    Open,
    docs,
    filled,
    found,
    open_with,
)

__all__ = ["docs", "filled", "open_with"]


class Renewing:
    """A renewal of a container in a thread, with turns of its own."""

    def __init__(self, container: Container, *turns_seconds: tuple[float, float]) -> None:
        keeper = container._keeper
        self.renewal = GenerationRenewal(
            database=container.database,
            publisher=container.publisher,
            indexer=container.indexer,
            under_way=keeper.texts_under_way,
            stored=keeper._choice.wanted,
            make_parts=keeper._make_next_parts,
            switch=keeper._switch_to,
            retire=keeper._retire,
            turns_seconds=turns_seconds,
        )
        self.was_stopped = False
        self._container = container
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.renewal.run()
        except UnavailableError:
            self.was_stopped = True

    def wait_for_indexes(self) -> None:
        """Wait until everything is made and only the switch is left."""
        deadline = time.monotonic() + WAIT_SECONDS
        following = None
        while following is None or not following.words.status.ready:
            assert time.monotonic() < deadline
            self._thread.join(0.01)
            following = self._container.publisher._next_indexes

    def ends_within(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()


class Relay:
    """Indexes two items by turns: each run ends only after the next has begun, or was held."""

    def __init__(self, container: Container, folders: list[Path]) -> None:
        self._container = container
        self._folders = folders
        self._items = [
            container.knowledge.create(ItemDraft(folder.name, str(folder), "folder")).id
            for folder in folders
        ]
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []
        self.failures: list[str | None] = []
        self.runs = 0
        self._start_next()

    def _start_next(self) -> threading.Event:
        has_come = threading.Event()
        thread = threading.Thread(target=self._run, args=(len(self._threads), has_come))
        self._threads.append(thread)
        thread.start()
        return has_come

    def _run(self, number: int, has_come: threading.Event) -> None:
        folder = self._folders[number % 2]
        (folder / f"{number % 5}.md").write_text(f"# Run\n\nIt was run{number} that wrote this.\n")
        is_followed = False

        def follow(progress: Progress) -> None:
            nonlocal is_followed
            has_begun = progress.documents_found > 0
            if has_begun or self._container.indexer._claims._closed_doors:
                has_come.set()
            if has_begun and not is_followed and not self._ending.is_set():
                is_followed = True
                assert self._start_next().wait(WAIT_SECONDS)

        result = self._container.indexer.index(self._items[number % 2], progress=follow)
        self.runs += 1
        if not result.success:
            self.failures.append(result.error)

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:  # grows while it is gone through
            thread.join(WAIT_SECONDS)
            assert not thread.is_alive()


def test_a_service_that_indexes_without_any_pause_switches(
    open_with: Open, filled: int, source_root: Path
):
    container = open_with(chunk_size=400)
    folders = [source_root / name for name in ("left", "right")]
    for folder in folders:
        folder.mkdir()
    relay = Relay(container, folders)
    wait_until(lambda: relay.runs > 2, "it indexes without any pause")
    renewing = Renewing(container, (0.3, 10.0))
    switched = renewing.ends_within(WAIT_SECONDS)
    relay.end()
    assert switched
    assert renewing.renewal.is_done
    assert relay.failures == []
    assert "run" in found(container, "wrote this")[0]
    assert container.maintenance.verify().problems == ()


def test_a_long_run_lets_others_in_between_and_is_followed_by_the_switch(
    open_with: Open, filled: int
):
    container = open_with(chunk_size=400)
    deadline = time.monotonic() + WAIT_SECONDS

    def in_time(_: Progress) -> None:
        if time.monotonic() > deadline:
            raise WorkStoppedError("Nobody is let in any more.")

    with container.indexer._claims.claim(10**6):  # somebody's run of hours
        renewing = Renewing(container, (0.01, 0.05))
        renewing.wait_for_indexes()
        for _ in range(8):
            assert container.indexer.index(filled, force=True, progress=in_time).success
        assert not renewing.ends_within(0)
    assert renewing.ends_within(WAIT_SECONDS)
    assert renewing.renewal.is_done
    assert container.maintenance.verify().problems == ()


def test_nothing_is_embedded_while_indexing_is_paused(open_with: Open, filled: int, docs: Path):
    held: list[int] = []

    class Watching(FakeEmbedder):
        """Notes whether indexing is paused while it embeds."""

        def embed_documents(self, texts: Any) -> Vectors:
            held.append(container.indexer._claims._holds)
            return super().embed_documents(texts)

    container = open_with(Watching(dimension=32, model_name="newer"))
    with container.indexer._claims.claim(10**6):
        renewing = Renewing(container, (60.0, 5.0))
        renewing.wait_for_indexes()
        before = len(held)
        (docs / "first.md").write_text("# The first page\n\nIt speaks of otters only.\n")
        assert container.indexer.index(filled).success
    assert renewing.ends_within(WAIT_SECONDS)
    assert len(held) > before, "what came meanwhile was embedded"
    assert set(held) == {0}
    assert "otters" in found(container, "otters")[0]


class SaturatedIndexing:
    """Stays ahead of whoever catches up, for as long as it is let."""

    def __init__(self) -> None:
        self.is_let, self.backlog = True, 40

    @contextmanager
    def paused(self, timeout_seconds: float) -> Iterator[bool]:  # noqa: ARG002, it never waits
        yield not self.is_let

    @contextmanager
    def beginning_nothing(self) -> Iterator[None]:
        self.is_let = False
        yield
        self.is_let = True

    def catch_up(self, require_time: Callable[[], None]) -> None:
        while self.backlog:
            threading.Event().wait(0.002)
            self.backlog -= not self.is_let
            require_time()


def test_indexing_that_stays_ahead_is_held_as_long_as_it_is_let():
    indexing = SaturatedIndexing()
    moments = QuietMoments(
        indexing,
        indexing.catch_up,
        lambda: not indexing.backlog,
        count_missing=lambda: indexing.backlog,
        turns_seconds=((0.01, 0.02), (10 * WAIT_SECONDS, 0.02)),
    )
    started = time.monotonic()
    assert moments.take(lambda: "switched") == "switched"
    assert time.monotonic() - started < WAIT_SECONDS


class IndexingThatHasEnded(SaturatedIndexing):
    """Left much to be caught up with, which gets less whether somebody is held or not."""

    def __init__(self) -> None:
        super().__init__()
        self.left_at_holds: list[int] = []

    @contextmanager
    def paused(self, timeout_seconds: float) -> Iterator[bool]:  # noqa: ARG002, it never waits
        yield True

    @contextmanager
    def beginning_nothing(self) -> Iterator[None]:
        self.left_at_holds.append(self.backlog)
        yield

    def catch_up(self, require_time: Callable[[], None]) -> None:
        while self.backlog:
            threading.Event().wait(0.002)
            self.backlog -= 1
            require_time()


def test_nobody_is_held_while_more_is_missing_than_a_hold_could_do():
    indexing = IndexingThatHasEnded()
    moments = QuietMoments(
        indexing,
        indexing.catch_up,
        lambda: not indexing.backlog,
        count_missing=lambda: indexing.backlog,
        turns_seconds=((0.01, 0.02),),
    )
    assert moments.take(lambda: "switched") == "switched"
    assert all(left <= 10 for left in indexing.left_at_holds), "of 2 ms and more each"


def test_a_stop_ends_the_holding(open_with: Open, filled: int):
    container = open_with(chunk_size=400)
    with container.indexer._claims.claim(10**6):
        renewing = Renewing(container, (0.0, 10 * WAIT_SECONDS))
        renewing.wait_for_indexes()
        container.stop_work()
        assert renewing.ends_within(WAIT_SECONDS)
    assert renewing.was_stopped


def test_one_pass_ends_however_fast_documents_come(open_with: Open, filled: int, docs: Path):
    most = 20
    added: list[Path] = []

    class Overtaken(FakeEmbedder):
        """Each time that it embeds, another document comes."""

        def embed_documents(self, texts: Any) -> Vectors:
            if len(added) < most:
                added.append(docs / f"page{len(added)}.md")
                added[-1].write_text(f"# Page {len(added)}\n\n{PARAGRAPHS[len(added) % 5]}\n")
                assert container.indexer.index(filled).success
            return super().embed_documents(texts)

    container = open_with(Overtaken(dimension=32, model_name="newer"))
    choice = container._keeper._choice
    stop: Callable[[], None] = lambda: None  # noqa: E731
    GenerationFiller(
        database=container.database,
        generation=choice.wanted.generation,
        splitter=container.splitter,
        embedder=choice.wanted_embedder,
        under_way=TextsUnderWay(),
        check=stop,
    ).fill()
    assert 0 < len(added) < most


@pytest.mark.parametrize("what", ["health", "stats", "gauges", "verify"])
def test_what_reads_the_parts_at_a_switch_never_meets_closed_ones(
    open_with: Open, embedder: FakeEmbedder, filled: int, what: str
):
    class Interrupting(FakeEmbedder):
        """A model that is exchanged while somebody asks it for its name."""

        is_armed = False

        @property
        def model_name(self) -> str:
            if self.is_armed:
                self.is_armed = False
                renewing.append(Renewing(container, (60.0, 5.0)))
                deadline = time.monotonic() + WAIT_SECONDS
                while container.embedder is former:
                    assert time.monotonic() < deadline
                    renewing[0].ends_within(0.01)
                renewing[0].ends_within(0.3)  # when nothing keeps it from closing these parts
            return "fake"

        @model_name.setter
        def model_name(self, _: str) -> None:
            """It is always the same."""

    renewing: list[Renewing] = []
    former = Interrupting()
    newer = FakeEmbedder(dimension=32, model_name="newer")
    container = open_with(newer, former=former)
    former.is_armed = True
    if what == "health":
        health = container.part_health()
        assert {name: part.status.value for name, part in health.items()} == dict.fromkeys(
            health, "ready"
        )
        assert health["embedding_model"].detail == "newer"
    elif what == "stats":
        assert container.stats().embedding_model == "newer"
    elif what == "gauges":
        container.refresh_gauges()
        assert container.metrics.registry.get_sample_value("groundwork_index_drift") == 0
    else:
        assert container.verify().problems == ()
    assert renewing[0].ends_within(WAIT_SECONDS)


def test_a_walk_that_a_switch_overtakes_takes_nothing_for_drift(open_with: Open, filled: int):
    container = open_with(chunk_size=400)
    with container._keeper._in_use.borrowed() as former:
        renewing = Renewing(container, (60.0, 5.0))
        while container.parts is former:
            assert not renewing.ends_within(0.01), "the parts are borrowed, and so not closed yet"
        container.knowledge.delete(filled)
        container.publisher.settled().result()
        gone = list(former.vector_index.chunk_ids())
        assert gone, "nobody takes out what nobody asks any more"
        for mend in (False, True):
            assert former.caretaker.walk(mend=mend).drift == []
            assert former.caretaker._comparison.surplus("exact", gone, mend=mend) == ()
    assert renewing.ends_within(WAIT_SECONDS)
    assert container.verify().problems == ()


def test_a_job_that_waits_for_a_switch_is_queued_and_runs_when_it_may(
    open_container: Callable[[], Container], docs: Path
):
    container = open_container()
    item = container.knowledge.create(ItemDraft("docs", str(docs), "folder"))
    with container.indexer.beginning_nothing():
        job = container.jobs.add("index", {"knowledge_id": item.id, "force": False})
        for _ in range(30):  # workers take within milliseconds what they may
            assert container.jobs.get(job.id).state == "queued"
            threading.Event().wait(0.01)
    assert asyncio.run(container.job_watch.wait_for_end(job)).state == "succeeded"
