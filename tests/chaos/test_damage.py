"""Damage to the indexes on purpose, before a start and while serving: it heals by itself."""

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.adapters.vector_index.primary_keeper import CHECK_SECONDS
from tests.e2e.conftest import StartServer
from tests.e2e.server_process import ServerProcess, run_command, wait_until
from tests.folders import exchange, take_away

pytestmark = pytest.mark.slow

FILES = 60
Damage = Callable[[Path, Path, random.Random], None]


def delete(folder: Path, _older: Path, _chance: random.Random) -> None:
    take_away(folder)


def truncate(folder: Path, _older: Path, chance: random.Random) -> None:
    """Cut one file in two, and another somewhere."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    files = [path for path in files if path.suffix not in (".lock", ".json", ".pid")]
    for path in chance.sample(files, min(2, len(files))):
        with path.open("r+b") as file:
            file.truncate(chance.randrange(path.stat().st_size))


def put_back_an_older_copy(folder: Path, older: Path, _chance: random.Random) -> None:
    """As from a back-up: names, contents and times of then."""
    exchange(folder, older)


def copy_an_older_one_over(folder: Path, older: Path, _chance: random.Random) -> None:
    """Into the same folder: `rm -r folder/*; cp -a older/* folder`."""
    for path in folder.iterdir():
        if path.is_dir():
            take_away(path)
        else:
            path.unlink(missing_ok=True)  # or by the server, which has noticed
    shutil.copytree(older, folder, dirs_exist_ok=True)


@dataclass
class Shelf:
    """A server whose documents have changed since copies of its indexes were taken."""

    server: ServerProcess
    folder: Path
    older: Path
    knowledge_id: int

    def folder_of(self, index: str) -> Path:
        return self.server.data_dir / {"vector": "chroma", "lexical": "lexical"}[index]

    def older_of(self, index: str) -> Path:
        return self.older / self.folder_of(index).name

    def check_answers(self) -> None:
        """The newest words are found; those that were replaced or deleted are not."""
        for number in (0, 7, FILES - 1):
            expected = "newword" if number % 2 else "oldword"
            found = self.server.search(f"{expected}{number} lies at pier {number}", n_results=3)
            assert f"{expected}{number} " in found[0]["content"], found[0]["content"]
        everything = self.server.search("pier", n_results=100, mode="dense")
        texts = " ".join(result["content"] for result in everything)
        assert len(everything) == FILES
        assert not [n for n in range(1, FILES, 2) if f"oldword{n} " in texts]

    def healings(self, index: str) -> float:
        name = f'groundwork_index_healings_total{{index="{index}"}} '
        lines = self.server.http.get("/metrics").text.splitlines()
        return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    def wait_until_healed(self, index: str) -> None:
        def healed() -> bool:
            self.check_answers()
            ready = self.server.http.get("/health/ready").json()["status"] == "ready"
            return ready and self.healings(index) >= 1

        wait_until(healed, f"the {index} index is healed")

    def check_the_end(self) -> None:
        self.check_answers()
        assert "Traceback" not in self.server.log, self.server.log
        assert self.server.stop() == 0
        verified = run_command(self.server.environment, "verify", "--json")
        assert verified.returncode == 0, verified.stdout + verified.stderr


def write(folder: Path, number: int, word: str) -> None:
    text = f"# Pier {number}\n\nThe {word}{number} lies at pier {number} by the harbour wall.\n"
    (folder / f"{number:03}.md").write_text(text)


@pytest.fixture
def shelf(own_server: StartServer, own_sources: Path, tmp_path: Path) -> Shelf:
    """Stopped in order, with copies of both indexes from an earlier stop in order."""
    server = own_server().start()
    for number in range(FILES):
        write(own_sources, number, "oldword")
    (own_sources / "gone.md").write_text("# Gone\n\nThe wreck at no pier is to be forgotten.\n")
    shelf = Shelf(server, own_sources, tmp_path / "older", server.create(own_sources, "folder"))
    assert server.index(shelf.knowledge_id)["success"]
    assert server.stop() == 0
    for index in ("vector", "lexical"):
        shutil.copytree(shelf.folder_of(index), shelf.older_of(index))
    server.start()
    for number in range(1, FILES, 2):
        write(own_sources, number, "newword")
    (own_sources / "gone.md").unlink()
    assert server.index(shelf.knowledge_id)["success"]
    assert server.stop() == 0
    return shelf


INDEXES = pytest.mark.parametrize("index", ["vector", "lexical"])


@INDEXES
@pytest.mark.parametrize(
    "damage", [delete, put_back_an_older_copy], ids=lambda damage: damage.__name__
)
def test_damage_before_a_start_heals(shelf: Shelf, index: str, damage: Damage):
    damage(shelf.folder_of(index), shelf.older_of(index), random.Random(11))  # noqa: S311
    shelf.server.start()
    shelf.check_answers()
    shelf.wait_until_healed(index)
    shelf.check_the_end()


@INDEXES
@pytest.mark.parametrize("seed", range(5))
def test_a_cut_anywhere_before_a_start_heals(shelf: Shelf, index: str, seed: int):
    truncate(shelf.folder_of(index), shelf.older_of(index), random.Random(seed))  # noqa: S311
    shelf.server.start()
    shelf.check_answers()
    shelf.wait_until_healed(index)
    shelf.check_the_end()


@INDEXES
@pytest.mark.parametrize(
    "damage",
    [delete, put_back_an_older_copy, copy_an_older_one_over],
    ids=lambda damage: damage.__name__,
)
def test_damage_while_serving_heals(shelf: Shelf, index: str, damage: Damage):
    awake(shelf)
    damage(shelf.folder_of(index), shelf.older_of(index), random.Random(11))  # noqa: S311
    shelf.wait_until_healed(index)
    shelf.check_the_end()


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_through_chroma_while_serving_heals(shelf: Shelf, seed: int):
    awake(shelf)
    truncate(shelf.folder_of("vector"), shelf.older_of("vector"), random.Random(seed))  # noqa: S311
    shelf.wait_until_healed("vector")
    shelf.check_the_end()


def test_a_cut_through_a_mapped_file_ends_the_process_at_worst(shelf: Shelf):
    """Tantivy maps its files: reading beyond a cut is SIGBUS. Nothing else is answered wrong."""
    awake(shelf)
    truncate(shelf.folder_of("lexical"), shelf.older_of("lexical"), random.Random(3))  # noqa: S311
    try:
        shelf.wait_until_healed("lexical")
    except OSError:
        shelf.server.wait()
        shelf.server.start()  # what a supervisor does
        shelf.wait_until_healed("lexical")
    shelf.check_the_end()


def awake(shelf: Shelf) -> None:
    """Start, and write so that Chroma is open; wait until a look at its files has been taken."""
    shelf.server.start()
    write(shelf.folder, 0, "oldword")
    shelf.server.http.post(f"/api/v1/rag/index/{shelf.knowledge_id}", params={"force": "true"})
    extra = shelf.folder / "extra.md"
    extra.write_text("# Extra\n\nA line about ropes.\n")
    shelf.server.index(shelf.knowledge_id)
    extra.unlink()
    shelf.server.index(shelf.knowledge_id)
    complete = shelf.folder_of("vector") / "groundwork-complete.json"
    wait_until(
        lambda: shelf.server.stats()["pending_index_changes"] == 0 and complete.exists(),
        "both indexes have everything",
    )
    time.sleep(CHECK_SECONDS + 1)
