"""Jobs that were queued before an update are still there after it."""

import json
from pathlib import Path

from sqlalchemy import text

from app.database import Database
from app.jobs.service import JobService
from app.jobs.worker import JobWorker
from tests.databases import Databases

ADD = text(
    "INSERT INTO jobs (kind, arguments, state, attempts, furthest, cancel_requested, progress,"
    " created_at)"
    " VALUES ('index', :arguments, :state, 0, 0, :never, '{}', '2026-01-01 00:00:00.000000')"
)


def test_the_oldest_of_those_that_do_the_same_is_shared_and_none_is_lost(
    tmp_path: Path, databases: Databases
) -> None:
    database = Database(databases.empty(tmp_path))
    database.migrate("0004")
    same = [{"knowledge_id": 1, "force": False}, {"force": False, "knowledge_id": 1}]
    rows = [(same[0], "succeeded"), (same[0], "queued"), (same[1], "queued"), ({}, "queued")]
    with database.write() as session:
        for arguments, state in rows:
            session.execute(
                ADD, {"arguments": json.dumps(arguments), "state": state, "never": False}
            )
    database.migrate()
    jobs = JobService(database, on_queued=lambda: None)
    assert [job.state for job in jobs.list(None, None, 9)] == ["queued"] * 3 + ["succeeded"]
    assert jobs.add("index", same[1]).id == 2
    worker = JobWorker(database, {"index": lambda *_: {}}, 1)
    worker.drain()
    worker.close()
    assert {job.state for job in jobs.list(None, None, 9)} == {"succeeded"}
    database.migrate("base")
    database.close()
