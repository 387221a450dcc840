"""Names the fields that a body may have, for a client that sent another."""

from collections.abc import Sequence
from typing import get_args

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.web.parameters import MOST_NAME_CHARACTERS


def unknown_field(request: Request, location: Sequence[int | str]) -> str:
    """The message that there is no field at `location` (from "body" on), and which there are."""
    *above, name = location[1:]
    sentence = f"There is no field {str(name)[:MOST_NAME_CHARACTERS]!r}"
    model = _model_at(request, above)
    return f"{sentence}; there are: {', '.join(model.model_fields)}" if model else sentence


def _model_at(request: Request, path: Sequence[int | str]) -> type[BaseModel] | None:
    route = request.scope["route"]
    if not isinstance(route, APIRoute) or route.body_field is None:
        return None
    model = _model_in(route.body_field.field_info.annotation)
    for name in path:
        field = model.model_fields.get(str(name)) if model else None
        model = _model_in(field.annotation) if field else None
    return model


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model of an annotation: itself, or the one in a union with None."""
    kinds = (annotation, *get_args(annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)
