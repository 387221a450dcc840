"""The stream of a job's progress, as a client reads it."""

import json

import pytest
from fastapi.testclient import TestClient

from app.jobs.service import JobService
from app.jobs.watching import JobWatch
from tests.light_service import LightService
from tests.web.problem_checks import assert_problem

JOBS = "/api/v1/jobs"


def events(text: str) -> list[tuple[str, dict[str, object]]]:
    """The events of a stream with their data."""
    read = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[0] != ":")
        read.append((fields["event"], json.loads(fields["data"])))
    return read


def test_the_stream_of_a_job_that_has_ended_is_its_end(
    client: TestClient, jobs: JobService
) -> None:
    job_id = jobs.cancel(jobs.add("index", {"knowledge_id": 7}).id).id
    answer = client.get(f"{JOBS}/{job_id}/events", headers={"Last-Event-ID": "17"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert events(answer.text) == [("end", client.get(f"{JOBS}/{job_id}").json())]


def test_a_stop_ends_the_stream_without_an_end_of_the_job(
    client: TestClient, jobs: JobService, service: LightService
) -> None:
    job_id = jobs.add("index", {}).id
    service.bell.stop()
    answer = client.get(f"{JOBS}/{job_id}/events")
    assert [name for name, _ in events(answer.text)] == ["progress"]


def test_the_head_of_a_stream_is_answered_at_once(client: TestClient, jobs: JobService) -> None:
    job_id = jobs.add("index", {}).id
    answer = client.head(f"{JOBS}/{job_id}/events")
    assert (answer.status_code, answer.text) == (200, "")


@pytest.mark.parametrize(
    ("path", "status", "slug"),
    [("4711/events", 404, "not-found"), ("x/events", 422, "invalid-request")],
)
def test_a_stream_that_cannot_be_is_a_problem_before_it_begins(
    client: TestClient, path: str, status: int, slug: str
) -> None:
    assert_problem(client.get(f"{JOBS}/{path}"), status, slug)


def test_an_unknown_parameter_of_the_stream_is_refused(
    client: TestClient, jobs: JobService
) -> None:
    job_id = jobs.add("index", {}).id
    answer = client.get(f"{JOBS}/{job_id}/events?form=1")
    assert_problem(answer, 422, "invalid-request", "#/form")


def test_a_stream_too_many_is_refused_and_told_when_to_come_again(
    client: TestClient, jobs: JobService, service: LightService
) -> None:
    job_id = jobs.cancel(jobs.add("index", {}).id).id
    service.job_watch = JobWatch(jobs, service.bell, most_watchers=1)
    service.job_watch._following = 1  # somebody follows, and does not end
    answer = client.get(f"{JOBS}/{job_id}/events")
    assert_problem(answer, 503, "overloaded")
    assert int(answer.headers["retry-after"]) > 0
