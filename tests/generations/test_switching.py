"""Another model or splitter: made anew beside what answers, then taken at once."""

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select, text

from app.container import Container
from app.errors import AppError, EmbeddingError, StartupError
from app.generations import queries
from app.indexing.publisher import KeptIndexes
from app.knowledge.items import ItemDraft
from app.models import ChunkRow
from app.protocols import Embedder, Vectors
from app.search.requests import SearchRequest
from app.settings import Settings
from app.web.health_schemas import HealthStatus
from tests.databases import sqlite_only
from tests.e2e.server_process import wait_until
from tests.fakes import FakeEmbedder
from tests.folders import take_away

PARAGRAPHS = [f"Paragraph {n} speaks of topic{n} and of nothing else. " * 3 for n in range(12)]
WAIT_SECONDS = 60.0


class GatedEmbedder(FakeEmbedder):
    """Embeds documents only while its gate is open, and tells when somebody waits there."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.gate = threading.Event()
        self.reached = threading.Event()

    def embed_documents(self, texts: Any) -> Vectors:
        self.reached.set()
        assert self.gate.wait(WAIT_SECONDS)
        return super().embed_documents(texts)


class FailingEmbedder(FakeEmbedder):
    """Embeds so many batches, then fails as often as it is told to."""

    def __init__(self, batches: int, failures: int, **options: Any) -> None:
        super().__init__(**options)
        self._batches, self._failures = batches, failures

    def embed_documents(self, texts: Any) -> Vectors:
        if not self._batches and self._failures:
            self._failures -= 1
            raise EmbeddingError("The endpoint is down.")
        self._batches = max(0, self._batches - 1)
        return super().embed_documents(texts)


@pytest.fixture
def docs(source_root: Path) -> Path:
    for name in ("first", "second"):
        text = f"# The {name} page\n\n" + "\n\n".join(f"{name} {text}" for text in PARAGRAPHS)
        (source_root / f"{name}.md").write_text(text)
    return source_root


Open = Callable[..., Container]


@pytest.fixture
def open_with(settings: Settings, embedder: FakeEmbedder) -> Iterator[Open]:
    """Opens the data directory with other settings or another model; closes it in the end."""
    opened: list[Container] = []

    def open_one(
        model: FakeEmbedder = embedder,
        *,
        former: FakeEmbedder = embedder,
        run_jobs: bool = False,
        **changes: Any,
    ) -> Container:
        def open_former(wanted: Settings) -> Embedder:
            assert wanted.embedding_model == former.model_name
            return former

        changed = settings.model_copy(update=changes)
        container = Container.open(
            changed, embedder=model, open_model=open_former, run_jobs=run_jobs
        )
        opened.append(container)
        return container

    yield open_one
    for container in opened:
        container.close()


def index(container: Container, docs: Path) -> int:
    item = container.knowledge.create(ItemDraft("docs", str(docs), "folder"))
    assert container.indexer.index(item.id).success
    return item.id


def found(container: Container, query: str, **wishes: Any) -> list[str]:
    answer = container.searcher.search(SearchRequest(query, **wishes))
    assert not answer.degraded
    return [result.content for result in answer.results]


@pytest.fixture
def filled(open_with: Open, docs: Path) -> int:
    """A data directory with both pages, closed; gives the item."""
    container = open_with()
    item_id = index(container, docs)
    container.close()
    return item_id


def largest(container: Container) -> int:
    return max(len(text) for text in found(container, "topic3 paragraph", n_results=50))


# The splitter ----------------------------------------------------------------------------------


def test_a_changed_splitter_makes_new_chunks_and_embeds_only_unknown_texts(
    open_with: Open, embedder: FakeEmbedder, filled: int
):
    known = set(embedder.embedded_texts)
    embedder.embedded_texts.clear()
    container = open_with(chunk_size=400)
    assert largest(container) <= 200, "before the switch the old chunks answer"
    assert container.renew()
    assert largest(container) > 200
    assert embedder.embedded_texts
    assert not known & set(embedder.embedded_texts), "what was known is not embedded again"
    assert container.maintenance.verify().problems == ()
    stats = container.maintenance.stats()
    assert stats.total_chunks == stats.vector_index_records == stats.lexical_index_records > 0
    assert container.knowledge.get(filled).chunk_count == stats.total_chunks


def test_a_text_is_cut_again_in_the_language_that_its_file_has(open_with: Open, docs: Path):
    title = "Guide\n=====\n\nIntro.\n\n~~~~~~~~\n\nSetup\n-----\n\n"
    (docs / "guide.rst").write_text(title + "\n\n".join(PARAGRAPHS))
    container = open_with()
    index(container, docs)

    def paths() -> set[tuple[str, ...]]:
        request = SearchRequest("topic11", paths=("guide.rst",), n_results=50)
        return {result.heading_path for result in container.searcher.search(request).results}

    assert ("Guide", "Setup") in paths()
    container.close()
    container = open_with(chunk_size=400)
    assert container.renew()
    assert ("Guide", "Setup") in paths()


class HesitantEmbedder(FakeEmbedder):
    """Its first call ends once there is a second one, or once a second has passed without."""

    def __init__(self) -> None:
        super().__init__()
        self.first_came = threading.Event()
        self.second_came = threading.Event()

    def embed_documents(self, texts: Any) -> Vectors:
        if self.first_came.is_set():
            self.second_came.set()
        else:
            self.first_came.set()
            self.second_came.wait(1)
        return super().embed_documents(texts)


@pytest.fixture
def of_an_older_version(open_with: Open, docs: Path) -> int:
    """A data directory with both pages, cut by rules that only an older version had."""
    older = open_with()
    item_id = index(older, docs)
    with older.database.write() as session:
        for change in (
            "UPDATE chunks SET id = 'ffffffff' || substr(id, 9)",
            "UPDATE chunks SET text_hash = 'ffffffff' || substr(text_hash, 9)",
            "UPDATE embeddings SET text_hash = 'ffffffff' || substr(text_hash, 9)",
            "UPDATE generations SET splitter = 'older' || substr(splitter, 4)",
            "UPDATE generation_documents SET splitter = 'older' || substr(splitter, 4)",
        ):
            session.execute(text(change))
    older.close()
    return item_id


def test_after_an_upgrade_a_run_and_the_switch_embed_each_text_once_between_them(
    open_with: Open, docs: Path, of_an_older_version: int
):
    """Sources are read anew as soon as the new version starts."""
    (docs / "first.md").write_text((docs / "first.md").read_text() + "One word more.\n")
    model = HesitantEmbedder()
    container = open_with(model)
    with ThreadPoolExecutor(2) as pool:
        switch = pool.submit(container.renew)
        assert model.first_came.wait(WAIT_SECONDS)
        run = pool.submit(container.indexer.index, of_an_older_version)
    assert switch.result()
    assert run.result().chunks_added
    assert len(model.embedded_texts) == len(set(model.embedded_texts)) > 1
    assert container.maintenance.verify().problems == ()


def test_after_an_upgrade_a_run_leaves_to_the_switch_what_has_not_changed(
    open_with: Open, docs: Path, of_an_older_version: int
):
    container = open_with()
    (docs / "first.md").write_text("# The first page\n\nIt is short now.\n")
    result = container.indexer.index(of_an_older_version)
    assert result.success
    assert (result.chunks_added, result.chunks_unchanged) == (1, 13)
    last = container.history.list(of_an_older_version, 1, None).items[0]
    assert (last.documents_changed, last.documents_unchanged) == (1, 1)
    assert container.renew()
    assert container.indexer.index(of_an_older_version).chunks_unchanged > 1
    assert container.maintenance.verify().problems == ()


def test_going_back_embeds_nothing_and_finds_the_same(
    open_with: Open, embedder: FakeEmbedder, filled: int
):
    before = open_with()
    answer = found(before, "topic5", n_results=50)
    before.close()
    there = open_with(chunk_size=400)
    there.renew()
    there.close()
    embedder.embedded_texts.clear()
    back = open_with()
    assert back.renew()
    assert embedder.embedded_texts == []
    assert found(back, "topic5", n_results=50) == answer
    assert back.maintenance.verify().problems == ()


def test_an_unchanged_tree_is_not_split_again_after_a_switch(open_with: Open, filled: int):
    container = open_with(chunk_size=400)
    container.renew()
    result = container.indexer.index(filled)
    assert (result.chunks_added, result.chunks_removed, result.chunks_embedded) == (0, 0, 0)
    assert result.chunks_unchanged > 0


def test_a_restart_after_a_switch_has_nothing_to_do(open_with: Open, filled: int):
    container = open_with(chunk_size=400)
    container.renew()
    container.close()
    again = open_with(chunk_size=400)
    assert not again.renew()
    assert largest(again) > 200
    assert again.maintenance.verify().problems == ()


def test_an_empty_data_directory_just_takes_the_settings(open_with: Open, docs: Path):
    open_with().close()
    container = open_with(chunk_size=400)
    assert not container.renew()
    index(container, docs)
    assert largest(container) > 200
    assert [each.stored.generation.id for each in container.generations.all()] == [1]


# The model -------------------------------------------------------------------------------------


def test_the_old_model_answers_until_the_new_one_has_embedded_everything(
    open_with: Open, embedder: FakeEmbedder, filled: int
):
    model = GatedEmbedder(dimension=32, model_name="newer")
    container = open_with(model, run_jobs=True)
    assert model.reached.wait(WAIT_SECONDS)
    assert container.embedder is embedder
    assert "topic7" in found(container, "topic7", mode="dense")[0]
    assert container.part_health()["generation"].detail.endswith("being made: 0 of 2 documents")
    model.gate.set()
    assert container.wait_for_renewal(WAIT_SECONDS)
    assert container.embedder is model
    assert "topic7" in found(container, "topic7", mode="dense")[0]
    assert container.maintenance.stats().embedding_model == "newer"
    assert container.maintenance.verify().problems == ()
    assert container.part_health()["generation"].status is HealthStatus.READY


def test_a_former_model_that_cannot_be_had_is_told_with_both_ways_out(
    settings: Settings, open_with: Open, filled: int
):
    def lost(_: Settings) -> Embedder:
        raise StartupError("It is not in the folder of models.")

    with pytest.raises(StartupError, match=r"not in the folder.*EMBEDDING_MODEL.*--embed"):
        Container.open(settings, embedder=FakeEmbedder(model_name="newer"), open_model=lost)


def test_without_the_former_model_everything_can_be_embedded_again_offline(
    settings: Settings, open_with: Open, filled: int
):
    model = FakeEmbedder(dimension=32, model_name="newer")
    container = Container.open(settings, embedder=model, any_model=True, run_jobs=False)
    container.rebuild(embed=True)
    assert "topic7" in found(container, "topic7", mode="dense")[0]
    container.close()
    assert not open_with(model).renew()


# What happens meanwhile ------------------------------------------------------------------------


def test_what_is_indexed_changed_and_deleted_meanwhile_is_caught_up_with(
    open_with: Open, docs: Path, filled: int, source_root: Path
):
    model = GatedEmbedder(dimension=32, model_name="newer")
    container = open_with(model, run_jobs=True)
    assert model.reached.wait(WAIT_SECONDS)
    (docs / "third.md").write_text("# Third\n\nA page about elephants.\n")
    (docs / "first.md").write_text("# The first page\n\nIt speaks of otters only.\n")
    (docs / "second.md").unlink()
    assert container.indexer.index(filled).success
    assert "elephants" in found(container, "elephants", mode="dense")[0]
    model.gate.set()
    assert container.wait_for_renewal(WAIT_SECONDS)
    assert "elephants" in found(container, "elephants", mode="dense")[0]
    everything = found(container, "page topic otters", n_results=100)
    assert any("otters" in text for text in everything)
    assert not any("topic" in text for text in everything)
    assert container.maintenance.verify().problems == ()


def test_an_item_that_is_deleted_meanwhile_stays_deleted(open_with: Open, filled: int):
    model = GatedEmbedder(dimension=32, model_name="newer")
    container = open_with(model, run_jobs=True)
    assert model.reached.wait(WAIT_SECONDS)
    container.knowledge.delete(filled)
    model.gate.set()
    assert container.wait_for_renewal(WAIT_SECONDS)
    assert found(container, "topic3") == []
    assert container.maintenance.verify().problems == ()


def test_searches_answer_without_a_gap_across_switches(open_with: Open, filled: int):
    container = open_with(chunk_size=400, run_jobs=False)
    stop, failures, answers = threading.Event(), [], []

    def search() -> None:
        while not stop.is_set():
            try:
                texts = found(container, "topic4 paragraph", n_results=5)
            except AppError as error:
                failures.append(error)
                return
            answers.append(len(texts))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    container.renew()
    seen = len(answers)
    while len(answers) < seen + 20 and all(thread.is_alive() for thread in threads):
        pass
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert set(answers) == {5}


def test_a_run_under_way_is_waited_for_and_its_chunks_are_taken_along(
    open_with: Open, docs: Path, filled: int, embedder: FakeEmbedder
):
    container = open_with(chunk_size=400)
    with container.indexer._claims.claim(filled):
        thread = threading.Thread(target=container.renew)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive(), "it does not switch under a run"
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive()
    assert container.maintenance.verify().problems == ()


@contextmanager
def switch_held_up(container: Container, item_id: int) -> Iterator[KeptIndexes]:
    """The next indexes, which are full and follow, while a run of the item holds the switch up."""
    deadline = time.monotonic() + WAIT_SECONDS
    with container.indexer._claims.claim(item_id):
        thread = threading.Thread(target=container.renew)
        thread.start()
        following = None
        while following is None or not following.words.status.ready:
            assert time.monotonic() < deadline
            thread.join(0.01)
            following = container.publisher._next_indexes
        yield following
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def test_the_next_indexes_follow_what_is_settled_while_the_switch_has_to_wait(
    open_with: Open, filled: int
):
    container = open_with(chunk_size=400)
    with switch_held_up(container, filled) as following:
        container.knowledge.delete(filled)
        container.publisher.settled().result()
        assert following.words.count() == 0
        assert following.vectors.count() == 0
    assert container.publisher._next_indexes is None
    assert container.maintenance.verify().problems == ()


def test_a_title_that_is_new_while_the_next_indexes_catch_up_is_in_them(
    open_with: Open, filled: int
):
    container = open_with(chunk_size=400)
    renamed = threading.Event()
    with container.database.write() as session:
        session.execute(text("UPDATE documents SET title = NULL"))  # so the item's is theirs
    with switch_held_up(container, filled) as following:
        upsert = following.vectors.upsert

        def rename_meanwhile(records: Any) -> None:
            upsert(records)
            if not renamed.is_set():
                renamed.set()
                container.knowledge.update(filled, {"title": "Prairies"})
                if threading.current_thread() is not container.publisher._writer._thread:
                    container.publisher.settled().result()

        following.vectors.upsert = rename_meanwhile
        with container.database.write() as session:
            queries.give_up_documents(session, 2, [1, 2])
        assert renamed.wait(WAIT_SECONDS)
    container.publisher.settled().result()
    assert container._keeper.parts.stored.generation.id == 2
    chunks = container.maintenance.stats().total_chunks
    assert len(found(container, "prairies", mode="lexical", n_results=100)) == chunks


# Failures --------------------------------------------------------------------------------------


def test_a_making_that_was_interrupted_goes_on_where_it_was(
    open_with: Open, docs: Path, embedder: FakeEmbedder
):
    for number in range(60):
        (docs / f"more{number}.md").write_text("\n\n".join(f"{number} {p}" for p in PARAGRAPHS))
    first = open_with()
    index(first, docs)
    first.close()
    failing = FailingEmbedder(2, failures=1, dimension=32, model_name="newer")
    container = open_with(failing)
    with pytest.raises(EmbeddingError):
        container.renew()
    assert container.embedder is embedder
    assert "topic3" in found(container, "topic3")[0]
    done = set(failing.embedded_texts)
    container.close()
    assert done
    model = FakeEmbedder(dimension=32, model_name="newer")
    again = open_with(model)
    assert again.renew()
    assert not done & set(model.embedded_texts)
    assert again.maintenance.verify().problems == ()


def test_a_model_that_fails_is_tried_again_by_itself_and_health_says_so(
    open_with: Open, filled: int
):
    failing = FailingEmbedder(0, failures=1, dimension=32, model_name="newer")
    container = open_with(failing, run_jobs=True)
    assert container.wait_for_renewal(WAIT_SECONDS)
    assert container.embedder is failing
    assert container.part_health()["generation"].status is HealthStatus.READY


@sqlite_only
def test_a_database_that_answers_again_is_noticed_before_the_pause_is_over(
    open_with: Open, filled: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.generations.renewal.PAUSES_SECONDS", (3600.0,))
    monkeypatch.setattr("app.generations.renewal.LOOK_SECONDS", 0.01)
    model = GatedEmbedder(dimension=32, model_name="newer")
    container = open_with(model, run_jobs=True)
    assert model.reached.wait(WAIT_SECONDS)
    ping, looks = container.database.ping, []

    def look() -> None:
        looks.append(1)
        ping()

    monkeypatch.setattr(container.database, "ping", look)
    with away(settings.data_dir / "groundwork.db"):
        model.gate.set()
        wait_until(lambda: len(looks) > 1, "it is away, and is looked for again")
        assert "gone" in container.part_health()["generation"].detail
    assert container.wait_for_renewal(WAIT_SECONDS)


@contextmanager
def away(path: Path) -> Iterator[None]:
    """A file that is not there for the block."""
    elsewhere = path.with_suffix(".away")
    path.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(path)


def test_stopping_while_one_is_made_is_quick_and_loses_nothing(open_with: Open, filled: int):
    model = GatedEmbedder(dimension=32, model_name="newer")
    container = open_with(model, run_jobs=True)
    assert model.reached.wait(WAIT_SECONDS)
    container.stop_work()
    model.gate.set()
    container.close()
    former = open_with(FakeEmbedder())
    assert not former.renew()
    assert "topic3" in found(former, "topic3")[0]


# Keeping and dropping --------------------------------------------------------------------------


def test_a_kept_generation_can_be_dropped_and_compacting_drops_all(
    open_with: Open, filled: int, embedder: FakeEmbedder
):
    container = open_with(chunk_size=400)
    container.renew()
    states = {each.stored.generation.id: each.state for each in container.generations.all()}
    assert states == {1: "kept", 2: "current"}
    assert container.rag.compact().generations_dropped == 1
    assert [each.stored.generation.id for each in container.generations.all()] == [2]
    assert container.rag.compact().generations_dropped == 0
    assert container.maintenance.verify().problems == ()
    container.close()
    embedder.embedded_texts.clear()
    back = open_with()
    assert back.renew()
    assert embedder.embedded_texts, "its vectors were dropped"
    assert back.maintenance.verify().problems == ()
    assert [each.stored.generation.id for each in back.generations.all()] == [2, 3]


def test_a_kept_generation_keeps_nothing_of_a_text_that_has_changed(
    open_with: Open, docs: Path, filled: int
):
    container = open_with(chunk_size=400)
    container.renew()
    (docs / "first.md").write_text("# A page\n\nIt speaks of otters only.\n")
    assert container.indexer.index(filled).success
    with container.database.read() as session:
        kept = session.scalars(select(ChunkRow.content).where(ChunkRow.generation_id == 1)).all()
    assert any("second" in content for content in kept)
    assert not any("first" in content for content in kept)


def test_compacting_keeps_what_the_settings_are_about_to_have(open_with: Open, filled: int):
    failing = FailingEmbedder(0, failures=1, dimension=32, model_name="newer")
    container = open_with(failing)
    with pytest.raises(EmbeddingError):
        container.renew()
    container.rag.compact()
    assert [each.state for each in container.generations.all()] == ["current", "building"]
    assert container.renew()


def test_a_generation_that_is_dropped_in_part_is_made_again_before_it_answers(
    open_with: Open, filled: int
):
    container = open_with(chunk_size=400)
    container.renew()
    with container.database.write() as session:
        assert queries.drop_some(session, 1), "something is left of it"
    container.close()
    back = open_with()
    assert back.renew()
    assert len(found(back, "topic3 paragraph", n_results=50)) > 10
    assert back.maintenance.verify().problems == ()


def test_compacting_drops_the_vectors_of_a_former_model(open_with: Open, filled: int):
    model = FakeEmbedder(dimension=32, model_name="newer")
    container = open_with(model)
    container.renew()
    both = container.maintenance.stats().total_embeddings
    container.rag.compact()
    assert container.maintenance.stats().total_embeddings == both / 2
    assert container.maintenance.verify().problems == ()


def test_an_unexpected_error_is_no_end_and_progress_is_no_trouble(open_with: Open, filled: int):
    class Broken(FakeEmbedder):
        """Fails once as no embedder should."""

        broken = True

        def embed_documents(self, texts: Any) -> Vectors:
            if self.broken:
                self.broken = False
                raise RuntimeError("as no embedder should")
            return super().embed_documents(texts)

    container = open_with(Broken(dimension=32, model_name="newer"), run_jobs=True)
    assert container.wait_for_renewal(WAIT_SECONDS)
    assert container.part_health()["generation"].status is HealthStatus.READY


@pytest.mark.parametrize("in_background", [False, True])
def test_what_fails_once_sql_names_the_new_generation_leaves_no_search_without_an_index(
    open_with: Open, docs: Path, filled: int, in_background: bool
):
    class Telling(FakeEmbedder):
        """Fails once to say its name, when that is shown after the switch."""

        switched = False
        _name = ""

        @property
        def model_name(self) -> str:
            if self.switched:
                self.switched = False
                raise RuntimeError("as no embedder should")
            return self._name

        @model_name.setter
        def model_name(self, name: str) -> None:
            self._name = name

    model = Telling(dimension=32, model_name="newer")
    container = open_with(model)

    @event.listens_for(container.database._engine, "before_cursor_execute")
    def look(_connection, _cursor, statement: str, *_: object) -> None:
        model.switched |= "UPDATE current_generation" in statement

    if in_background:
        assert container._keeper._renewal is not None
        container._keeper._renewal.start()
        assert container.wait_for_renewal(WAIT_SECONDS)
    else:
        with pytest.raises(RuntimeError):
            container.renew()
    assert "topic7" in found(container, "topic7", mode="dense")[0]
    (docs / "third.md").write_text("# Third\n\nA page about elephants.\n")
    assert container.indexer.index(filled).success
    assert "elephants" in found(container, "elephants", mode="dense")[0]
    assert container.embedder is model
    assert container.maintenance.verify().problems == ()
    assert not container.renew()


def test_only_folders_of_ours_are_deleted(open_with: Open, filled: int, settings: Settings):
    strange = settings.data_dir / "chroma-2" / "thesis.txt"
    strange.parent.mkdir()
    strange.write_text("not ours")
    container = open_with(chunk_size=400)
    container.renew()
    container.close()
    back = open_with()
    back.renew()
    back.close()
    again = open_with()
    assert strange.read_text() == "not ours"
    left = [path.name for path in (settings.data_dir / "generations").glob("*")]
    assert left == [], "an index of a generation that does not answer"
    assert found(again, "topic3")


# What is told -----------------------------------------------------------------------------------


def test_chunks_of_a_document_that_went_are_counted_as_they_were_found(
    open_with: Open, docs: Path, filled: int
):
    container = open_with(chunk_size=400)
    container.renew()
    before = container.maintenance.stats().total_chunks
    (docs / "second.md").unlink()
    result = container.indexer.index(filled)
    after = container.maintenance.stats().total_chunks
    assert result.chunks_removed == before - after > 0
    assert container.history.list(filled, 1, None).items[0].chunks_removed == before - after


@pytest.mark.parametrize("vector_index", ["exact", "chroma"])
def test_a_switch_is_no_healing_and_its_embedding_is_counted(
    open_with: Open, filled: int, vector_index: str
):
    model = FakeEmbedder(dimension=32, model_name="newer")
    container = open_with(model, vector_index=vector_index)
    metrics, registry = container.metrics, container.metrics.registry
    container.settle()
    before = dict(metrics.healed)
    assert container.renew()
    container.settle()
    assert metrics.healed == before
    embedded = registry.get_sample_value("groundwork_embedded_chunks_total")
    assert embedded == len(model.embedded_texts) > 0
    assert registry.get_sample_value("groundwork_embedding_seconds_count") == 1


def test_damage_after_a_switch_is_counted_as_a_healing(open_with: Open, filled: int):
    container = open_with(chunk_size=400)
    container.renew()
    take_away(container.parts.indexes.folders[1])
    assert not container.lexical_index.status.ready
    deadline = time.monotonic() + WAIT_SECONDS
    while not container.lexical_index.status.ready:
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
    container.settle()
    assert container.metrics.healed == {"lexical": 1}


def test_a_command_under_other_settings_leaves_no_generation(open_with: Open, filled: int):
    other = open_with(chunk_size=400)
    assert [each.state for each in other.generations.all()] == ["current", "building"]
    other.close()
    usual = open_with()
    assert [each.state for each in usual.generations.all()] == ["current"]


@sqlite_only
def test_dropping_looks_chunks_up_and_never_scans_them(open_with: Open, filled: int):
    statements: list[tuple[str, Any]] = []
    container = open_with(chunk_size=400)
    container.renew()
    with container.database.write() as session:
        connection = session.connection()
        event.listen(
            connection,
            "before_cursor_execute",
            lambda _1, _2, sql, parameters, _3, _4: statements.append((sql, parameters)),
        )
        while queries.drop_some(session, 1):
            pass
    assert any(sql.startswith("SELECT chunks") for sql, _ in statements)
    with container.database.read() as session:
        for sql, parameters in statements:
            plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters)
            for step in plan.all():
                assert not step[3].startswith("SCAN chunks"), sql


def test_a_rebuild_waits_for_what_is_being_made_in_the_background(
    open_with: Open, filled: int
) -> None:
    model = GatedEmbedder(dimension=32, model_name="newer")
    container = open_with(model, run_jobs=True)
    assert model.reached.wait(WAIT_SECONDS)
    rebuild = threading.Thread(target=container.rebuild)
    rebuild.start()
    rebuild.join(0.2)
    assert rebuild.is_alive()
    model.gate.set()
    rebuild.join(WAIT_SECONDS)
    assert not rebuild.is_alive()
    assert container.wait_for_renewal(WAIT_SECONDS)
    assert not container.needs_renewal
    assert len(model.embedded_texts) == len(set(model.embedded_texts)) > 0
    assert container.verify().clean


def test_after_a_switch_nothing_holds_the_former_indexes(
    open_with: Open, filled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the writer, which may have nothing else to do for long after it."""
    gc.collect()
    gc.disable()
    try:
        container = open_with(chunk_size=300, overlap=50)
        monkeypatch.setattr(container.publisher, "settle_soon", lambda: None)
        former = weakref.ref(container.parts.indexes)
        assert container.renew()
        assert former() is None
    finally:
        gc.enable()
