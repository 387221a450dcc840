"""A service is opened and closed in order, whatever the last one left."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from app.adapters.data_directory import PROCESS_NAME
from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.container import Container
from app.database import Database
from app.errors import EmbeddingError, SettingError, StartupError, StorageError
from app.indexing import outbox_queries
from app.jobs import claim_queries
from app.knowledge.items import ItemDraft
from app.settings import Settings
from tests.databases import postgres_only, sqlite_only
from tests.fakes import FakeEmbedder


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"vector_index": "chroma"})


@pytest.fixture
def indexed(open_container: Callable[[], Container], source_root: Path) -> list[str]:
    """A stopped service with an indexed folder; the ids of its chunks."""
    for number in range(40):
        (source_root / f"{number}.md").write_text(f"Harbour number {number} has a lighthouse.")
    container = open_container()
    item = container.knowledge.create(ItemDraft("harbours", str(source_root), "folder"))
    assert container.indexer.index(item.id).success
    ids = sorted(container.vector_index.chunk_ids())
    container.close()
    return ids


def lose_records(settings: Settings, ids: list[str]) -> None:
    """As a kill would: the index lacks records, the outbox names them, no mark of a clean stop."""
    index = ChromaVectorIndex.open(settings.chroma_directory, settings.chroma_collection_name, 64)
    index.remove(ids)
    index.close()
    database = Database(settings.resolved_database_url)
    with database.write() as session:
        outbox_queries.add_index_change(session, ids)
    database.close()
    (settings.data_dir / "stopped-cleanly").unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def empty_beside_a_log(path: Path) -> None:
    """As after a kill; SQLite takes nothing from the log of a database that is empty."""
    empty(path)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").write_bytes(b"something" * 1000)


@sqlite_only
@pytest.mark.parametrize("lose", [Path.unlink, empty, empty_beside_a_log])
def test_indexes_without_their_database_are_no_empty_service(
    settings: Settings,
    open_container: Callable[[], Container],
    indexed: list[str],
    lose: Callable[[Path], object],
) -> None:
    path = settings.data_dir / "groundwork.db"
    kept = path.read_bytes()
    before = sorted(settings.data_dir.rglob("*"))
    lose(path)
    with pytest.raises(StartupError, match=r"missing or empty.*lexical, chroma and generations"):
        open_container()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    path.write_bytes(kept)
    assert sorted(settings.data_dir.rglob("*")) == before
    container = open_container()
    assert len(container.vector_index.chunk_ids()) == len(indexed)


@postgres_only
def test_a_new_database_of_postgres_beside_indexes_is_refused(
    settings: Settings, open_container: Callable[[], Container], indexed: list[str]
) -> None:
    database = Database(settings.resolved_database_url)
    database.migrate("base")
    database.close()
    before = sorted(settings.data_dir.rglob("*"))
    with pytest.raises(StartupError, match=r"missing or empty.*lexical, chroma and generations"):
        open_container()
    assert sorted(settings.data_dir.rglob("*")) == before


@sqlite_only
def test_who_deletes_the_indexes_too_begins_with_nothing(
    settings: Settings, open_container: Callable[[], Container], indexed: list[str]
) -> None:
    (settings.data_dir / "groundwork.db").unlink()
    for folder in ("lexical", "chroma", "generations"):
        shutil.rmtree(settings.data_dir / folder, ignore_errors=True)
    assert open_container().vector_index.chunk_ids() == set()


def test_a_stop_while_the_index_is_mended_leaves_nothing_unmended(
    settings: Settings, open_container: Callable[[], Container], indexed: list[str]
):
    lose_records(settings, indexed[:25])
    open_container().close()
    container = open_container()
    container.settle()
    assert container.vector_index.status.ready
    assert container.maintenance.verify().problems == ()


def test_searches_are_complete_while_the_index_is_mended(
    settings: Settings, open_container: Callable[[], Container], indexed: list[str]
):
    lose_records(settings, indexed[:25])
    assert len(open_container().vector_index.chunk_ids()) == len(indexed)


def test_a_python_that_gives_files_other_names_is_refused(
    settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "iso8859-1")
    with pytest.raises(StartupError, match=r"iso8859-1 .* PYTHONUTF8=1"):
        Container.open(settings, embedder=embedder)
    assert not (settings.data_dir / PROCESS_NAME).exists()


def test_a_start_that_fails_for_want_of_a_model_takes_no_trust_away(
    settings: Settings, indexed: list[str]
):
    wrong = settings.model_copy(update={"embedding_model": "no/such-model"})
    with pytest.raises(StartupError, match="no/such-model"):
        Container.open(wrong)
    assert (settings.data_dir / "stopped-cleanly").exists()


def test_a_start_that_fails_after_the_model_was_opened_closes_it_and_takes_no_trust_away(
    settings: Settings, indexed: list[str]
):
    model = FakeEmbedder()
    wrong = settings.model_copy(update={"lexical_language": "klingon"})
    with pytest.raises(SettingError, match="klingon"):
        Container.open(wrong, open_model=lambda _: model)
    with pytest.raises(EmbeddingError, match="closed"):
        model.embed_query("still open?")
    assert (settings.data_dir / "stopped-cleanly").exists()


def test_a_start_that_fails_once_threads_run_ends_them_before_another_process_may_begin(
    settings: Settings,
    open_container: Callable[[], Container],
    indexed: list[str],
    monkeypatch: pytest.MonkeyPatch,
):
    """They would go on writing to a data directory that somebody else holds by then."""

    def refuse(*_: object, **__: object) -> None:
        raise StorageError("The disk is full.")

    before = set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr(claim_queries, "requeue_running", refuse)
        with pytest.raises(StartupError, match="disk is full"):
            open_container()
    assert set(threading.enumerate()) <= before
    assert len(open_container().vector_index.chunk_ids()) == len(indexed)


@pytest.mark.parametrize(
    ("part", "step"), [("indexer", "close"), ("_keeper", "seal"), ("database", "close")]
)
def test_a_close_that_ctrl_c_cut_short_is_taken_up_by_the_next(
    open_container: Callable[[], Container],
    indexed: list[str],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    step: str,
) -> None:
    container = open_container()
    with monkeypatch.context() as patch:
        patch.setattr(getattr(container, part), step, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            container.close()
    with pytest.raises(StartupError, match="in use"):
        open_container()
    container.close()
    # Indexes that were closed before it are checked by the next start.
    assert (settings.data_dir / "stopped-cleanly").exists() == (part == "indexer")
    following = open_container()
    assert sorted(following.vector_index.chunk_ids()) == indexed
    following.close()
