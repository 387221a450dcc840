"""The commands on a real service, reached directly and through a real server."""

import json
import os
from pathlib import Path

import httpx
import pytest
from sqlalchemy import update

from app.container import Container
from app.knowledge.items import ItemDraft
from app.models import DocumentRow
from tests.cli.conftest import Run

GUIDE = "# Guide\n\n## Tokens\n\nA token expires after ninety minutes.\n"


@pytest.fixture
def guide(source_root: Path) -> Path:
    path = source_root / "guide.md"
    path.write_text(GUIDE)
    return path


def test_what_was_indexed_is_found_with_a_place_to_jump_to(run: Run, guide: Path) -> None:
    indexed = run("index", guide)
    assert indexed.exit_code == 0
    assert f"Indexed {guide} (markdown) as item 1" in indexed.stdout
    assert "1 document, 1 chunk: 1 added" in indexed.stdout

    found = run("search", "when does a token expire?", "-n", 1)
    assert found.exit_code == 0
    assert f"{guide}:1  lines 1-5" in found.stdout
    assert "Guide" in found.stdout
    assert "A token expires after ninety minutes." in found.stdout


def test_a_second_index_updates_the_item_that_is_there(run: Run, guide: Path) -> None:
    assert run("index", guide, "--title", "Old", "--tag", "a,b").exit_code == 0
    again = run("index", f"file://{guide}", "--category", "Docs/Auth", "--json")
    assert json.loads(again.stdout)["chunks_embedded"] == 0

    page = json.loads(run("list", "--json").stdout)
    assert page["total"] == 1
    item = page["items"][0]
    assert (item["title"], item["tags"], item["category"]) == ("Old", ["a", "b"], "Docs/Auth")


def test_an_item_of_a_place_in_a_page_is_found_again_unless_the_page_has_one(
    run: Run, container: Container
) -> None:
    page = "http://127.0.0.1:9/page"
    place = container.knowledge.create(ItemDraft("Place", f"{page}#keys", "website")).id
    for number, written in enumerate((f"{page}#keys", page, f"{page}#locks")):
        run("index", written, "--category", str(number))
        assert container.knowledge.get(place).category == str(number), written
    whole = container.knowledge.create(ItemDraft("Whole", page, "website")).id
    run("index", f"{page}#keys", "--category", "whole")
    assert container.knowledge.get(whole).category == "whole"


def test_what_was_skipped_is_listed_ten_at_a_time_and_whole_as_json(
    run: Run, source_root: Path
) -> None:
    (source_root / "a.md").write_text(GUIDE)
    for number in range(12):
        (source_root / f"{number}.png").write_bytes(b"\x89PNG")
    text = run("index", source_root).stdout
    assert "12 skipped:" in text
    assert text.count(".png: ") == 10
    assert "and 2 more; --json lists all of them" in text
    result = json.loads(run("index", source_root, "--json").stdout)
    assert len(result["skipped"]) == 12


def test_a_mistyped_path_leaves_no_item(run: Run, source_root: Path) -> None:
    result = run("index", source_root / "nope.md")
    assert result.exit_code == 1
    assert "File not found" in result.stderr
    assert result.stdout == ""
    assert json.loads(run("list", "--json").stdout)["items"] == []


def test_a_type_as_which_an_item_cannot_be_read_leaves_it_as_it_was(run: Run, guide: Path) -> None:
    run("index", guide)
    failed = run("index", guide, "--type", "folder")
    assert failed.exit_code == 1
    assert "is a file, not a folder" in failed.stderr

    assert json.loads(run("show", 1, "--json").stdout)["document_type"] == "markdown"
    assert run("index", guide).exit_code == 0


def test_a_path_outside_the_roots_is_refused_with_the_settings_name(
    run: Run, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(GUIDE)
    result = run("index", outside)
    assert result.exit_code == 1
    assert "SOURCE_ROOTS" in result.stderr


def test_a_source_that_vanishes_fails_and_stays_searchable(run: Run, guide: Path) -> None:
    run("index", guide)
    guide.unlink()
    failed = run("index", guide, "--json")
    assert failed.exit_code == 1
    assert "File not found" in json.loads(failed.stdout)["error"]
    assert "nothing was added" not in failed.stderr
    assert "ninety minutes" in run("search", "token expires").stdout


def test_search_prints_the_json_of_the_http_interface(
    run: Run, guide: Path, server_url: str
) -> None:
    run("index", guide)
    printed = json.loads(run("search", "token", "--json").stdout)
    answered = httpx.get(f"{server_url}/api/v1/rag/search", params={"q": "token"}).json()
    del printed["duration_ms"], answered["duration_ms"]
    assert printed == answered
    assert list(printed) == list(answered)


def test_search_heeds_its_filters(run: Run, source_root: Path) -> None:
    for name, tag in (("one", "red"), ("two", "blue")):
        path = source_root / f"{name}.md"
        path.write_text(f"# {name}\n\napples and pears\n")
        labels = ("--tag", tag, "--category", f"Fruit/{name}", "--collection", f"of-{name}")
        run("index", path, *labels)

    def titles(*options: object, query: str = "apples") -> set[str]:
        answer = json.loads(run("search", query, "--json", *options).stdout)
        return {result["title"] for result in answer["results"]}

    assert titles() == {"one", "two"}
    assert titles("--tag", "red") == {"one"}
    assert titles("--tag", "red", "--tag", "blue") == {"one", "two"}
    assert titles("--category", "Fruit/two") == {"two"}
    assert titles("--id", 1) == {"one"}
    assert titles("--min-score", 1) == set()
    assert titles("--collection", "of-one") == {"one"}
    assert titles("--path", "one.md", "--path", "t*.md") == {"one", "two"}
    assert titles("--path", "t*.md") == {"two"}
    assert titles(query="zebras") == {"one", "two"}
    assert titles("--mode", "lexical", query="zebras") == set()


def test_a_question_may_begin_with_a_dash_and_the_help_says_how(
    run_local: Run, source_root: Path
) -> None:
    (source_root / "server.md").write_text("# Server\n\nIt starts anew with --reload.\n")
    run_local("index", source_root / "server.md")
    refused = run_local("search", "--reload")
    assert refused.exit_code == 2
    assert "search -h" in refused.stderr
    assert 'search -n 3 -- "--reload"' in run_local("search", "-h").stdout
    assert "server.md" in run_local("search", "-n", "3", "--", "--reload").stdout


def test_a_search_without_results_says_so_and_succeeds(run: Run) -> None:
    result = run("search", "anything")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "Nothing was found" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "x", "--mode", "words"),
        ("search", "x", "--path", ""),
        ("search", "  "),
        ("search", "x", "-n", "0"),
        ("search",),
        ("index",),
        ("remove", "x"),
    ],
)
def test_wrong_usage_exits_with_2(run_local: Run, arguments: tuple[str, ...]) -> None:
    result = run_local(*arguments)
    assert result.exit_code == 2
    assert result.stderr


def test_a_number_that_none_can_be_is_refused(run: Run) -> None:
    for arguments in (
        ("show", 2**53),
        ("remove", 10**20),
        ("search", "x", "--id", 2**53),
        ("search", "x", "--min-score", "nan"),
        ("search", "x", "--min-score", "inf"),
        ("generations", "--drop", 10**20),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert "Invalid value" in result.stderr


def test_a_title_over_the_limit_is_named(run: Run, guide: Path) -> None:
    result = run("index", guide, "--title", "x" * 501)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: title: ")
    assert "500" in result.stderr


def test_list_filters_and_shows_labels(run: Run, guide: Path, source_root: Path) -> None:
    (source_root / "other.md").write_text("# Other\n\ntext\n")
    run("index", guide, "--category", "Docs", "--tag", "auth")
    run("index", source_root / "other.md")
    everything = run("list").stdout
    assert str(guide) in everything
    assert "Docs #auth" in everything
    assert "other" in everything
    assert "other" not in run("list", "--category", "Docs").stdout
    assert "no such items" in run("list", "--status", "error").stderr


def test_list_tells_of_an_active_item_that_can_no_longer_be_read(run: Run, guide: Path) -> None:
    run("index", guide)
    assert "error" not in run("list").stdout
    guide.unlink()
    run("index", guide)
    heading, row = run("list").stdout.splitlines()
    assert heading.split()[-1] == "error"
    assert "active" in row
    assert "File not found" in row


def test_list_refuses_a_category_that_names_nothing(run: Run, guide: Path) -> None:
    run("index", guide)
    for category in ("", " ", "//", os.fsdecode(b"\xff")):
        result = run("list", "--category", category)
        assert (result.exit_code, result.stdout) == (2, ""), category
        assert result.stderr.startswith("Error: category: ")


def test_list_follows_every_page(run: Run, container: Container) -> None:
    for number in range(205):
        container.knowledge.create(ItemDraft(f"item {number}", f"/x/{number}", "markdown"))
    page = json.loads(run("list", "--json").stdout)
    assert page["total"] == len(page["items"]) == 205


def test_show_gives_one_item(run: Run, guide: Path) -> None:
    run("index", guide)
    assert str(guide) in run("show", 1).stdout
    assert json.loads(run("show", 1, "--json").stdout)["chunk_count"] == 1


@pytest.mark.parametrize("command", ["show", "remove"])
def test_an_unknown_item_fails_in_the_services_words(run: Run, command: str) -> None:
    result = run(command, 77)
    assert result.exit_code == 1
    assert result.stderr == "Error: There is no knowledge item 77.\n"


def test_what_is_removed_is_found_no_more(run: Run, guide: Path) -> None:
    run("index", guide)
    removed = run("remove", 1, "--json")
    assert json.loads(removed.stdout) == {"success": True, "knowledge_id": 1, "removed": True}
    assert "Nothing was found" in run("search", "token").stderr
    assert guide.exists()


def test_stats_count(run: Run, guide: Path) -> None:
    run("index", guide)
    assert json.loads(run("stats", "--json").stdout)["total_chunks"] == 1
    assert "total chunks" in run("stats").stdout


def test_verify_tells_clean_from_broken(run_local: Run, guide: Path, container: Container) -> None:
    run_local("index", guide)
    clean = run_local("verify")
    assert clean.exit_code == 0
    assert "Clean: compared 1 document, 1 chunk" in clean.stdout

    with container.database.write() as session:
        session.execute(update(DocumentRow).values(content_hash="0" * 64))
    broken = run_local("verify", "--json")
    assert broken.exit_code == 4
    report = json.loads(broken.stdout)
    assert report["clean"] is False
    assert "does not have the text of its hash" in report["problems"][0]
    assert "1 problem: compared" in run_local("verify").stdout


def test_verify_repairs_what_it_can_and_says_what_it_did(
    run_local: Run, guide: Path, container: Container
) -> None:
    run_local("index", guide)
    container.lexical_index.remove(list(container.lexical_index.chunk_ids()))
    found = run_local("verify")
    assert found.exit_code == 4
    assert "is not in the lexical index" in found.stdout
    assert "verify --repair" in found.stderr
    repaired = run_local("verify", "--repair")
    assert repaired.exit_code == 0
    assert "is not in the lexical index: mended" in repaired.stdout
    assert "1 problem (1 mended): compared" in repaired.stdout
    assert run_local("verify").exit_code == 0

    with container.database.write() as session:
        session.execute(update(DocumentRow).values(content_hash="0" * 64))
    beyond = run_local("verify", "--repair", "--json")
    assert beyond.exit_code == 4, "what only the source can tell is not mended"
    report = json.loads(beyond.stdout)
    assert (report["clean"], report["problem_count"], report["mended_count"]) == (False, 1, 0)
    assert "index its item again" in report["problems"][0]


def test_compact_tells_sizes_before_and_after(run_local: Run, guide: Path) -> None:
    run_local("index", guide)
    run_local("remove", 1)
    printed = run_local("compact")
    assert printed.exit_code == 0
    assert "MiB" in printed.stdout
    assert "Dropped 1 vector of texts" in printed.stdout
    report = json.loads(run_local("compact", "--json").stdout)
    assert (report["generations_dropped"], report["embeddings_dropped"]) == (0, 0)
    assert report["after"]["total"] > 0


def test_rebuild_says_what_the_index_holds(run_local: Run, guide: Path) -> None:
    run_local("index", guide)
    assert "holds 1 chunk again" in run_local("rebuild").stderr
    assert json.loads(run_local("rebuild", "--embed", "--json").stdout)["total_chunks"] == 1
    assert run_local("verify").exit_code == 0


@pytest.mark.parametrize("ending", ["", "/", "/api/v1", "/api/v1/"])
def test_a_server_may_be_named_by_the_address_of_its_api(
    run_local: Run, server_url: str, ending: str
) -> None:
    assert run_local("list", "--url", server_url.removeprefix("http://") + ending).exit_code == 0


@pytest.mark.parametrize("command", ["verify", "rebuild", "compact"])
def test_care_is_never_taken_through_a_server(run_local: Run, command: str) -> None:
    result = run_local(command, "--url", "http://127.0.0.1:1")
    assert result.exit_code == 2
    assert "works on the data directory itself" in " ".join(result.stderr.replace("│", "").split())


@pytest.mark.parametrize(
    ("command", "can"),
    [("verify", False), ("rebuild", False), ("compact", False), ("generations", True)],
)
def test_help_offers_a_server_only_where_the_command_can_use_one(
    run_local: Run, command: str, can: bool
) -> None:
    said = " ".join(run_local(command, "--help").stdout.replace("│", "").split())
    assert ("Work on a running server" in said) == can


def test_a_document_cannot_steer_the_terminal(run: Run, source_root: Path) -> None:
    hostile = source_root / "hostile.md"
    hostile.write_text("# Title\u202e\n\ntoken \x1b]0;owned\x07 [bold]mark[/] \u009b2J\n")
    run("index", hostile)
    printed = run("search", "token").stdout
    assert "[bold]mark[/]" in printed
    assert not set(printed) & set("\x1b\x07\u009b\u202e")


def test_warnings_about_a_document_are_shown(run: Run, source_root: Path) -> None:
    odd = source_root / "odd.md"
    odd.write_text("---\ntitle: [broken\n---\n\n# Odd\n\ntext\n")
    printed = run("index", odd).stdout
    assert "1 taken in with a warning:" in printed
    assert f"{odd}: " in printed
