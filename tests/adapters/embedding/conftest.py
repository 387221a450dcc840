"""The real model, converted once for all tests of this folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.model_files import find_model
from tests.e2e.first_start import FirstStart

FORBID_CONNECTIONS = """
import sys

def forbid(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        print("NETWORK", event, arguments[1:], file=sys.stderr, flush=True)
        raise PermissionError(event)

sys.addaudithook(forbid)
"""

EMBED = """
import json, sys
from pathlib import Path
from app.adapters.embedding.local import LocalEmbedder
embedder = LocalEmbedder.open("all-MiniLM-L6-v2", Path(sys.argv[1]), threads=1)
embedder.embed_documents(["a text", "another"])
embedder.embed_query("a query")
embedder.close()
heavy = [name for name in ("torch", "transformers", "sentence_transformers") if name in sys.modules]
print(json.dumps({"heavy": heavy}))
"""


@dataclass(frozen=True)
class Offline:
    """A process that could open no connection, and has ended."""

    home: Path
    finished: subprocess.CompletedProcess[str]


def run_without_network(folder: Path, code: str, *arguments: str) -> Offline:
    """Run code in a process where, as in every child of it, opening a connection is an error."""
    (folder / "sitecustomize.py").write_text(FORBID_CONNECTIONS)
    home = folder / "home"  # a fresh one: nobody has opted out of anything in it
    home.mkdir()
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    finished = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**inherited, "PYTHONPATH": str(folder), "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return Offline(home, finished)


@pytest.fixture(scope="session")
def model_directory(first_start: FirstStart) -> Path:
    """A folder of models that holds the converted default one."""
    assert first_start.exit_code == 0, first_start.log
    return first_start.models


@pytest.fixture(scope="session")
def open_local(model_directory: Path) -> Callable[[], LocalEmbedder]:
    return lambda: LocalEmbedder.open("all-MiniLM-L6-v2", model_directory, threads=2)


@pytest.fixture(scope="session")
def local_embedder(open_local: Callable[[], LocalEmbedder]) -> Iterator[LocalEmbedder]:
    """One embedder for all tests that leave it open."""
    embedder = open_local()
    yield embedder
    embedder.close()


@pytest.fixture
def packaged_copy(tmp_path: Path) -> Path:
    """A copy of the packaged model's folder, to be spoiled."""
    source = find_model("all-MiniLM-L6-v2").folder
    return Path(shutil.copytree(source, tmp_path / "model"))
