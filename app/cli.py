"""The `groundwork` command: serves, indexes, searches and looks after a data directory."""

import json
import os
from contextlib import AbstractContextManager
from importlib.metadata import version as installed_version
from typing import Annotated, Any

import typer

from app.command import display, reports
from app.command.backend import Backend, Backends, LocalBackend
from app.command.evaluation import evaluate
from app.command.options import ItemId, Json, Url, refuse_url, split_tags
from app.command.remote import open_remote
from app.command.shell import EPILOG, FAILED, PROBLEMS, Commands, flush_results
from app.command.sources import Wishes, index_source
from app.errors import StartupError
from app.fault_points import arm
from app.knowledge.schemas import DocumentType, Item, ItemPage, Status
from app.rag.schemas import RemovalResult
from app.rag.search_schemas import SearchBody

# What needs the model or Chroma is imported where it is used: `--help` must not wait for it.
# ruff: noqa: PLC0415

app = typer.Typer(
    cls=Commands,
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks show the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _backends(ctx: typer.Context) -> Backends:
    if isinstance(ctx.obj, Backends):
        return ctx.obj
    return Backends(local=_open_local, remote=open_remote)


def _open_local(*, any_model: bool = False) -> AbstractContextManager[LocalBackend]:
    from app.command.local import open_local

    return open_local(any_model=any_model)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"groundwork {installed_version('groundwork')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    """Hand it documents, folders and web sites; ask where something is said; get the lines."""
    arm(os.environ)  # by tests that kill it


app.command("eval")(evaluate)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on [HOST].")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one [PORT].")
    ] = None,
) -> None:
    """Run the HTTP server until Ctrl-C."""
    from app.command.serving import serve as run_server
    from app.settings import Settings

    given: dict[str, Any] = {"host": host, "port": port}
    try:
        run_server(Settings(**{name: v for name, v in given.items() if v is not None}))
    except StartupError as error:
        display.complain(error.detail)
        raise typer.Exit(FAILED) from error


@app.command()
def index(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="PATH|URL", help="A file, a folder or a web page.")
    ],
    title: Annotated[str | None, typer.Option(help="Default: the name.")] = None,
    category: Annotated[str | None, typer.Option(help="Such as Engineering/Security.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    licence: Annotated[str | None, typer.Option(help="SPDX identifier.")] = None,
    document_type: Annotated[
        DocumentType | None, typer.Option("--type", help="Default: guessed.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Read again what seems unchanged.")] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Index a file, folder or web page, or bring it up to date."""
    wishes = Wishes(title, category, split_tags(tag), licence, document_type)
    try:
        with (
            _backends(ctx).choose(url) as backend,
            display.indexing_progress(source) as progress,
        ):
            indexed = index_source(backend, source, wishes, force=force, progress=progress)
    except KeyboardInterrupt:
        display.say("Stopped. What is indexed stays searchable; the same command goes on from it.")
        raise
    if as_json:
        display.print_json(indexed.result)
    else:
        reports.print_indexed(indexed)
    if not indexed.result.success:
        rest = "" if indexed.kept else " (nothing was added)"
        display.complain((indexed.result.error or "Indexing failed") + rest)
        raise typer.Exit(FAILED)


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="The question.")],
    n_results: Annotated[int, typer.Option("-n", min=1, max=100, help="How many results.")] = 5,
    category: Annotated[str | None, typer.Option(help="With everything below it.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Any of these; may be repeated.")] = None,
    knowledge_id: Annotated[
        list[int] | None, typer.Option("--id", min=1, help="Only these items; may be repeated.")
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out results under this cosine.")
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Find the passages that answer a question, and where they stand."""
    wanted = {
        "query": query,
        "n_results": n_results,
        "category": category,
        "tags": split_tags(tag),
        "knowledge_ids": knowledge_id or None,
        "min_score": min_score,
    }
    body = SearchBody.model_validate({k: v for k, v in wanted.items() if v is not None})
    with _backends(ctx).choose(url) as backend:
        answer = backend.search(body)
    for reason in answer.degraded:
        display.say(f"Note: {reason}")
    if as_json:
        display.print_json(answer)
        return
    reports.print_search(answer)
    if not answer.results:
        display.say("Nothing was found.")


@app.command("list")
def list_items(
    ctx: typer.Context,
    status: Annotated[Status | None, typer.Option(help="Only items of this status.")] = None,
    category: Annotated[str | None, typer.Option(help="With everything below it.")] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List the items."""
    with _backends(ctx).choose(url) as backend:
        items = _all_items(backend, status, category)
    if as_json:
        display.print_json(ItemPage(items=items, next_cursor=None, total=len(items)))
    elif items:
        reports.print_items(items)
    else:
        display.say("There are no such items. Add one: groundwork index PATH")


@app.command()
def show(ctx: typer.Context, knowledge_id: ItemId, url: Url = None, as_json: Json = False) -> None:
    """Show everything that is known of an item."""
    with _backends(ctx).choose(url) as backend:
        item = backend.item(knowledge_id)
    if as_json:
        display.print_json(item)
    else:
        reports.print_item(item)


@app.command()
def remove(
    ctx: typer.Context, knowledge_id: ItemId, url: Url = None, as_json: Json = False
) -> None:
    """Delete an item and everything indexed from it; its source is not touched."""
    with _backends(ctx).choose(url) as backend:
        backend.remove(knowledge_id)
    if as_json:
        display.print_json(RemovalResult(knowledge_id=knowledge_id, removed=True))
    else:
        display.say(f"Item {knowledge_id} is deleted.")


@app.command()
def stats(ctx: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Count what is stored and searchable."""
    with _backends(ctx).choose(url) as backend:
        counts = backend.stats()
    if as_json:
        display.print_json(counts)
    else:
        reports.print_stats(counts)


@app.command()
def generations(
    ctx: typer.Context,
    drop: Annotated[
        int | None, typer.Option(min=1, metavar="ID", help="Drop this one, which is only kept.")
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show what was cut and embedded how, and how far a change of that is.

    A server that is started with another model, CHUNK_SIZE or OVERLAP makes everything anew in
    the background and then switches; `groundwork rebuild` does it without a server.
    """
    with _backends(ctx).choose(url) as backend:
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


@app.command()
def verify(
    ctx: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is found.")] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Compare what SQL holds with itself and with both indexes.

    A running server does that by itself now and then, and mends the indexes.
    """
    refuse_url(url, "verify")
    with _backends(ctx).local() as backend, display.working("Comparing"):
        report = backend.verify(repair=repair)
    if as_json:
        display.print_json(report)
    else:
        reports.print_verified(report)
    if not report.clean:
        if not repair:
            display.say("`groundwork verify --repair` mends what it can.")
        raise typer.Exit(PROBLEMS)


@app.command()
def rebuild(
    ctx: typer.Context,
    embed: Annotated[
        bool, typer.Option("--embed", help="Also embed anew what has no vector, or a lost model's.")
    ] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Fill the indexes anew from SQL, with the model and splitter that the settings name."""
    refuse_url(url, "rebuild")
    with _backends(ctx).local(any_model=embed) as backend:
        with display.working("Embedding and rebuilding" if embed else "Rebuilding"):
            backend.rebuild(embed=embed)
        counts = backend.stats()
    if as_json:
        display.print_json(counts)
    else:
        display.say(
            f"The vector index holds {reports.counted(counts.vector_index_records, 'chunk')} again."
        )


@app.command()
def compact(ctx: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Give space back, and erase for good what was deleted."""
    refuse_url(url, "compact")
    with _backends(ctx).local() as backend, display.working("Compacting"):
        report = backend.compact()
    if as_json:
        display.print_json(report)
    else:
        reports.print_compacted(report)


@app.command()
def openapi() -> None:
    """Print the OpenAPI description of the HTTP interface."""
    from app.main import create_app

    document = json.dumps(create_app().openapi(), indent=2, sort_keys=True, ensure_ascii=False)
    typer.echo((document + "\n").encode(), nl=False)


@app.command()
def version() -> None:
    """Show the version."""
    _show_version(wanted=True)


def _all_items(backend: Backend, status: Status | None, category: str | None) -> list[Item]:
    items: list[Item] = []
    cursor: str | None = None
    while True:
        page = backend.page(status, category, None, cursor)
        items += page.items
        if page.next_cursor is None:
            return items
        cursor = page.next_cursor


def main() -> None:
    """Run the command line; ends the process with an exit code."""
    try:
        app(prog_name="groundwork")
    finally:
        flush_results()


if __name__ == "__main__":
    main()
