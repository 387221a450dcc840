"""Holds what the server shows against what it has answered, and against the files on the disk."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from app.fault_points import KILL_AT
from tests.chaos.ledger import FleetingItem, Ledger, Tree
from tests.chaos.visitor import Visitor
from tests.e2e.server_process import ServerProcess, run_command, wait_until

FOLDERS = 4
FILES_PER_FOLDER = 20
CHANGED_FILES = 5
EVERY_CHUNK = 100
"""The most results of a search: more than an item of ours has chunks."""


@dataclass
class Witness:
    """Changes files, has them indexed, and checks what became of that and of all else."""

    server: ServerProcess
    tree: Tree
    visitor: Visitor
    ledger: Ledger = field(default_factory=Ledger)
    promised: bool = True
    """Whether it was answered that the folders will be indexed as they are now."""

    def create_folders(self) -> None:
        """The items of the folders, indexed; they are never deleted."""
        for number in self.folder_items:
            folder = self.tree.root / f"folder-{number}"
            title = f"folder {number}"
            item_id = self.server.create(folder, "folder", title=title, category="Chaos")
            assert item_id == number
            assert self.server.index(item_id)["success"]

    def processes(self) -> list[psutil.Process]:
        """Processes of ours that work in the data directory."""
        named = str(self.server.data_dir)
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(named in argument for argument in process.info["cmdline"] or ())
        ]

    # Jobs ----------------------------------------------------------------------------------

    def change_and_index_all(self, **wishes: str) -> int:
        """Change files and have them indexed; gives the job."""
        self.promised = False
        self.tree.change_some(CHANGED_FILES)
        job_id = int(self._index_all(202, wait="false", **wishes)["id"])
        self.ledger.open_jobs[job_id] = None
        self.promised = True
        return job_id

    def _index_all(self, expected: int, **wishes: str) -> dict[str, Any]:
        answer = self.server.http.post("/api/v1/rag/index-all", params=wishes, timeout=300)
        assert answer.status_code == expected, answer.text
        return dict(answer.json())

    def state(self, job_id: int) -> str:
        answer = self.server.http.get(f"/api/v1/jobs/{job_id}")
        assert answer.status_code == 200, f"job {job_id} was acknowledged: {answer.text}"
        return str(answer.json()["state"])

    def has_ended(self, job_id: int) -> bool:
        return self.state(job_id) not in ("queued", "running")

    def generation_is_wanted(self) -> bool:
        """Whether what answers was made as the settings want."""
        listed = self.server.http.get("/api/v1/rag/generations").json()["generations"]
        return "building" not in {each["state"] for each in listed}

    # Checks --------------------------------------------------------------------------------

    def check(self) -> None:
        """Hold what is there after a kill against the ledger."""
        assert self.visitor.failures == []
        self._check_items()
        self._check_found()
        self._check_jobs()
        if not self.promised:
            self._index_all(200)
        self._check_settled()

    def check_a_copy(self) -> None:
        """Look at what a kill has left to the end, and leave it as it is for the next kill.

        A server is started on a copy of the data directory, held against all that was answered,
        stopped, and `groundwork verify` is run there.
        """
        copy = self._copy_of_the_server()
        witness = Witness(copy, self.tree, self.visitor, deepcopy(self.ledger), self.promised)
        try:
            copy.start()
            witness.check()
            witness.check_verified()
            assert "Traceback" not in copy.log, copy.log
        finally:
            copy.close()
        wait_until(lambda: not witness.processes(), "what the copy's server had started ends")
        shutil.rmtree(copy.data_dir)

    def _copy_of_the_server(self) -> ServerProcess:
        """One that has not been started, on a copy of the data directory as it is at one moment."""
        data_dir = self.server.data_dir
        copied = data_dir.with_name("as-the-kill-left-it")
        with suspended(self.processes()):  # what the killed server had started may still write
            shutil.copytree(data_dir, copied, ignore=shutil.ignore_patterns("models"))
        copy = ServerProcess(copied, self.tree.root, MODELS_DIR=data_dir / "models")
        if "CHUNK_SIZE" in self.server.environment:
            copy.environment["CHUNK_SIZE"] = self.server.environment["CHUNK_SIZE"]
        return copy

    def _check_items(self) -> None:
        """Every item that was answered is there, every deletion holds."""
        ledger, http = self.ledger, self.server.http
        for item_id, item in sorted(ledger.fleeting.items()):
            answer = http.get(f"/api/v1/knowledge/{item_id}")
            if item.is_perhaps_deleted and answer.status_code == 404:
                ledger.deleted.add(item_id)
                del ledger.fleeting[item_id]
                continue
            assert answer.status_code == 200, f"item {item_id} was acknowledged: {answer.text}"
            assert answer.json()["title"] in item.titles
            item.titles, item.is_perhaps_deleted = {answer.json()["title"]}, False
        for item_id in self.folder_items:
            assert self.server.item(item_id)["title"] == f"folder {item_id}"
        deleted = sorted(ledger.deleted)[-50:]
        for item_id in deleted:
            assert http.get(f"/api/v1/knowledge/{item_id}").status_code == 404
        if deleted:
            assert self.server.search("harbor", knowledge_ids=deleted, n_results=100) == []

    def _check_found(self) -> None:
        """What is found is one version, whole and once; what was acknowledged is found."""
        for item_id in self.folder_items:
            self._documents_found(item_id, self.tree)
        for item_id, item in sorted(self.ledger.fleeting.items()):
            self._check_fleeting(item_id, item)

    def _check_fleeting(self, item_id: int, item: FleetingItem) -> None:
        found = self._documents_found(item_id, self.visitor.tree)
        assert set(found) <= {item.path}
        if item.is_searchable:
            assert item.path in found, f"item {item_id} was acknowledged and is not found"
        for version in found.values():
            assert version >= item.least_version, f"item {item_id} is back at an older text"

    def _documents_found(self, item_id: int, tree: Tree) -> dict[Path, int]:
        """The documents of an item as searches show them, each with its version."""
        found = self.server.search("harbor tide", knowledge_ids=[item_id], n_results=EVERY_CHUNK)
        assert len(found) < EVERY_CHUNK, "more chunks than one search shows"
        assert len({result["chunk_id"] for result in found}) == len(found)
        by_document: dict[Path, list[dict[str, Any]]] = {}
        for result in found:
            by_document.setdefault(Path(result["document_uri"]), []).append(result)
        return {path: tree.version_of(path, chunks) for path, chunks in by_document.items()}

    def _check_jobs(self) -> None:
        """What was promised gets done."""
        for job_id, item_id in sorted(self.ledger.open_jobs.items()):
            wait_until(lambda job_id=job_id: self.has_ended(job_id), f"job {job_id} ends")
            state = self.state(job_id)
            may_stop = item_id is not None and item_id in self.ledger.stopped_items
            assert state == "succeeded" or (may_stop and state in ("cancelled", "failed")), job_id
        self.ledger.open_jobs.clear()

    def _check_settled(self) -> None:
        """Each file of the folders is found once and as it is; deleted ones are not found."""
        found: dict[Path, int] = {}
        for item_id in self.folder_items:
            found |= self._documents_found(item_id, self.tree)
        assert found == {path: len(self.tree.versions[path]) - 1 for path in self.tree.files()}

    def check_verified(self) -> None:
        """The database and both indexes agree; leaves the server stopped."""
        assert self.server.stop() == 0
        environment = {k: v for k, v in self.server.environment.items() if k != KILL_AT}
        verified = run_command(environment, "verify", "--json")
        assert verified.returncode == 0, verified.stdout + verified.stderr

    def check_the_end(self) -> None:
        """After the last check: nothing is embedded again, the counts agree, all is sound."""
        server = self.server
        wait_until(self.generation_is_wanted, "what answers is of the wanted size")
        first, again = self._index_all(200), self._index_all(200)
        assert sum(result["chunks_embedded"] for result in again["results"]) == 0
        assert again["chunks_indexed"] == first["chunks_indexed"]
        wait_until(
            lambda: server.http.get("/health/ready").json()["status"] == "ready", "all is mended"
        )
        stats = wait_until(
            lambda: (now := server.stats())["pending_index_changes"] == 0 and now, "it settles"
        )
        names = ("vector_index_records", "lexical_index_records", "total_chunks")
        # Not what index-all counts: an item whose file is gone keeps its chunks, and fails.
        items = server.http.get("/api/v1/knowledge", params={"limit": 200}).json()["items"]
        expected = sum(item["chunk_count"] for item in items)
        assert [stats[name] for name in names] == [expected] * 3
        self.check_verified()
        wait_until(lambda: not self.processes(), "what killed servers had started ends")

    @property
    def folder_items(self) -> range:
        return range(1, FOLDERS + 1)


@contextlib.contextmanager
def suspended(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Let these processes do nothing meanwhile; those that have ended are left alone."""
    held = [process for process in processes if _is_held(process)]
    try:
        yield
    finally:
        for process in held:
            process.resume()


def _is_held(process: psutil.Process) -> bool:
    """Hold a process; False if it has ended."""
    over = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    try:
        process.suspend()
        wait_until(lambda: process.status() in (psutil.STATUS_STOPPED, *over), "it is held")
        return process.status() not in over
    except psutil.NoSuchProcess:
        return False
