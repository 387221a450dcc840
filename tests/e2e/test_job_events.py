"""The real server tells how a job goes while it goes, and does not hang on who listens."""

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.conftest import StartServer
from tests.e2e.server_process import WAIT_SECONDS, ServerProcess

STOP_SECONDS = 10
FILES = 250
"""Of one chunk each: more than one group, so that there is something to see meanwhile."""

STAGES = ("found", "done", "loaded", "split", "stored")


def fill(folder: Path, files: int, *, words: int = 1) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(files):
        text = " ".join(f"plank{number}x{word}" for word in range(words))
        (folder / f"{number:03}.md").write_text(f"# Deck {number}\n\n{text}\n")


def promise(server: ServerProcess, folder: Path) -> int:
    """Promise to index the folder; gives the job."""
    item = server.create(folder, "folder")
    answer = server.http.post(f"/api/v1/rag/index/{item}", params={"wait": "false"})
    return int(answer.json()["id"])


def follow(server: ServerProcess, job: int, begun: threading.Event | None = None) -> list[Any]:
    """All events of a job, until the stream ends."""
    events: list[tuple[str, dict[str, Any]]] = []
    name = ""
    with (
        httpx.Client(base_url=server.url, timeout=WAIT_SECONDS, trust_env=False) as client,
        client.stream("GET", f"/api/v1/jobs/{job}/events") as answer,
    ):
        assert answer.status_code == 200
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((name, json.loads(line.removeprefix("data: "))))
                if begun is not None:
                    begun.set()
    return events


def test_a_job_tells_each_stage_as_it_goes_and_its_end(
    server: ServerProcess, shared_sources: Path
) -> None:
    fill(shared_sources / "decks", FILES)
    events = follow(server, promise(server, shared_sources / "decks"))
    assert [name for name, _ in events] == ["progress"] * (len(events) - 1) + ["end"]
    progress = [job["progress"] for _, job in events]
    assert any(0 < each["chunks_embedded"] < progress[-1]["chunks_embedded"] for each in progress)
    for each, later in itertools.pairwise(progress):
        assert all(each[f"documents_{stage}"] <= later[f"documents_{stage}"] for stage in STAGES)
    assert [progress[-1][f"documents_{stage}"] for stage in STAGES] == [FILES] * 5
    assert progress[-1]["chunks_split"] == progress[-1]["chunks_total"]
    assert events[-1][1]["state"] == "succeeded"
    assert "Traceback" not in server.log


def test_a_stop_ends_open_streams_at_once_and_without_an_end_of_the_job(
    own_server: StartServer, own_sources: Path
) -> None:
    fill(own_sources, 150, words=120)  # the model is at work when the stop comes
    server = own_server().start()
    job = promise(server, own_sources)
    begun = threading.Event()
    events: list[Any] = []
    following = threading.Thread(target=lambda: events.extend(follow(server, job, begun)))
    following.start()
    assert begun.wait(WAIT_SECONDS)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < STOP_SECONDS
    following.join(WAIT_SECONDS)
    assert {name for name, _ in events} == {"progress"}
    assert "Traceback" not in server.log


def test_a_client_that_goes_away_ends_its_stream(
    server: ServerProcess, shared_sources: Path
) -> None:
    fill(shared_sources / "few-decks", 20)
    job = promise(server, shared_sources / "few-decks")
    for _ in range(3):
        with server.http.stream("GET", f"/api/v1/jobs/{job}/events") as answer:
            next(answer.iter_lines())
    assert follow(server, job)[-1][0] == "end"
    assert "Traceback" not in server.log
