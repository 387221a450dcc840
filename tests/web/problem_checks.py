"""Checks that an answer is a problem as RFC 9457 and the contract describe it."""

from typing import Any


def assert_problem(response: Any, status: int, slug: str, pointer: str | None = None) -> None:
    """The answer is a problem of this status and kind; with `pointer`, one that points there."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"] == f"urn:groundwork:problem:{slug}"
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"].startswith("/")
    if status == 422:
        assert problem["errors"]
        assert all(error["pointer"].startswith("#") for error in problem["errors"])
    if pointer is not None:
        assert pointer in [error["pointer"] for error in problem["errors"]]
