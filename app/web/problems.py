"""Errors as `application/problem+json` (RFC 9457): four handlers turn everything into it."""

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from app.errors import (
    AppError,
    InvalidRequestError,
    StorageError,
    UnavailableError,
)
from app.surviving import WENT_WRONG
from app.web.body_fields import unknown_field

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:groundwork:problem:"
ASKED_PATH = "groundwork.asked_path"
"""Key of a request's scope for the path that the client wrote, if `path` is the canonical one."""

_AS_THEY_ARE = "/!$&'()*+,;=:@"
"""What the path and the fragment of a URI may contain besides letters, digits and `-._~`."""

RETRY_AFTER_SECONDS = 5
RETRY_AFTER = {
    "headers": {
        "Retry-After": {
            "description": "Seconds after which the same may succeed.",
            "schema": {"type": "integer"},
        }
    }
}
"""What the OpenAPI schema says about it."""

_RFC_9110_PHRASES = {
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
"""Python only has this from 3.13 on, and our description must not depend on its version."""

MOST_VALIDATION_ERRORS = 50
"""A body with ten thousand wrong values does not need ten thousand complaints."""


class InvalidValue(BaseModel):
    """One value that was refused."""

    detail: str = Field(
        description="What is wrong.", examples=["Input should be less than or equal to 100"]
    )
    location: Literal["body", "query", "path", "header", "cookie"] = Field(
        "body", description="In which part of the request it stands."
    )
    pointer: str = Field(
        description="JSON pointer to the value within its location, as the fragment of a URI: what "
        "may not stand there is percent-encoded.",
        examples=["#/n_results"],
    )


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(
        description="Names the kind of error, for programs.", examples=[f"{TYPE_PREFIX}not-found"]
    )
    title: str = Field(description="The kind of error, for people.", examples=["Not found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(
        description="What is wrong and, where it can be said, what to do.",
        examples=["There is no knowledge item 42."],
    )
    instance: str = Field(
        description="Path of the request, as it was sent.", examples=["/api/v1/knowledge/42"]
    )
    errors: list[InvalidValue] | None = Field(
        None, description="With 422: each value that was refused."
    )


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of an operation for these error statuses, for the OpenAPI schema.

    403, 413 and 503 are always among them: the guards of origin and size stand before every
    operation, even one that takes no body, and all need the database.
    """
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {
            "description": _phrase(status),
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        | (RETRY_AFTER if status in (503, 507) else {})
        for status in sorted({403, 413, 503, *statuses})
    }


def _phrase(status: int) -> str:
    return _RFC_9110_PHRASES.get(status) or HTTPStatus(status).phrase


def located(status: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` entry of an operation that answers with a `Location`."""
    return {status: {"headers": {"Location": {"schema": {"type": "string"}}}}}


def problem_body(
    *, slug: str, title: str, status: int, detail: str, instance: str
) -> dict[str, Any]:
    """The body of a problem without `errors`, for what answers outside of FastAPI."""
    return Problem(
        type=TYPE_PREFIX + slug,
        title=title,
        status=status,
        detail=detail,
        instance=instance,
        errors=None,
    ).model_dump(exclude_none=True)


def install_problem_handlers(app: FastAPI) -> None:
    """Register the handlers of expected errors; a middleware calls `answer_unexpected`."""
    app.add_exception_handler(AppError, _answer_app_error)
    app.add_exception_handler(RequestValidationError, _answer_validation_error)
    app.add_exception_handler(HTTPException, _answer_http_exception)


def _respond(
    request: Request,
    *,
    slug: str,
    title: str,
    status: int,
    detail: str,
    errors: Sequence[InvalidValue] = (),
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    body = problem_body(
        slug=slug, title=title, status=status, detail=detail, instance=_asked_path(request)
    )
    if errors:
        body["errors"] = [error.model_dump() for error in errors]
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def _asked_path(request: Request) -> str:
    return uri_path(str(request.scope.get(ASKED_PATH, request.scope["path"])))


def uri_path(path: str) -> str:
    """A path as in a URI: what may not stand there is percent-encoded."""
    return quote(path, safe=_AS_THEY_ARE)


def _answer_app_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AppError)  # noqa: S101, registered for this class alone
    errors: list[InvalidValue] = []
    headers: dict[str, str] | None = None
    if isinstance(error, InvalidRequestError):
        errors = [InvalidValue(detail=error.detail, location=error.location, pointer=error.pointer)]
    if isinstance(error, UnavailableError | StorageError):
        if not error.is_told:
            logger.error("%s: %s", error.slug, error.logged)
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return _respond(
        request,
        slug=error.slug,
        title=error.title,
        status=error.status,
        detail=error.detail,
        errors=errors,
        headers=headers,
    )


def _answer_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101, registered for this class alone
    errors = [
        InvalidValue(
            detail=_sentence(request, fault),
            location=str(fault["loc"][0]),
            pointer=_pointer(_place(fault)),
        )
        for fault in error.errors()[:MOST_VALIDATION_ERRORS]
    ]
    detail = "; ".join(f"{fault.pointer}: {fault.detail}" for fault in errors[:3])
    return _respond(
        request,
        slug="invalid-request",
        title="Invalid request",
        status=422,
        detail=detail + ("; …" if len(errors) > 3 else ""),
        errors=errors,
    )


def _sentence(request: Request, fault: dict[str, Any]) -> str:
    if fault["type"] == "json_invalid":
        return f"This is no JSON: {fault['ctx']['error']} (character {fault['loc'][-1]})"
    if fault["loc"] == ("body",) and isinstance(fault["input"], bytes):
        # FastAPI hands on unread what is not said to be JSON; curl's -d says it is a form.
        return "The body is not said to be JSON: send the header Content-Type: application/json"
    if fault["type"] == "missing" and fault["loc"] == ("body",):
        return "The body is missing: a JSON object is needed"
    if fault["type"] == "model_attributes_type":
        return "Input should be a JSON object"
    if fault["type"] == "extra_forbidden" and fault["loc"][0] == "body":
        return unknown_field(request, fault["loc"])
    return str(fault["msg"]).removeprefix("Value error, ")


def _place(fault: dict[str, Any]) -> Sequence[int | str]:
    """Where the fault is in the body or in the parameters."""
    if fault["type"] == "json_invalid":
        return ()
    place: tuple[int | str, ...] = fault["loc"][1:]
    if place[-1:] == ("[key]",) and place[-2:-1] == (fault["input"],):
        return place[:-1]  # of a name that is wrong, Pydantic says so behind it
    return place


def _pointer(location: Sequence[int | str]) -> str:
    """JSON pointer as a URI fragment (RFC 6901, 6)."""
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in location)
    return "#" + quote("".join(f"/{part}" for part in parts), safe=_AS_THEY_ARE)


def _answer_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101, registered for this class alone
    phrase = _phrase(error.status_code)
    headers = dict(error.headers) if error.headers else None
    if error.status_code == 405:
        headers = {"Allow": ", ".join(_possible_methods(request))}
    return _respond(
        request,
        slug=phrase.lower().replace(" ", "-"),
        title=phrase.capitalize(),  # as our own errors of the same type have it
        status=error.status_code,
        detail=_http_detail(request, error, phrase),
        headers=headers,
    )


def _possible_methods(request: Request) -> list[str]:
    """All methods of the path; the router itself names only those of the first route it finds."""
    methods: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.path_regex.match(request.scope["path"]):
            methods |= route.methods or {"GET"}  # what is mounted are files
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _http_detail(request: Request, error: HTTPException, phrase: str) -> str:
    if error.status_code == 404:
        return f"There is nothing at {_asked_path(request)}. /docs lists what there is."
    if error.status_code == 405:
        possible = ", ".join(_possible_methods(request))
        return f"{request.method} is not possible at {_asked_path(request)}, but {possible}."
    if error.status_code == 400:
        return _unreadable_body(request, error)
    return error.detail or phrase


def _unreadable_body(request: Request, error: HTTPException) -> str:
    """Why a body cannot be read, if it may be JSON otherwise."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        return f"The body is said to be packed (Content-Encoding: {encoding}): send it unpacked."
    match error.__cause__:
        case UnicodeDecodeError() as cause:
            return f"The body is not text in UTF-8 (byte {cause.start})."
        case RecursionError():
            return "The body cannot be read: it is nested too deeply."
        case ValueError():
            return "The body cannot be read: a number in it has too many digits."
    return error.detail


def answer_unexpected(request: Request, error: Exception) -> JSONResponse:
    """Answer 500 to an unexpected error, and log it."""
    # The text of an unexpected exception may hold anything: it goes to the log, not to the client.
    logger.error("Unexpected error at %r", _asked_path(request), exc_info=error)
    return _respond(
        request,
        slug="internal-error",
        title="Internal error",
        status=500,
        detail=WENT_WRONG,
    )
