"""Rules for all that a request says: known names, given once, numbers written in one way."""

import re
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Query, Request
from fastapi._compat import ModelField, field_annotation_is_sequence
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import ParamTypes
from fastapi.routing import APIRoute
from pydantic import BeforeValidator, Field
from starlette.requests import ClientDisconnect

from app.json_numbers import LARGEST_ID

WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)")
MOST_NAME_CHARACTERS = 100
MOST_ENTRIES = 200
LONGEST_BODY_OF_NOTHING = len("null")
"""Or `{}`: what some clients send where there is nothing to say."""


def _digits_only(value: object) -> object:
    if isinstance(value, str) and not WHOLE_NUMBER.fullmatch(value):
        raise ValueError("must be a whole number, written in digits alone")
    return value


Digits = BeforeValidator(_digits_only)
"""So that `1.0`, `01` and ` 1` are not further addresses of what is at `1`."""

IdParameter = Annotated[int, Field(ge=1, le=LARGEST_ID), Digits]

PageLimit = Annotated[
    Annotated[int, Field(ge=1, le=MOST_ENTRIES), Digits],
    Query(description=f"Most entries of the page, 1 to {MOST_ENTRIES}."),
]


async def refuse_unknown_parameters(request: Request) -> None:
    """Answer 422 to a query parameter that the operation does not have: most likely a typo.

    The same for one that is not text in UTF-8: it would be read as other characters.
    """
    query: bytes = request.scope["query_string"]
    if not query:
        return
    _require_text(query)
    route = request.scope["route"]
    assert isinstance(route, APIRoute)  # noqa: S101, only our operations depend on this
    parameters = _query_parameters(route)
    _require_single_values(request, parameters)
    known = [parameter.alias for parameter in parameters]
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        there_are = f"there are: {', '.join(known)}" if known else "this operation has none"
        raise RequestValidationError(
            [
                {
                    "type": "extra_forbidden",
                    "loc": ("query", name),
                    "msg": f"There is no parameter {name[:MOST_NAME_CHARACTERS]!r}; {there_are}",
                }
                for name in unknown
            ]
        )


async def refuse_unread_body(request: Request) -> None:
    """Answer 422 to a body where the operation takes none: what it says would not be heeded."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)  # noqa: S101, only our operations depend on this
    if route.body_field is None and await _says_something(request):
        known = ", ".join(parameter.alias for parameter in _query_parameters(route))
        instead = f"parameters of its address: {known}" if known else "no parameters either"
        raise RequestValidationError(
            [
                {
                    "type": "unread_body",
                    "loc": ("body",),
                    "msg": f"This operation takes no body; it has {instead}",
                    "input": None,
                }
            ]
        )


async def _says_something(request: Request) -> bool:
    """Whether there is a body, by its declared length, or else by the first of what streams in."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal():
        return int(declared[:20]) > LONGEST_BODY_OF_NOTHING
    if "transfer-encoding" not in request.headers:
        return False
    received = 0
    try:
        async for part in request.stream():
            received += len(part)
            if received > LONGEST_BODY_OF_NOTHING:  # the rest may never end
                return True
    except ClientDisconnect:
        return True  # what it was about to say is not known
    return False


def _query_parameters(route: APIRoute) -> list[ModelField]:
    return [
        parameter
        for parameter in get_flat_params(route.dependant)
        if getattr(parameter.field_info, "in_", None) is ParamTypes.query
    ]


def _require_text(query: bytes) -> None:
    for pair in query.split(b"&"):
        name, _, value = (unquote_to_bytes(part) for part in pair.partition(b"="))
        try:
            name.decode(), value.decode()
        except UnicodeDecodeError as error:
            raise RequestValidationError(
                [
                    {
                        "type": "no_text",
                        "loc": ("query", name.decode(errors="replace")[:MOST_NAME_CHARACTERS]),
                        "msg": f"It is not text in UTF-8 (byte {error.start})",
                    }
                ]
            ) from error


def _require_single_values(request: Request, parameters: Sequence[ModelField]) -> None:
    """Answer 422 to several values where one is taken: nothing tells which of them was meant."""
    single = [
        parameter.alias
        for parameter in parameters
        if not field_annotation_is_sequence(parameter.field_info.annotation)
    ]
    repeated = {name: len(request.query_params.getlist(name)) for name in single}
    errors = [
        {
            "type": "too_many_values",
            "loc": ("query", name),
            "msg": f"{name!r} is given {times} times, and takes one value",
        }
        for name, times in repeated.items()
        if times > 1
    ]
    if errors:
        raise RequestValidationError(errors)


KNOWN_PARAMETERS_ONLY = [Depends(refuse_unknown_parameters), Depends(refuse_unread_body)]
"""The `dependencies` of every router of the API. Sound searches pass them by, and refuse to pass by
any other: see `search_route.py`."""
