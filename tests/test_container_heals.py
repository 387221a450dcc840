"""A service whose index files were exchanged between two runs, or while it rests, notices."""

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from app.adapters.lexical_index.tantivy_store import COMPLETE_NAME
from app.container import Container
from app.knowledge.items import ItemDraft
from app.search.requests import SearchRequest
from app.settings import Settings
from tests.databases import Databases, sqlite_only
from tests.e2e.server_process import wait_until
from tests.fakes import FakeEmbedder
from tests.folders import exchange, take_away
from tests.patience import PATIENCE_SECONDS
from tests.slow import slow

OpenContainer = Callable[[], Container]
FILES = 30


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service of every test lies: a copy of it is sound at no other place."""
    return tmp_path_factory.mktemp("healing")


@pytest.fixture
def source_root(place: Path) -> Path:
    return place / "sources"


@pytest.fixture
def settings(settings: Settings, place: Path) -> Settings:
    own = {"data_dir": place / "data", "index_care_interval_seconds": 0, "vector_index": "chroma"}
    return settings.model_copy(update=own)


def healings(container: Container, index: str) -> float:
    name = f'groundwork_index_healings_total{{index="{index}"}} '
    lines = container.metrics.exposition().decode().splitlines()
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))


@pytest.fixture
def older(
    open_container: OpenContainer,
    settings: Settings,
    source_root: Path,
    place: Path,
    tmp_path_factory: pytest.TempPathFactory,
    databases: Databases,
) -> Path:
    """Copies of both indexes from an earlier stop; the service has changed and stopped since.

    Made once, and put back for every test: it takes two seconds. A database of PostgreSQL lies
    elsewhere, so there it is made for each.
    """
    kept = tmp_path_factory.getbasetemp() / f"{place.name}-kept"
    shutil.rmtree(place)
    if kept.exists():
        shutil.copytree(kept, place)
    else:
        source_root.mkdir(parents=True)
        use_and_change(open_container, settings, source_root)
        if not databases.is_postgres:
            shutil.copytree(place, kept)
    return place / "older"


def use_and_change(open_container: OpenContainer, settings: Settings, source_root: Path) -> None:
    first = open_container()
    first.knowledge.create(ItemDraft("piers", str(source_root), "folder"))
    for number in range(FILES):
        (source_root / f"{number}.md").write_text(f"# Pier {number}\n\nThe old{number} is here.\n")
    assert first.indexer.index(1).success
    first.close()
    for name in ("chroma", "lexical"):
        shutil.copytree(settings.data_dir / name, settings.data_dir.with_name("older") / name)
    second = open_container()
    for number in range(0, FILES, 2):
        (source_root / f"{number}.md").write_text(f"# Pier {number}\n\nThe new{number} is here.\n")
    (source_root / "1.md").unlink()
    assert second.indexer.index(1).success
    second.close()


def check(container: Container) -> None:
    """Both indexes hold what SQL holds, and the newest words are found by either."""
    assert container.maintenance.verify().problems == ()
    for mode in ("lexical", "dense"):
        request = SearchRequest("new4", n_results=100, mode=mode)
        assert container.searcher.search(request).results[0].content.endswith("new4 is here.\n")
    request = SearchRequest('"old4"', n_results=5, mode="lexical")
    assert container.searcher.search(request).results == ()


def test_what_was_stopped_in_order_is_trusted(older: Path, open_container: OpenContainer):
    container = open_container()
    container.settle()
    assert container.vector_index.rests, "nobody had to look"
    assert healings(container, "vector") == healings(container, "lexical") == 0
    check(container)


@pytest.mark.parametrize(("index", "folder"), [("vector", "chroma"), ("lexical", "lexical")])
def test_an_older_copy_put_back_is_noticed_at_the_start(
    older: Path, open_container: OpenContainer, settings: Settings, index: str, folder: str, caplog
):
    shutil.rmtree(settings.data_dir / folder)
    shutil.copytree(older / folder, settings.data_dir / folder)
    container = open_container()
    container.settle()
    assert healings(container, index) == 1
    assert any("index" in record.message for record in caplog.records if record.levelno >= 20)
    check(container)


def test_an_index_that_was_out_of_use_for_a_while_is_not_trusted(
    older: Path,
    open_container: OpenContainer,
    settings: Settings,
    source_root: Path,
    embedder: FakeEmbedder,
):
    """Without Chroma for one run: what it holds then is of the run before."""
    without_chroma = settings.model_copy(update={"vector_index": "exact"})
    without = Container.open(without_chroma, embedder=embedder)
    (source_root / "4.md").write_text("# Pier 4\n\nThe new4 is here.\n\nSo is the crane.\n")
    assert without.indexer.index(1).success
    without.close()
    container = open_container()
    container.settle()
    assert not container.vector_index.rests
    assert healings(container, "vector") == 1


@sqlite_only
def test_an_older_database_beside_newer_indexes_is_noticed_at_the_start(
    older: Path, open_container: OpenContainer, settings: Settings, source_root: Path
):
    shutil.copy(settings.data_dir / "groundwork.db", older / "groundwork.db")
    container = open_container()
    (source_root / "7.md").write_text("# Pier 7\n\nThe latest7 is here.\n")
    container.indexer.index(1)
    container.close()
    shutil.copy(older / "groundwork.db", settings.data_dir / "groundwork.db")
    restored = open_container()
    restored.settle()
    assert healings(restored, "vector") == healings(restored, "lexical") == 1
    check(restored)


def test_an_older_copy_put_back_while_chroma_rests_is_noticed_when_it_is_opened(
    older: Path, open_container: OpenContainer, settings: Settings, source_root: Path
):
    container = open_container()
    container.settle()
    assert container.vector_index.rests
    exchange(settings.chroma_directory, older / "chroma")
    (source_root / "7.md").write_text("# Pier 7\n\nThe latest7 is here.\n")
    container.indexer.index(1)
    container.settle()
    assert healings(container, "vector") == 1
    check(container)


def test_damage_that_nobody_met_while_chroma_rested_is_met_at_the_next_start(
    older: Path, open_container: OpenContainer, settings: Settings
):
    container = open_container()
    exchange(settings.chroma_directory, older / "chroma")
    container.close()
    again = open_container()
    again.settle()
    assert healings(again, "vector") == 1
    check(again)


def test_replaced_files_are_noticed_while_serving_and_not_sealed_at_the_stop(
    older: Path, open_container: OpenContainer, settings: Settings, source_root: Path
):
    container = open_container()
    (source_root / "7.md").write_text("# Pier 7\n\nThe latest7 is here.\n")
    container.indexer.index(1)
    container.settle()
    assert container.vector_index.status.ready
    for folder in ("chroma", "lexical"):
        exchange(settings.data_dir / folder, older / folder)
    assert not container.vector_index.status.ready
    assert not container.lexical_index.status.ready
    container.close()
    again = open_container()
    again.settle()
    check(again)


@pytest.mark.parametrize(("index", "folder"), [("vector", "chroma"), ("lexical", "lexical")])
def test_verify_says_which_index_had_to_be_made_good_before_it_was_compared(
    older: Path, open_container: OpenContainer, settings: Settings, index: str, folder: str
):
    shutil.rmtree(settings.data_dir / folder)
    shutil.copytree(older / folder, settings.data_dir / folder)
    report = open_container().rag.verify()
    assert [sentence.split()[1] for sentence in report.healed] == [index]
    assert "made good as it was opened" in report.healed[0]
    assert (report.clean, report.problems) == (True, ())


@pytest.mark.parametrize("was_clean", [False, True], ids=["restored", "folders_deleted"])
def test_indexes_that_are_not_there_are_not_called_damaged(
    older: Path,
    open_container: OpenContainer,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    *,
    was_clean: bool,
):
    """As after the database alone was put into an empty data directory."""
    for folder in ("chroma", "lexical"):
        shutil.rmtree(settings.data_dir / folder)
    if not was_clean:
        (settings.data_dir / "stopped-cleanly").unlink()
    container = open_container()
    report = container.rag.verify()
    for index in ("vector", "lexical"):
        assert f"The {index} index is not there: it is made from the database." in caplog.messages
        assert healings(container, index) == 1
    assert not [each for each in caplog.messages if "damaged" in each or "was closed" in each]
    assert len(report.healed) == 2
    assert all("was not on the disk; it was made" in sentence for sentence in report.healed)
    assert (report.clean, report.problems) == (True, ())
    check(container)
    container.close()
    again = open_container()
    assert again.rag.verify().healed == ()


def test_an_index_that_was_made_and_then_deleted_while_serving_is_told_as_both(
    older: Path, open_container: OpenContainer, settings: Settings
):
    shutil.rmtree(settings.data_dir / "lexical")
    container = open_container()
    container.settle()
    take_away(settings.data_dir / "lexical")
    assert not container.lexical_index.status.ready
    wait_until(lambda: healings(container, "lexical") == 2, "the lexical index is healed")
    told = container.rag.verify().healed
    assert ["was not on the disk" in each for each in told] == [True, False]


def test_a_command_does_not_wait_long_for_an_index_that_cannot_be_made(
    older: Path, settings: Settings, embedder: FakeEmbedder
):
    for folder in ("chroma", "lexical"):
        shutil.rmtree(settings.data_dir / folder)
        (settings.data_dir / folder).touch()
    with closing(Container.open(settings, embedder=embedder, run_jobs=False)) as container:
        assert container.parts.indexes.settle(PATIENCE_SECONDS)
        assert not container.vector_index.status.ready
        assert not container.lexical_index.status.ready


def test_verify_says_nothing_of_indexes_that_are_sound(older: Path, open_container: OpenContainer):
    assert open_container().rag.verify().healed == ()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("change", "was_clean"),
    [
        ({"analyser_version": 0}, False),
        ({"language": "german"}, True),
        slow({"analyser_version": 0}, True),
        slow({"language": "german"}, False),
    ],
    ids=["version-killed", "language-stopped", "version-stopped", "language-killed"],
)
def test_an_index_of_another_version_is_made_anew_and_nobody_speaks_of_damage(
    older: Path,
    open_container: OpenContainer,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    *,
    change: dict[str, int | str],
    was_clean: bool,
):
    """As after an upgrade whose analyser is another, and after LEXICAL_LANGUAGE was changed."""
    note = settings.data_dir / "lexical" / COMPLETE_NAME
    note.write_text(json.dumps(json.loads(note.read_text()) | change))
    if not was_clean:
        (settings.data_dir / "stopped-cleanly").unlink()
    caplog.set_level(logging.INFO)
    container = open_container()
    container.settle()
    assert (warnings(caplog), healings(container, "lexical")) == ([], 0)
    assert any("of another version of Groundwork" in message for message in caplog.messages)
    assert container.rag.verify().healed == ()
    check(container)
    take_away(settings.data_dir / "lexical")
    assert not container.lexical_index.status.ready
    wait_until(lambda: healings(container, "lexical") == 1, "what is lost then is healed")
    assert warnings(caplog)


@pytest.mark.parametrize("chunk_sizes", [(400,), (400, 200)], ids=["there", "and_back"])
def test_indexes_of_a_next_generation_are_made_and_nobody_speaks_of_damage(
    older: Path,
    settings: Settings,
    embedder: FakeEmbedder,
    caplog: pytest.LogCaptureFixture,
    chunk_sizes: Sequence[int],
):
    for chunk_size in chunk_sizes:
        changed = settings.model_copy(update={"chunk_size": chunk_size})
        with closing(Container.open(changed, embedder=embedder)) as container:
            container.wait_for_renewal()
            container.settle()
            assert container.vector_index.status.ready
            check(container)
            assert (warnings(caplog), dict(container.metrics.healed)) == ([], {})
