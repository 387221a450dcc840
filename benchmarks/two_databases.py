"""The same small workload on SQLite and on PostgreSQL: `python -m benchmarks.two_databases`.

The model is the one of the tests, so that what is measured is the database and what stands around
it. Rounds on the two take turns, since a machine is not equally busy all the time.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from app.container import Container
from app.jobs.worker import JobWorker
from app.knowledge.items import ItemDraft, ItemFilter
from app.search.requests import SearchRequest
from app.settings import Settings
from tests.databases import Databases, PostgresDatabases, SqliteDatabases
from tests.fakes import FakeEmbedder
from tests.postgres_server import own_server

ROUNDS = 5
DOCUMENTS = 150
TIMES = 60
"""Of each small operation in a round."""


def write_documents(folder: Path) -> None:
    """Files of four paragraphs."""
    folder.mkdir()
    for number in range(DOCUMENTS):
        paragraphs = (
            f"Harbour {number} has pier {part}, a lighthouse and a crane. " * 3 for part in range(4)
        )
        (folder / f"{number}.md").write_text(f"# Harbour {number}\n\n" + "\n\n".join(paragraphs))


def round_of(databases: Databases, folder: Path) -> dict[str, float]:
    """Milliseconds of each operation, on a database of its own."""
    write_documents(folder / "sources")
    data_dir = folder / "data"
    data_dir.mkdir()
    settings = Settings(
        _env_file=None,
        data_dir=data_dir,
        database_url=databases.for_service(data_dir),
        source_roots=[folder / "sources"],
        vector_index="exact",
        disable_auto_indexing=True,
    )
    container = Container.open(settings, embedder=FakeEmbedder(), run_jobs=False)
    try:
        return _measured(container, str(folder / "sources"))
    finally:
        container.close()


def _measured(container: Container, uri: str) -> dict[str, float]:
    knowledge, found = container.knowledge, dict[str, float]()
    item = knowledge.create(ItemDraft("Harbours", uri, "folder", tags=("sea",)))
    found["index a document"] = _milliseconds(lambda: container.indexer.index(item.id), DOCUMENTS)
    found["index again, unchanged"] = _milliseconds(lambda: container.indexer.index(item.id))
    plain, narrow = SearchRequest("crane of pier 3"), SearchRequest("crane", tags=("sea",))
    container.searcher.search(plain)
    found["search"] = _each(lambda: container.searcher.search(plain))
    found["search, filtered"] = _each(lambda: container.searcher.search(narrow))
    draft = ItemDraft("Guide", "/srv/docs", "markdown", tags=("a", "b"))
    found["create an item"] = _each(lambda: knowledge.create(draft))
    found["list items"] = _each(lambda: knowledge.list(ItemFilter(tags=("a",)), "title", 50, None))
    worker = JobWorker(container.database, {"nothing": lambda *_: {}}, threads=1)
    found["promise and run a job"] = _each(lambda: _run_job(container, worker))
    worker.close()
    return found


def _run_job(container: Container, worker: JobWorker) -> None:
    container.jobs.add("nothing", {})
    worker.drain()


def _each(work: Callable[[], object]) -> float:
    return statistics.median([_milliseconds(work) for _ in range(TIMES)])


def _milliseconds(work: Callable[[], object], parts: int = 1) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000 / parts


def main() -> None:
    """Print the medians of all rounds, and their ratio."""
    rounds: dict[str, list[dict[str, float]]] = {"SQLite": [], "PostgreSQL": []}
    with tempfile.TemporaryDirectory(prefix="groundwork-bench-") as name, own_server({}) as server:
        template = Path(name) / "template"
        template.mkdir()
        kinds: dict[str, Databases] = {
            "SQLite": SqliteDatabases(template),
            "PostgreSQL": PostgresDatabases(server.url),
        }
        for number in range(ROUNDS):
            for kind, databases in kinds.items():
                folder = Path(name) / f"{kind}-{number}"
                folder.mkdir()
                rounds[kind].append(round_of(databases, folder))
        for databases in kinds.values():
            databases.close()
    print("| median of ms | SQLite | PostgreSQL | ratio |\n| --- | --- | --- | --- |")
    for operation in rounds["SQLite"][0]:
        here, there = (
            statistics.median(each[operation] for each in of_kind) for of_kind in rounds.values()
        )
        print(f"| {operation} | {here:.2f} | {there:.2f} | {there / here:.1f} |")


if __name__ == "__main__":
    main()
