"""The process that holds Chroma may die, hang or be left alone at any moment; all of it heals."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.adapters.vector_index.child_connection import TimeLimits
from app.adapters.vector_index.chroma import (
    HNSW_CONFIGURATION,
    ChromaVectorIndex,
    storable_metadata,
)
from app.adapters.vector_index.chroma_files import SYNC_THRESHOLD, IndexIdentity
from app.adapters.vector_index.chroma_process import ChromaProcessIndex
from app.adapters.vector_index.chroma_store import ChromaStore
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.errors import VectorIndexError
from app.protocols import VectorRecord
from tests.adapters.vector_index.stores import Table, failover
from tests.contracts.vector_index_contract import (
    DIMENSION,
    expected_order,
    records_of,
    unit_vectors,
)

IDENTITY = IndexIdentity("knowledge_base", DIMENSION, "model")
RECORDS = records_of(unit_vectors(200))
QUERY = unit_vectors(1, seed=1)[0]
ROOT = Path(__file__).parents[3]


class WatchedStore(ChromaStore):
    """A ChromaStore that remembers the processes it started."""

    def __init__(self, directory: Path, limits: TimeLimits | None = None) -> None:
        super().__init__(directory, IDENTITY, limits)
        self.started: list[ChromaProcessIndex] = []

    def open(self) -> ChromaProcessIndex:
        self.started.append(super().open())
        return self.started[-1]

    def recreate(self) -> ChromaProcessIndex:
        self.started.append(super().recreate())
        return self.started[-1]


@pytest.fixture
def store(tmp_path: Path) -> WatchedStore:
    return WatchedStore(tmp_path / "chroma", TimeLimits(searching=0.5, anything_else=0.5))


@pytest.fixture
def index(store: WatchedStore) -> Iterator[FailoverVectorIndex]:
    table = Table(RECORDS)
    index = failover(store, table)
    index.start(trusted=True)
    assert index.settle(60)
    assert index.status.ready
    yield index
    index.close()
    assert all(not psutil.pid_exists(process.pid) for process in store.started)


def kill(process: ChromaProcessIndex) -> None:
    os.kill(process.pid, signal.SIGKILL)


def stop(process: ChromaProcessIndex) -> None:
    os.kill(process.pid, signal.SIGSTOP)


def assert_healed(index: FailoverVectorIndex, store: WatchedStore, records: list[VectorRecord]):
    assert index.settle(60)
    assert index.status.ready
    assert index.degraded_reason is None
    assert len(store.started) >= 2
    assert index.chunk_ids() == {record.chunk_id for record in records}
    found = [hit.chunk_id for hit in index.search(QUERY, 10)]
    assert found == expected_order(records, QUERY, 10)
    assert store.started[-1].failure is None


@pytest.mark.parametrize("hurt", [kill, stop])
def test_a_process_that_dies_or_hangs_in_a_search_costs_nothing_and_is_replaced(
    index: FailoverVectorIndex, store: WatchedStore, hurt: Callable[[ChromaProcessIndex], None]
):
    hurt(store.started[-1])
    found = [hit.chunk_id for hit in index.search(QUERY, 10)]
    assert found == expected_order(RECORDS, QUERY, 10)
    assert_healed(index, store, RECORDS)


def test_a_process_killed_amid_writes_loses_nothing(
    index: FailoverVectorIndex, store: WatchedStore
):
    new = records_of(unit_vectors(600, seed=5), prefix="new")
    under_way = threading.Event()

    def kill_amid() -> None:
        under_way.wait()
        kill(store.started[0])

    killer = threading.Thread(target=kill_amid)
    killer.start()
    for start in range(0, len(new), 50):
        if start == 100:
            under_way.set()
        index.upsert(new[start : start + 50])
        assert len(index.search(QUERY, 300)) >= 200
    killer.join()
    index.remove([new[0].chunk_id])
    assert_healed(index, store, [*RECORDS, *new[1:]])


class SmallStore(WatchedStore):
    """A WatchedStore whose indexes count as swollen however small they are."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.made = threading.Semaphore(0)

    def recreate(self) -> ChromaProcessIndex:
        index = super().recreate()
        index.swollen_from_bytes = 0
        self.made.release()
        return index


def test_what_was_removed_does_not_stay_in_the_files_for_ever(tmp_path: Path):
    store, table = SmallStore(tmp_path / "chroma"), Table(RECORDS)
    index = failover(store, table)
    index.start(trusted=True)
    assert index.settle(60)
    assert store.made.acquire(timeout=1)
    living = RECORDS
    for number in range(8):
        new = records_of(unit_vectors(len(RECORDS), seed=number + 2), prefix=f"new{number}-")
        index.upsert(new)
        index.remove([record.chunk_id for record in living])
        living = new
        table.rows = {record.chunk_id: record for record in new}
    assert store.made.acquire(timeout=60)
    assert_healed(index, store, living)
    index.close()
    assert not store.made.acquire(blocking=False)
    assert not store.started[-1].is_swollen(len(living))
    assert all(not psutil.pid_exists(process.pid) for process in store.started)


def test_a_folder_that_is_deleted_under_it_heals(
    index: FailoverVectorIndex, store: WatchedStore, tmp_path: Path
):
    (tmp_path / "chroma").rename(tmp_path / "gone")
    kill(store.started[0])
    new = records_of(unit_vectors(20, seed=5), prefix="new")
    index.upsert(new)
    assert_healed(index, store, [*RECORDS, *new])


def test_a_call_to_a_process_that_is_gone_says_how_it_ended(tmp_path: Path):
    process = ChromaProcessIndex.start(tmp_path, "knowledge_base", DIMENSION, anew=True)
    process.upsert(RECORDS)
    kill(process)
    with pytest.raises(VectorIndexError, match="SIGKILL"):
        process.search(QUERY, 5)
    with pytest.raises(VectorIndexError, match="SIGKILL"):
        process.count()
    assert "SIGKILL" in (process.failure or "")
    process.close()


def test_opening_has_its_time(tmp_path: Path):
    with pytest.raises(VectorIndexError, match="did not answer within"):
        ChromaProcessIndex.start(
            tmp_path, "knowledge_base", DIMENSION, anew=True, limits=TimeLimits(opening=0.01)
        )


def test_a_process_for_which_no_file_can_be_opened_is_refused_with_its_reason(tmp_path: Path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(VectorIndexError, match=r"could not be started: .*Too many open files"):
            ChromaProcessIndex.start(tmp_path / "chroma", "knowledge_base", DIMENSION)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_index_of_another_dimension_is_refused_with_its_reason(tmp_path: Path):
    ChromaVectorIndex.open(tmp_path, "knowledge_base", DIMENSION).close()
    with pytest.raises(VectorIndexError, match="rebuild"):
        ChromaProcessIndex.start(tmp_path, "knowledge_base", DIMENSION + 1)


SERVICE = """
import sys
from pathlib import Path
from app.adapters.vector_index.chroma_process import ChromaProcessIndex
from tests.adapters.vector_index.test_chroma_process import RECORDS
process = ChromaProcessIndex.start(Path(sys.argv[1]), "knowledge_base", len(RECORDS[0].vector),
                                   anew=True)
process.upsert(RECORDS)
print(process.pid, flush=True)
while True:
    process.upsert(RECORDS)
"""


def test_when_the_service_is_killed_the_process_ends_by_itself_and_leaves_a_sound_index(
    tmp_path: Path,
):
    with subprocess.Popen(
        [sys.executable, "-c", SERVICE, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT
    ) as service:
        assert service.stdout is not None
        child = psutil.Process(int(service.stdout.readline()))
        service.kill()
    child.wait(30)
    index = ChromaVectorIndex.open(tmp_path, "knowledge_base", DIMENSION)
    assert index.chunk_ids() == {record.chunk_id for record in RECORDS}
    found = [hit.chunk_id for hit in index.search(QUERY, 10)]
    assert found == expected_order(RECORDS, QUERY, 10)
    index.close()


def test_ctrl_c_and_terminate_are_for_the_service(tmp_path: Path):
    process = ChromaProcessIndex.start(tmp_path, "knowledge_base", DIMENSION, anew=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(process.pid, number)
    assert process.count() == 0
    process.close()


def test_the_process_gets_none_of_the_descriptors_of_the_service(tmp_path: Path):
    with (tmp_path / "ours").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        process = ChromaProcessIndex.start(tmp_path / "c", "knowledge_base", DIMENSION, anew=True)
        opened = {file.path for file in psutil.Process(process.pid).open_files()}
        assert str(tmp_path / "ours") not in opened
        assert os.getsid(process.pid) == process.pid
        process.close()


def test_the_service_side_imports_no_chroma():
    code = "import sys, app.adapters.vector_index.failover, app.adapters.vector_index.chroma_store"
    code += "; sys.exit(any(name.startswith('chromadb') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


WITHOUT_A_SERVICE = """
import sys
from pathlib import Path
from app.adapters.vector_index import chroma_child
from tests.contracts.vector_index_contract import DIMENSION, records_of, unit_vectors
index = chroma_child.ChromaVectorIndex.open(Path(sys.argv[1]), "knowledge_base", DIMENSION)
records = records_of(unit_vectors(5))
index.upsert(records)
index.upsert(records)
assert index.search(records[3].vector, 1)[0].chunk_id == records[3].chunk_id
index.remove([records[3].chunk_id])
assert index.count() == len(index.chunk_ids()) == len(index.vectors(index.chunk_ids())) == 4
index.close()
sys.exit("chromadb" in sys.modules)
"""


def test_the_process_that_holds_chroma_imports_its_core_alone(tmp_path: Path):
    command = [sys.executable, "-c", WITHOUT_A_SERVICE, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)


CHROMAS_OWN_CLIENT = """
import json, sys, chromadb
client = chromadb.PersistentClient(sys.argv[1])
collection = client.get_collection("knowledge_base", embedding_function=None)
print(json.dumps([collection.get(include=["metadatas"])["metadatas"], collection.metadata]))
made = client.create_collection(
    "made", configuration={"hnsw": json.loads(sys.argv[2])}, embedding_function=None
)
assert made.configuration_json == collection.configuration_json
"""


def test_chromas_own_client_reads_what_was_stored_and_configures_as_we_do(tmp_path: Path):
    index = ChromaVectorIndex.open(tmp_path, "knowledge_base", DIMENSION)
    index.upsert(RECORDS[:3])
    index.close()
    hnsw = json.dumps({**HNSW_CONFIGURATION, "sync_threshold": SYNC_THRESHOLD})
    command = [sys.executable, "-c", CHROMAS_OWN_CLIENT, str(tmp_path), hnsw]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    stored = [storable_metadata(record) for record in RECORDS[:3]]
    assert json.loads(printed) == [stored, {"dimension": DIMENSION}]


def test_what_chroma_itself_refuses_is_told_in_its_words(tmp_path: Path):
    with pytest.raises(VectorIndexError, match=r"could not be opened in .*: .*3-512 characters"):
        ChromaProcessIndex.start(tmp_path, "no", DIMENSION, anew=True)


def test_a_child_whose_service_is_gone_ends_without_a_word(tmp_path: Path) -> None:
    ours, its = socket.socketpair()
    ours.close()
    command = [sys.executable, "-m", "app.adapters.vector_index.chroma_child"]
    with its:
        child = subprocess.run(
            [*command, str(tmp_path), "knowledge", "4", "open", "30"],
            stdin=its,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (child.returncode, child.stderr) == (0, b"")
