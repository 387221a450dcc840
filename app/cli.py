"""The `groundwork` command: serves, indexes, searches and looks after a data directory."""

import errno
import json
import os
from contextlib import closing
from importlib.metadata import version as installed_version
from typing import Annotated, Any

import typer

from app.command import display, reports
from app.command.care import compact, generations, rebuild, verify
from app.command.choosing import backends_of
from app.command.evaluation import evaluate
from app.command.memory import bound_memory, put_off_collections
from app.command.options import ItemIdArgument, Json, Url, refuse_nan, split_tags
from app.command.shell import (
    EPILOG,
    FAILED,
    Commands,
    fail_to_write,
    flush_results,
    open_outlets,
    take_names_as_utf8,
)
from app.errors import SettingError, StartupError
from app.fault_points import arm
from app.json_numbers import LARGEST_ID
from app.knowledge.items import DocumentType, ItemStatus
from app.search.requests import Mode, SearchRequest

# Bodies, schemas and the service are imported by the command that needs them: `--help` takes 0.4 s
# of CPU without them, and 1.7 s with them.
# ruff: noqa: PLC0415

app = typer.Typer(
    cls=Commands,
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks show the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    """Hand it documents, folders and web pages; ask where something is said; get the lines."""
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
    put_off_collections()
    from app.assembly.model_ahead import ModelAhead
    from app.settings import settings_from_environment

    given: dict[str, Any] = {"host": host, "port": port}
    wanted = {name: value for name, value in given.items() if value is not None}
    try:
        settings = settings_from_environment(**wanted)
        with closing(ModelAhead(settings)) as model:
            from app.command.serving import serve as run_server

            run_server(settings, model.open)
    except SettingError:
        raise
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
    collection: Annotated[
        str | None, typer.Option(help="Default: CHROMA_COLLECTION_NAME, or as it was.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Read again what seems unchanged.")] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Index a file, folder or web page, or bring it up to date."""
    from app.command.indexing import Wishes, index_source

    wishes = Wishes(title, category, split_tags(tag), licence, document_type, collection)
    try:
        with (
            backends_of(ctx).choose(url) as backend,
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
        list[int] | None,
        typer.Option("--id", min=1, max=LARGEST_ID, help="Only these items; may be repeated."),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(help="Only documents at these paths, or globs as guide/**; may be repeated."),
    ] = None,
    collection: Annotated[str | None, typer.Option(help="Only what is in it.")] = None,
    mode: Annotated[Mode, typer.Option(help="By meaning, by words, or both.")] = SearchRequest.mode,
    min_score: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, callback=refuse_nan, help="Leave out results under this cosine."
        ),
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Find the passages that answer a question, and where they stand.

    A question that begins with a dash comes last: search -n 3 -- "--reload"
    """
    from app.rag.search_schemas import SearchBody

    wanted = {
        "query": query,
        "n_results": n_results,
        "category": category,
        "tags": split_tags(tag),
        "knowledge_ids": knowledge_id or None,
        "paths": path or None,
        "collection": collection,
        "mode": mode,
        "min_score": min_score,
    }
    body = SearchBody.model_validate({k: v for k, v in wanted.items() if v is not None})
    with backends_of(ctx).choose(url) as backend:
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
    status: Annotated[ItemStatus | None, typer.Option(help="Only items of this status.")] = None,
    category: Annotated[str | None, typer.Option(help="With everything below it.")] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List the items."""
    from app.command.backend import Listed, all_items
    from app.knowledge.schemas import ItemPage

    wanted = Listed(status=status, category=category)
    with backends_of(ctx).choose(url) as backend:
        items = list(all_items(backend, status=wanted.status, category=wanted.category))
    if as_json:
        display.print_json(ItemPage(items=items, next_cursor=None, total=len(items)))
    elif items:
        reports.print_items(items)
    else:
        display.say("There are no such items. Add one: groundwork index PATH")


@app.command()
def show(
    ctx: typer.Context, knowledge_id: ItemIdArgument, url: Url = None, as_json: Json = False
) -> None:
    """Show everything that is known of an item."""
    with backends_of(ctx).choose(url) as backend:
        item = backend.item(knowledge_id)
    if as_json:
        display.print_json(item)
    else:
        reports.print_item(item)


@app.command()
def remove(
    ctx: typer.Context, knowledge_id: ItemIdArgument, url: Url = None, as_json: Json = False
) -> None:
    """Delete an item and everything indexed from it; its source is not touched."""
    from app.rag.schemas import RemovalResult

    with backends_of(ctx).choose(url) as backend:
        backend.remove(knowledge_id)
    if as_json:
        display.print_json(RemovalResult(knowledge_id=knowledge_id, removed=True))
    else:
        display.say(f"Item {knowledge_id} is deleted.")


@app.command()
def stats(ctx: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Count what is stored."""
    with backends_of(ctx).choose(url) as backend:
        counts = backend.stats()
    if as_json:
        display.print_json(counts)
    else:
        reports.print_stats(counts)


for _care in (generations, verify, rebuild, compact):
    app.command()(_care)


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


def main() -> None:
    """Run the command line; ends the process with an exit code."""
    take_names_as_utf8()
    open_outlets()
    bound_memory()
    try:
        app(prog_name="groundwork")
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        fail_to_write(error)
    finally:
        flush_results()


if __name__ == "__main__":
    main()
