"""Another size of chunks, and the way back, on the real server and model."""

import threading
from pathlib import Path

import pytest

from tests.e2e.conftest import StartServer
from tests.e2e.server_process import ServerProcess, run_command, wait_until

TOPICS = ("granite", "harbours", "lighthouses", "tides", "ropes", "anchors", "sails", "charts")
SMALLER = {"CHUNK_SIZE": 200, "OVERLAP": 40}


def write_pages(folder: Path) -> None:
    for number, topic in enumerate(TOPICS):
        text = "\n\n".join(
            f"Sentence {line} of page {number} is about {topic} and how sailors speak of {topic}."
            for line in range(30)
        )
        (folder / f"{topic}.md").write_text(f"# About {topic}\n\n{text}\n")


def generations(server: ServerProcess) -> dict[int, dict]:
    listed = server.http.get("/api/v1/rag/generations").json()["generations"]
    return {each["id"]: each for each in listed}


def states(server: ServerProcess) -> dict[int, str]:
    return {number: each["state"] for number, each in generations(server).items()}


def embedded(server: ServerProcess) -> int:
    return int(server.stats()["total_embeddings"])


class Searches(threading.Thread):
    """Asks without pause, and notes every answer that is not what a user may expect."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__()
        self.server, self.count, self.faults, self.done = server, 0, [], threading.Event()

    def run(self) -> None:
        while not self.done.is_set():
            topic = TOPICS[self.count % len(TOPICS)]
            response = self.server.http.get("/api/v1/rag/search", params={"q": topic, "n": 3})
            self.count += 1
            found = [topic in result["content"] for result in response.json().get("results", ())]
            if found != [True] * 3:  # an index may be checked yet, after the kill
                self.faults.append(response.text)

    def finish(self) -> None:
        self.done.set()
        self.join()
        assert self.count > 0
        assert self.faults == []


@pytest.mark.slow
def test_smaller_chunks_and_back_without_a_gap_through_kills(
    own_server: StartServer, own_sources: Path
) -> None:
    write_pages(own_sources)
    usual = own_server().start()
    assert usual.index(usual.create(own_sources, "folder"))["success"]
    before = usual.search("ropes")
    known = embedded(usual)
    assert usual.stop() == 0

    smaller = own_server(**SMALLER).start()
    wait_until(lambda: 2 in generations(smaller), "the next generation is begun")
    smaller.kill()
    smaller.start()
    searches = Searches(smaller)
    searches.start()
    wait_until(lambda: states(smaller) == {1: "kept", 2: "current"}, "the switch")
    searches.finish()
    both = embedded(smaller)
    assert both > known
    ready = smaller.http.get("/health/ready").json()
    assert ready["parts"]["generation"]["detail"].startswith("2: all-MiniLM-L6-v2, recursive-")
    assert max(len(result["content"]) for result in smaller.search("ropes")) <= 200
    smaller.kill()

    back = own_server().start()
    wait_until(lambda: states(back) == {1: "current", 2: "kept"}, "the way back")
    assert embedded(back) == both, "nothing is embedded on the way back"
    assert back.search("ropes") == before
    assert back.stop() == 0
    verified = run_command(back.environment, "verify", "--json")
    assert verified.returncode == 0, verified.stdout
