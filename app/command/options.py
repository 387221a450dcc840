"""Options that several commands share."""

import math
from typing import Annotated

import typer

from app.json_numbers import LARGEST_ID

Json = Annotated[bool, typer.Option("--json", help="Only JSON on stdout, for scripts.")]
Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="GROUNDWORK_URL",
        metavar="ADDRESS",
        help="Work on a running server, such as http://127.0.0.1:8000, instead of DATA_DIR.",
    ),
]
NoUrl = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="GROUNDWORK_URL",
        metavar="ADDRESS",
        help="Refused, here and in the variable: this works on DATA_DIR while no server holds it.",
    ),
]
"""Of a command that cannot work through a server, and must not seem to: see `refuse_url`."""

ItemIdArgument = Annotated[
    int, typer.Argument(metavar="ID", min=1, max=LARGEST_ID, help="Id of the item.")
]


def refuse_nan(value: float | None) -> float | None:
    """Callback of an option: refuse NaN, which no `min` or `max` holds back."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is no number.")
    return value


def refuse_url(url: str | None, command: str) -> None:
    """Say that a command cannot work through a server."""
    if url:
        raise typer.BadParameter(
            f"{command} works on the data directory itself, never through a server: stop the "
            "server and leave --url (and GROUNDWORK_URL) out.",
            param_hint="--url",
        )


def split_tags(given: list[str] | None) -> list[str] | None:
    """Tags may be repeated, written with commas, or both."""
    return [tag for part in given for tag in part.split(",")] if given else None
