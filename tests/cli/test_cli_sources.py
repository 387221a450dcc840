"""What a person names on the command line, as an item."""

import os
from pathlib import Path

import pytest

from app.command.sources import absolute_uri, default_title, guess_document_type, without_links
from app.errors import SourceRefusedError


@pytest.mark.parametrize(
    ("uri", "document_type"),
    [
        ("https://example.com/guide", "website"),
        ("HTTP://example.com/guide.html", "website"),
        ("https://example.com/README.md", "markdown"),
        ("https://example.com/a.Markdown?raw=1", "markdown"),
        ("https://example.com/a.mdx", "markdown"),
        ("https://example.com/?file=a.md", "website"),
        ("/nowhere/guide.md", "markdown"),
        ("/nowhere/notes.txt", "markdown"),
    ],
)
def test_the_type_follows_from_the_address(uri: str, document_type: str) -> None:
    assert guess_document_type(uri) == document_type


def test_a_folder_that_exists_is_a_folder(tmp_path: Path) -> None:
    assert guess_document_type(str(tmp_path)) == "folder"


@pytest.mark.parametrize(
    ("uri", "document_type", "title"),
    [
        ("/srv/docs", "folder", "docs"),
        ("/srv/docs/guide.en.md", "markdown", "guide.en"),
        ("https://example.com/a/", "website", "example.com/a"),
        ("/", "folder", "/"),
    ],
)
def test_the_title_is_the_name(uri: str, document_type: str, title: str) -> None:
    assert default_title(uri, document_type) == title


def test_every_spelling_of_a_path_is_one_address(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    spellings = [
        f"{tmp_path}/a b",
        f"{tmp_path}/a b/",
        f"{tmp_path}/x/../a b",
        f"file://{tmp_path}/a%20b",
        f"file://localhost{tmp_path}/a%20b",
    ]
    assert {absolute_uri(spelling) for spelling in spellings} == {f"{tmp_path}/a b"}


def test_a_link_stays_for_it_may_lead_elsewhere_tomorrow(tmp_path: Path) -> None:
    (tmp_path / "v1" / "docs").mkdir(parents=True)
    (tmp_path / "current").symlink_to("v1")
    assert absolute_uri(f"{tmp_path}/current/") == f"{tmp_path}/current"
    assert absolute_uri(f"{tmp_path}/current/./docs") == f"{tmp_path}/current/docs"
    assert without_links(f"{tmp_path}/current/docs") == f"{tmp_path}/v1/docs"


def test_what_is_above_a_link_is_above_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "far" / "v1").mkdir(parents=True)
    (tmp_path / "current").symlink_to("far/v1")
    assert absolute_uri(f"{tmp_path}/current/../v2") == f"{tmp_path}/far/v2"
    assert absolute_uri(f"{tmp_path}/current/..") == f"{tmp_path}/far"


def test_a_relative_path_starts_at_the_working_directory() -> None:
    assert absolute_uri("docs/../guide.md") == str(Path.cwd().resolve() / "guide.md")


def test_the_home_folder_may_be_written_as_a_tilde() -> None:
    assert absolute_uri("~/guide.md") == str(Path.home().resolve() / "guide.md")


@pytest.mark.parametrize("address", ["https://example.com/../a", "ftp://example.com/a"])
def test_an_address_is_left_as_it_is(address: str) -> None:
    assert absolute_uri(address) == address


def test_a_place_in_a_page_is_the_page() -> None:
    assert absolute_uri("https://example.com/a?b=c#part") == "https://example.com/a?b=c"


def test_a_file_of_another_machine_is_refused() -> None:
    with pytest.raises(SourceRefusedError, match="this machine"):
        absolute_uri("file://server/share/guide.md")


@pytest.mark.parametrize(
    "source", ["~nobody-of-this-name/guide.md", f"/{'long' * 1500}.md", "http://[::1/guide"]
)
def test_what_cannot_be_looked_at_here_is_still_an_item(source: str) -> None:
    uri = absolute_uri(source)
    assert uri.endswith(source)
    assert guess_document_type(uri) in {"markdown", "website"}


def test_a_loop_of_links_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert absolute_uri(f"{tmp_path}/loop") == f"{tmp_path}/loop"
    assert guess_document_type(f"{tmp_path}/loop") == "markdown"


def test_a_name_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(SourceRefusedError, match=r"old-.\.md is not valid UTF-8"):
        absolute_uri(os.fsdecode(b"/srv/old-\xff.md"))
