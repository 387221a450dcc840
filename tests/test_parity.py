"""What is written down twice is equal, and what was agreed holds: read from the code itself."""

import ast
import dataclasses
import functools
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from app import errors
from app.adapters.text_analysis import symbols
from app.command import sources
from app.indexing.results import IndexingResult
from app.jobs.schemas import FOR_THE_WORKER, JobKind
from app.main import create_app
from app.metrics import Metrics
from app.rag import schemas as rag_schemas
from app.rag.indexing_jobs import IndexingJobs, IndexingParts
from app.settings import Settings, env_example
from app.text_suffixes import MARKDOWN_SUFFIXES, TEXT_SUFFIXES

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "app").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
"""What is written for people."""

MAY_SURVIVE_FAILURES = {
    "app/generations/renewal.py": 1,
    "app/surviving.py": 1,
    "app/indexing/preparing.py": 1,
    "app/indexing/writer_thread.py": 1,
}
"""The loops of the threads that must not end, and that over the documents of an item, of which one
that meets a mistake of ours must not keep the others out. The other place is the handler of
problems, which is handed to the layer that catches."""

MAY_HAND_OVER_BASE_EXCEPTION = {"app/indexing/prefetch.py": 1, "app/indexing/writer_thread.py": 1}
"""Threads that pass an error on to the thread that waits for their work."""

MAY_HAVE_SQL_BESIDE_QUERIES = {
    "app/database.py",
    "app/knowledge/existing_items.py",
    "app/knowledge/index_changes.py",
    "app/models.py",
    "app/numbering.py",
    "app/search/candidate_filter.py",
    "app/search/document_labels.py",
    "app/search/neighbours.py",
    "app/search/scope.py",
}
"""The tables, what several packages need within their own transactions, and parts of a search that
are a statement and what is made of its rows."""

DOCKERFILE = ROOT / "Dockerfile"
SNAPSHOT = ROOT / "tests" / "openapi.json"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "groundwork.json"
METHODS = {"get", "post", "put", "patch", "delete"}


def as_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@functools.cache
def openapi() -> dict[str, Any]:
    return create_app(Settings(_env_file=None)).openapi()


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that a module is made of."""
    return tuple(ast.walk(parsed(path)))


def operations() -> dict[str, dict[str, Any]]:
    """Operations by what they are called, such as `get /health/live`."""
    return {
        f"{method} {path}": operation
        for path, item in openapi()["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def test_nobody_is_told_to_install_what_bears_our_name_in_the_public_index() -> None:
    by_name = re.compile(r"\bgroundwork\[\w+\]|\binstall\b[^\n`]*[\s'\"]groundwork(?![\w/-])")
    told = [
        str(page.relative_to(ROOT))
        for page in (*PAGES, *MODULES)
        if by_name.search(page.read_text(encoding="utf-8"))
    ]
    assert told == []


def test_env_example_lists_every_setting() -> None:
    assert (ROOT / ".env.example").read_text(encoding="utf-8") == env_example(), "make snapshots"


def test_a_complaint_about_settings_shows_none_of_them() -> None:
    secrets = {"openai_api_key": "sk-hush", "database_url": "postgresql://me:hush@host/db"}
    with pytest.raises(ValidationError) as refused:
        Settings(_env_file=None, chunk_size=100, overlap=200, **secrets)
    assert "overlap" in str(refused.value).lower()
    assert "hush" not in str(refused.value)


def test_every_setting_says_what_it_is_for() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name


def test_the_openapi_snapshot_is_what_the_service_describes() -> None:
    assert SNAPSHOT.read_text(encoding="utf-8") == as_text(openapi()), (
        "If the change is meant, write it down: make snapshots"
    )


def test_the_description_does_not_depend_on_the_environment(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=9\nCHROMA_COLLECTION_NAME=other\n", encoding="utf-8")
    changed = {
        "HOST": "0.0.0.0",
        "DATA_DIR": str(tmp_path / "data"),
        "CORS_ALLOW_ORIGINS": "https://app.example.com",
        "MAX_REQUEST_BYTES": "5000",
        "EMBEDDING_PROVIDER": "openai",
        "VECTOR_INDEX": "exact",
        "PYTHONHASHSEED": "1",
        "PYTHONPATH": str(ROOT),
    }
    program = (
        "import json; from app.main import create_app; print(json.dumps(create_app().openapi()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | changed,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == openapi()
    assert not (tmp_path / "data").exists()


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does() -> None:
    found = operations()
    names = [operation["operationId"] for operation in found.values()]
    assert len(names) == len(set(names))
    for name, operation in found.items():
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["operationId"].isidentifier(), name


def test_every_parameter_and_every_field_of_a_body_says_what_it_is_for() -> None:
    silent = [
        f"{name}: {parameter['name']}"
        for name, operation in operations().items()
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]
    schemas = openapi()["components"]["schemas"]
    bodies = {
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for operation in operations().values()
        if "requestBody" in operation
    }
    silent += [
        f"{body}: {name}"
        for body in sorted(bodies)
        for name, field in schemas[body]["properties"].items()
        if not field.get("description")
    ]
    assert bodies
    assert silent == []


def patterns_within(part: Any) -> Iterator[str]:
    """The regular expressions of a part of the description."""
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from patterns_within(each)


def test_models_of_pydantic_take_every_pattern_of_the_description() -> None:
    """Its regular expressions are Rust's, which look neither ahead nor back; nor do those of Go."""
    patterns = set(patterns_within(openapi()))
    assert patterns
    for pattern in patterns:
        TypeAdapter(Annotated[str, Field(pattern=pattern)])


def schemas_within(part: Any, schemas: dict[str, Any]) -> set[str]:
    """Names of the schemas that a part of the description is made of."""
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(part)))
    return names.union(*(schemas_within(schemas[name], schemas) for name in names))


def test_what_is_in_every_answer_is_said_to_be() -> None:
    """Else a reader has to ask first, with a generated client, whether a number is there."""
    schemas = openapi()["components"]["schemas"]
    answers = [
        answer
        for operation in operations().values()
        for status, answer in operation["responses"].items()
        if status.startswith("2")
    ]
    also_sent_or_only_what_was_set = {"CollectionLanguage", "StoredRanking"}
    may_be_missing = {
        f"{name}.{field}"
        for name in schemas_within(answers, schemas) - also_sent_or_only_what_was_set
        for field in schemas[name].get("properties", {}).keys() - schemas[name].get("required", ())
    }
    assert may_be_missing == {"IndexingResult.error"}  # the contract leaves it open


def test_every_operation_of_the_api_declares_problems_and_nothing_of_fastapis_own() -> None:
    for name, operation in operations().items():
        errors = {
            status: response
            for status, response in operation["responses"].items()
            if int(status) >= 400
        }
        if name.split()[1].startswith("/api/"):
            assert errors, name
            for status, response in errors.items():
                assert list(response["content"]) == ["application/problem+json"], (name, status)
        if "parameters" in operation or "requestBody" in operation:
            assert "422" in errors, name
        assert {"403", "413"} <= errors.keys(), name
    assert "HTTPValidationError" not in SNAPSHOT.read_text(encoding="utf-8")


def test_what_is_said_of_bodies_is_what_openapi_3_1_knows() -> None:
    """Validators, and the generators that begin with one, refuse a document with anything else."""
    assert openapi()["openapi"].startswith("3.1.")
    for name, operation in operations().items():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media_type in (each for body in bodies for each in body.get("content", {}).values()):
            known = {"schema", "example", "examples", "encoding"}
            assert all(key in known or key.startswith("x-") for key in media_type), name


def test_what_may_pass_is_declared_with_the_header_that_says_when_to_come_again() -> None:
    for name, operation in operations().items():
        for status in operation["responses"].keys() & {"503", "507"}:
            assert "Retry-After" in operation["responses"][status].get("headers", {}), (
                name,
                status,
            )


def test_a_job_shows_of_its_result_what_the_operation_answers() -> None:
    kept = {field.name for field in dataclasses.fields(IndexingResult)}
    assert kept - rag_schemas.IndexingResult.model_fields.keys() == FOR_THE_WORKER


def test_every_kind_of_job_that_is_run_has_a_name_for_clients() -> None:
    """They would be told that any other is unreadable."""
    handlers = IndexingJobs(cast("IndexingParts", None)).handlers()
    assert handlers.keys() == set(JobKind) - {JobKind.UNREADABLE}


def test_no_answer_is_declared_that_never_comes() -> None:
    found = operations()
    assert "503" not in found["get /health/live"]["responses"]  # it needs no part of the service
    replacing = found["put /api/v1/knowledge/{knowledge_id}"]["responses"]
    assert "409" not in replacing  # a whole item contradicts nothing but itself: 422


def test_the_short_paths_are_not_in_the_description() -> None:
    for path in openapi()["paths"]:
        assert path.startswith(("/api/v1/", "/health/", "/metrics")), path


def branches(error: type[errors.AppError], depth: int = 0) -> list[tuple[int, str, int]]:
    """An error and all below it: depth, name, status."""
    found = [(depth, error.__name__, error.status)]
    for kind in vars(errors).values():
        if isinstance(kind, type) and error in kind.__bases__:
            found += branches(kind, depth + 1)
    return found


def test_the_tree_of_errors_is_drawn_as_it_stands() -> None:
    drawn: list[tuple[int, str, int]] = []
    for line in re.findall(r"^[ │├└─]*\w+Error\b.*$", str(errors.__doc__), re.MULTILINE):
        name = re.search(r"\w+Error", line)
        assert name
        depth, status = name.start() // 4, re.search(r"\((\d{3})\)", line)
        above = next((said for at, _, said in reversed(drawn) if at < depth), 500)
        drawn.append((depth, name[0], int(status[1]) if status else above))
    assert drawn == branches(errors.AppError)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_in_one_sentence_what_it_is_for(path: Path) -> None:
    if path.name == "__init__.py" and not path.read_text(encoding="utf-8"):
        return
    docstring = ast.get_docstring(parsed(path))
    assert docstring
    assert docstring.splitlines()[0].rstrip().endswith((".", ":")), docstring.splitlines()[0]


def names_of_types(module: ast.Module) -> Iterator[str]:
    """The public classes of a module, and its names for other types; no type variables."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign) and "TypeVar" not in ast.unparse(node.value):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            continue
        yield from (name for name in names if re.match("[A-Z][A-Z]*[a-z]", name))


def test_the_name_of_a_type_stands_for_one_thing_beside_the_json_that_shows_it() -> None:
    modules_by_name: dict[str, list[str]] = {}
    for path in MODULES:
        for name in names_of_types(parsed(path)):
            modules_by_name.setdefault(name, []).append(path.stem)
    for name, modules in modules_by_name.items():
        records = [module for module in modules if not module.endswith("schemas")]
        assert len(records) <= 1, (name, modules)
        assert len(modules) - len(records) <= 1, (name, modules)


def test_the_dashboard_names_the_stages_of_a_search() -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    by_stage = next(panel for panel in panels if panel["title"].startswith("Search time by stage"))
    named = re.findall(r"(\w+):", by_stage["description"])
    assert set(named) == {"embed", "dense", "lexical", "fuse", "join", "total"}


def test_the_dashboard_counts_errors_of_which_a_counter_begins() -> None:
    """`increase` sees no rise in what a series begins with: an outage was 0 errors."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    errors_shown = next(panel for panel in panels if panel["title"].startswith("Errors"))
    (expression,) = [target["expr"] for target in errors_shown["targets"]]
    counter = 'groundwork_request_seconds_count{status=~"5.."}'
    risen = f"increase({counter}[1h]) and {counter} offset 1h"
    begun = f"max_over_time({counter}[1h])"
    assert expression == f"sum(({risen}) or {begun}) or vector(0)"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_module_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(r"(?<![\w/.])((?:app|tests|benchmarks|migrations)/[\w/.-]*[\w/])", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    names = set(re.findall(r"`(\w+\.py)`", text))
    assert names <= {path.name for path in MODULES} | {path.name for path in TESTS}


def test_the_dockerfile_takes_names_from_the_modules_that_define_them() -> None:
    """Building an image takes minutes, and nothing else looks at these lines."""
    imports = re.findall(r"from (app\.[\w.]+) import (\w+)", DOCKERFILE.read_text(encoding="utf-8"))
    assert imports
    for module, name in imports:
        assert vars(importlib.import_module(module))[name].__module__ == module


def test_the_manual_tells_of_every_metric() -> None:
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    endings = {"counter": "_total", "info": "_info"}
    names = {family.name + endings.get(family.type, "") for family in Metrics().registry.collect()}
    named = set(re.findall(r"`(groundwork_\w+)(?:\{[\w,]+\})?`", told))
    both = {name.replace("_found", "_mended") for name in named if "_drift_found_" in name}
    assert names == named | both


def test_the_readme_says_where_every_package_is() -> None:
    map_of_modules = (
        (ROOT / "README.md").read_text(encoding="utf-8").split("## Where things are")[1]
    )
    packages = {path.parent.relative_to(ROOT).as_posix() for path in MODULES} - {"app"}
    packages -= {"app/adapters"}  # its parts have lines of their own
    assert [name for name in sorted(packages) if f"`{name}/`" not in map_of_modules] == []


def test_every_text_that_folders_take_in_is_known_to_be_no_code() -> None:
    """Else names that prose happens to mention are shown as its symbols, and weigh as such."""
    code_without_fences = {".rst"}
    for suffix in set(TEXT_SUFFIXES) - code_without_fences:
        assert symbols.first_symbol(f"notes{suffix}", "class Prose:") is None


def test_the_readme_names_the_suffixes_of_what_folders_take_in() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    row = next(line for line in readme.splitlines() if line.startswith("| `folder` |"))
    assert re.findall(r"`(\.[^`\s]+(?: \.[^`\s]+)+)`", row) == [" ".join(TEXT_SUFFIXES)]


def test_the_command_takes_every_markdown_page_of_the_web_for_one() -> None:
    for suffix in MARKDOWN_SUFFIXES:
        assert sources.guess_document_type(f"https://example.com/notes{suffix}") == "markdown"


def test_sql_stands_in_queries_alone_but_for_what_is_named() -> None:
    statements = {"select", "insert", "update", "delete", "text"}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy")
        if statements & {name.name for name in node.names} and "queries" not in path.stem
    }
    assert found == MAY_HAVE_SQL_BESIDE_QUERIES


def test_application_code_never_commits() -> None:
    for path in MODULES:
        if path.parent.name == "lexical_index":
            continue  # tantivy has commits of its own
        for node in nodes(path):
            called = isinstance(node, ast.Attribute) and node.attr == "commit"
            assert not called, f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def test_nothing_draws_from_the_generator_that_the_whole_process_shares() -> None:
    for path in MODULES:
        for node in nodes(path):
            shared = isinstance(node, ast.Import) and any(
                name.name == "random" for name in node.names
            )
            if isinstance(node, ast.ImportFrom) and node.module == "random":
                shared = {name.name for name in node.names} != {"Random"}
            assert not shared, f"{path.relative_to(ROOT)}: app.chance has a generator of our own"


def caught_names(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    return {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}


def count_handlers(of: str, *, unless_raised_again: bool) -> dict[str, int]:
    """How many handlers catch this class, by module."""
    found: dict[str, int] = {}
    for path in MODULES:
        for node in nodes(path):
            if not isinstance(node, ast.ExceptHandler) or of not in caught_names(node):
                continue
            raised = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            if not (unless_raised_again and raised):
                name = path.relative_to(ROOT).as_posix()
                found[name] = found.get(name, 0) + 1
    return found


def test_only_what_must_not_end_survives_every_failure() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").count(" is_failure(")
        for path in MODULES
    }
    found["app/surviving.py"] -= 1  # where it is defined
    assert {name: count for name, count in found.items() if count} == MAY_SURVIVE_FAILURES
    assert count_handlers("Exception", unless_raised_again=False) == {}


def test_what_catches_even_more_raises_it_again_here_or_in_the_thread_that_waits() -> None:
    found = count_handlers("BaseException", unless_raised_again=True)
    assert found == MAY_HAND_OVER_BASE_EXCEPTION
