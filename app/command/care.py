"""The commands that look after a data directory: what is made anew, compared, and given back."""

from typing import Annotated

import typer

from app.command import display, reports
from app.command.choosing import backends_of
from app.command.options import Json, NoUrl, Url, refuse_url
from app.command.shell import PROBLEMS
from app.json_numbers import LARGEST_ID


def generations(
    ctx: typer.Context,
    drop: Annotated[
        int | None,
        typer.Option(
            min=1, max=LARGEST_ID, metavar="ID", help="Drop this generation, if it is kept."
        ),
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show which model and splitter made what is stored, and how far a change is.

    A server that is started with another model, CHUNK_SIZE or OVERLAP builds a new generation in
    the background and then switches to it; `groundwork rebuild` does it without a server.
    """
    with backends_of(ctx).choose(url) as backend:
        if drop is not None:
            backend.drop_generation(drop)
        found = backend.generations()
    if as_json:
        display.print_json(found)
    else:
        reports.print_generations(found)
    for each in found.generations:
        if each.trouble:
            display.say(f"Generation {each.id} does not get on: {each.trouble}")


def verify(
    ctx: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is found.")] = False,
    url: NoUrl = None,
    as_json: Json = False,
) -> None:
    """Compare what SQL holds with itself and with both indexes.

    A running server does that by itself now and then, and mends the indexes.
    """
    refuse_url(url, "verify")
    with backends_of(ctx).local(must_exist=True) as backend, display.working("Comparing"):
        report = backend.verify(repair=repair)
    if as_json:
        display.print_json(report)
    else:
        reports.print_verified(report)
    if not report.clean:
        if not repair:
            display.say("`groundwork verify --repair` mends what it can.")
        raise typer.Exit(PROBLEMS)


def rebuild(
    ctx: typer.Context,
    embed: Annotated[
        bool, typer.Option("--embed", help="Also embed anew what has no vector, or a lost model's.")
    ] = False,
    url: NoUrl = None,
    as_json: Json = False,
) -> None:
    """Fill the indexes anew from SQL, with the model and splitter that the settings name."""
    refuse_url(url, "rebuild")
    with backends_of(ctx).local(any_model=embed, must_exist=True) as backend:
        with display.working("Embedding and rebuilding" if embed else "Rebuilding"):
            backend.rebuild(embed=embed)
        counts = backend.stats()
    if as_json:
        display.print_json(counts)
    else:
        display.say(
            f"The vector index holds {reports.counted(counts.vector_index_records, 'chunk')} again."
        )


def compact(ctx: typer.Context, url: NoUrl = None, as_json: Json = False) -> None:
    """Give space back, and erase for good what was deleted."""
    refuse_url(url, "compact")
    with backends_of(ctx).local(must_exist=True) as backend, display.working("Compacting"):
        report = backend.compact()
    if as_json:
        display.print_json(report)
    else:
        reports.print_compacted(report)
