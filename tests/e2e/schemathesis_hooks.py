"""What OpenAPI cannot say of our requests: left out of the generated ones, tested elsewhere."""

from typing import Any
from urllib.parse import urlencode

import schemathesis

LONGEST_QUERY = 60_000
"""Longer addresses are refused below the application, which never sees them."""

REPEATABLE = {"tag", "tags", "knowledge_ids"}
"""Query parameters that are lists."""


@schemathesis.hook
def before_load_schema(
    _context: schemathesis.HookContext, raw_schema: dict[str, dict[str, Any]]
) -> None:
    """Have events checked as well: what describes them bears its name of OpenAPI 3.2 here."""
    answers = raw_schema["paths"]["/api/v1/jobs/{job_id}/events"]["get"]["responses"]
    stream = answers["200"]["content"]["text/event-stream"]
    stream["itemSchema"] = stream.pop("x-itemSchema")


@schemathesis.hook
def filter_case(_context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """Leave out what the description allows or forbids and the service takes otherwise.

    Among it ids such as 1.0, which JSON Schema calls integers: they are no address of item 1.
    """
    query = dict(case.query or {})
    return (
        not any(repeats(name, value) for name, value in query.items())
        and len(urlencode(query, doseq=True)) < LONGEST_QUERY
        and not made_up_cursor(query, case.path)
        and not any(isinstance(value, float) for value in (case.path_parameters or {}).values())
        and suits_its_type(case.body)
    )


def repeats(name: str, value: object) -> bool:
    """Whether a single-valued parameter is given several times: the last one counts."""
    return name not in REPEATABLE and isinstance(value, list | tuple | dict)


def made_up_cursor(query: dict[str, object], path: str) -> bool:
    """Whether a cursor is given that no answer can have held."""
    return "cursor" in query and path.endswith(("/knowledge", "/documents", "/history"))


def suits_its_type(body: object) -> bool:
    """Whether an address suits its document type, a rule across two fields."""
    if not isinstance(body, dict):
        return True
    uri = body.get("uri")
    remote = str(uri).lower().startswith(("http://", "https://"))
    return body.get("document_type") != ("folder" if remote else "website")
