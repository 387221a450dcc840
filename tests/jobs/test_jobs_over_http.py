"""Jobs as a client sees them."""

import pytest
from fastapi.testclient import TestClient

from app.database import Database
from app.jobs import claim_queries
from app.jobs.schemas import FOR_THE_WORKER
from app.jobs.service import JobService
from app.jobs.worker import JobWorker
from app.protocols import Progress, SourceNote
from tests.web.problem_checks import assert_problem

JOBS = "/api/v1/jobs"


def test_a_job_is_answered_whole(client: TestClient, jobs: JobService) -> None:
    job_id = jobs.add("index", {"knowledge_id": 7, "force": False}).id
    job = client.get(f"{JOBS}/{job_id}").json()
    assert job["id"] == job_id
    assert job["kind"] == "index"
    assert job["arguments"] == {"knowledge_id": 7, "force": False}
    assert job["state"] == "queued"
    assert job["progress"] == {
        "documents_found": 0,
        "documents_done": 0,
        "documents_skipped": 0,
        "chunks_embedded": 0,
        "chunks_total": 0,
        "documents_loaded": 0,
        "documents_split": 0,
        "documents_stored": 0,
        "chunks_split": 0,
        "skipped": [],
    }


def test_progress_and_result_are_answered(
    client: TestClient, jobs: JobService, database: Database
) -> None:
    def work(_arguments: object, listener: object) -> dict[str, object]:
        note = SourceNote("a.png", "not a text document")
        listener(Progress(3, 2, 1, 10, 12, skipped=(note,)))  # type: ignore[operator]
        return {"success": True}

    job_id = jobs.add("index", {}).id
    JobWorker(database, {"index": work}, 1).drain()
    job = client.get(f"{JOBS}/{job_id}").json()
    assert job["state"] == "succeeded"
    assert job["result"] == {"success": True}
    assert list(job["progress"].values())[:5] == [3, 2, 1, 10, 12]
    assert job["progress"]["skipped"] == [{"uri": "a.png", "reason": "not a text document"}]


def test_the_result_is_what_the_operation_would_have_answered(
    client: TestClient, jobs: JobService, database: Database
) -> None:
    one = {"success": True, "knowledge_id": 1}
    told = one | dict.fromkeys(FOR_THE_WORKER)
    answers = [(told, one), ({"results": [told]}, {"results": [one]})]
    for number, (kept, expected) in enumerate(answers):
        job_id = jobs.add("index", {"knowledge_id": number}).id
        JobWorker(database, {"index": lambda *_, kept=kept: kept}, 1).drain()
        assert client.get(f"{JOBS}/{job_id}").json()["result"] == expected


def test_jobs_are_listed_newest_first_page_by_page(client: TestClient, jobs: JobService) -> None:
    made = [jobs.add("index", {"knowledge_id": number}).id for number in range(1, 6)]
    listed: list[int] = []
    query: dict[str, int] = {"limit": 2}
    while True:
        page = client.get(JOBS, params=query).json()
        listed += [job["id"] for job in page["items"]]
        # What comes in meanwhile belongs before the first page.
        jobs.add("index", {"knowledge_id": 10 + len(listed)})
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert listed == made[::-1]


def test_jobs_are_listed_by_state(client: TestClient, jobs: JobService) -> None:
    queued, cancelled = (jobs.add("index_all", {"force": force}).id for force in (True, False))
    jobs.cancel(cancelled)
    for state, expected in (("queued", [queued]), ("cancelled", [cancelled]), ("running", [])):
        page = client.get(JOBS, params={"state": state}).json()
        assert [job["id"] for job in page["items"]] == expected


def test_a_queued_job_is_cancelled_and_retried(client: TestClient, jobs: JobService) -> None:
    job_id = jobs.add("index", {"force": False}).id
    assert client.post(f"{JOBS}/{job_id}/cancel").json()["state"] == "cancelled"
    assert client.post(f"{JOBS}/{job_id}/retry").json()["state"] == "queued"


def test_a_job_that_has_not_ended_cannot_be_retried(
    client: TestClient, jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    assert_problem(client.post(f"{JOBS}/{job_id}/retry"), 409, "conflict")
    with database.write() as session:
        claim_queries.claim_job(session)
    assert_problem(client.post(f"{JOBS}/{job_id}/retry"), 409, "conflict")
    assert client.post(f"{JOBS}/{job_id}/cancel").json()["state"] == "running"


def test_a_running_job_says_that_it_was_asked_to_stop(
    client: TestClient, jobs: JobService, database: Database
) -> None:
    job_id = jobs.add("index", {}).id
    with database.write() as session:
        claim_queries.claim_job(session)
    assert client.get(f"{JOBS}/{job_id}").json()["cancel_requested"] is False
    for job in (client.post(f"{JOBS}/{job_id}/cancel"), client.get(f"{JOBS}/{job_id}")):
        assert (job.json()["state"], job.json()["cancel_requested"]) == ("running", True)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/1"), ("POST", "/1/cancel"), ("POST", "/1/retry")]
)
def test_an_unknown_job_is_404(client: TestClient, method: str, path: str) -> None:
    assert_problem(client.request(method, JOBS + path), 404, "not-found")


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("/0", "#/job_id"),
        ("/x", "#/job_id"),
        (f"/{2**70}", "#/job_id"),
        ("?limit=0", "#/limit"),
        ("?limit=201", "#/limit"),
        ("?limit=01", "#/limit"),
        ("?cursor=x", "#/cursor"),
        ("?cursor=01", "#/cursor"),
        (f"?cursor={2**70}", "#/cursor"),
        ("?state=lost", "#/state"),
    ],
)
def test_what_cannot_be_is_refused(client: TestClient, path: str, pointer: str) -> None:
    assert_problem(client.get(JOBS + path), 422, "invalid-request", pointer)
