"""Sources that cannot be read, over HTTP: each says what is wrong, and nothing is stored."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from tests.e2e.first_start import FirstStart
from tests.e2e.server_process import ServerProcess, wait_until


@pytest.fixture(scope="module")
def fetching_server(
    tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart, make_httpserver: HTTPServer
) -> Iterator[ServerProcess]:
    """A server that may fetch from one address of this machine: that of `httpserver`."""
    folder = tmp_path_factory.mktemp("fetching")
    (folder / "sources").mkdir()
    shutil.copytree(first_start.models, folder / "data" / "models")
    allowed = f"{make_httpserver.host}:{make_httpserver.port}"
    running = ServerProcess(folder / "data", folder / "sources", FETCH_ALLOW_HOSTS=allowed)
    try:
        yield running.start()
    finally:
        running.close()


def assert_refused(server: ServerProcess, uri: object, kind: str, *said: str) -> None:
    """Indexing answers 200 with a clear error; the item is `error`; nothing is stored."""
    before = server.stats()
    knowledge_id = server.create(uri, kind)
    result = server.index(knowledge_id)
    assert result["success"] is False
    assert (result["chunks_indexed"], result["content_hash"]) == (0, "")
    for words in said:
        assert words in result["error"]
    item = server.item(knowledge_id)
    assert (item["status"], item["chunk_count"]) == ("error", 0)
    assert item["error"] == result["error"]
    after = server.stats()
    assert after == before | {"total_items": before["total_items"] + 1}
    assert server.search("anything", knowledge_ids=[knowledge_id]) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "No content to index"),
        (b"  \n\t\n\xc2\xa0\n", "No content to index"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 40, "binary"),
        (bytes(range(256)) * 20, "binary"),
        (b"---\ntitle: Only frontmatter\n---\n", "No content to index"),
    ],
)
def test_a_file_without_text_is_an_error(
    server: ServerProcess, shared_sources: Path, tmp_path: Path, content: bytes, said: str
) -> None:
    path = shared_sources / f"{tmp_path.name}.md"
    path.write_bytes(content)
    assert_refused(server, path, "markdown", said)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "cp1252"])
def test_a_file_in_another_encoding_is_read_as_it_was_meant(
    server: ServerProcess, shared_sources: Path, encoding: str
) -> None:
    text = "# Überfahrt\n\nDie Fähre fährt täglich über die Förde, außer an Feiertagen.\n"
    path = shared_sources / f"{encoding}.md"
    path.write_bytes(text.encode(encoding))
    knowledge_id = server.create(path)
    assert server.index(knowledge_id)["success"]
    found = server.search("Wann fährt die Fähre?", knowledge_ids=[knowledge_id])
    assert "Die Fähre fährt täglich über die Förde" in found[0]["content"]


def test_a_missing_folder_and_a_folder_for_a_file_are_errors(
    server: ServerProcess, shared_sources: Path
) -> None:
    folder = shared_sources / "only-a-folder"
    folder.mkdir()
    assert_refused(server, shared_sources / "missing", "folder", "not found", "missing")
    assert_refused(server, folder, "markdown", "only-a-folder")
    assert_refused(server, folder, "folder", "No")


def test_a_folder_that_vanishes_keeps_what_was_indexed_and_says_so(
    server: ServerProcess, shared_sources: Path
) -> None:
    folder = shared_sources / "vanishing"
    folder.mkdir()
    (folder / "a.md").write_text("# Tide table\n\nHigh water is at six in the evening.\n")
    knowledge_id = server.create(folder, "folder")
    assert server.index(knowledge_id)["success"]
    shutil.rmtree(folder)
    result = server.index(knowledge_id)
    assert result["success"] is False
    assert str(folder) in result["error"]
    item = server.item(knowledge_id)
    assert (item["status"], item["chunk_count"]) == ("active", 1)
    assert item["error"] == result["error"]
    assert server.search("high water", knowledge_ids=[knowledge_id])


def test_a_folder_that_vanishes_while_it_is_indexed_does_no_harm(
    server: ServerProcess, shared_sources: Path
) -> None:
    folder = shared_sources / "vanishing-half-way"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03}.md").write_text(f"# Buoy {number}\n\nThe buoy {number} is red.\n")
    knowledge_id = server.create(folder, "folder")
    before = server.stats()["total_embeddings"]
    answer = server.http.post(f"/api/v1/rag/index/{knowledge_id}", params={"wait": "false"})
    job = answer.headers["location"]
    wait_until(lambda: server.stats()["total_embeddings"] > before, "something is embedded")
    shutil.rmtree(folder)
    wait_until(
        lambda: server.http.get(job).json()["state"] in ("succeeded", "failed"), "the job ends"
    )
    chunks = server.item(knowledge_id)["chunk_count"]
    found = server.search("buoy", knowledge_ids=[knowledge_id], n_results=100)
    assert len(found) == min(chunks, 100)
    assert server.index(knowledge_id)["success"] is False


@pytest.mark.parametrize(
    "uri", ["/etc/hostname", "file:///etc/hostname", "/proc/self/environ", "relative/../../x.md"]
)
def test_a_path_outside_the_roots_is_refused_and_names_the_setting(
    server: ServerProcess, uri: str
) -> None:
    assert_refused(server, uri, "markdown", "SOURCE_ROOTS")


def test_what_a_source_says_forges_no_line_of_the_log_and_steers_no_terminal(
    fetching_server: ServerProcess, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/robots.txt").respond_with_data("", status=404)
    httpserver.expect_request("/page").respond_with_data("x", content_type="image/\x1b[31mred")
    sources = fetching_server.environment["SOURCE_ROOTS"]
    for uri, kind in (
        (f"file://{sources}/none%0a2026-01-01 ERROR forged: x%1b[2J.md", "markdown"),
        (httpserver.url_for("/page"), "website"),
    ):
        assert_refused(fetching_server, uri, kind)
    assert "none 2026-01-01 ERROR forged" in fetching_server.log
    assert "\x1b" not in fetching_server.log


@pytest.mark.parametrize("way", ["..", "%2e%2e", "symlink", "symlink in folder"])
def test_no_way_leads_out_of_the_roots(
    server: ServerProcess, shared_sources: Path, tmp_path: Path, way: str
) -> None:
    secret = shared_sources.parent / "secret.md"
    secret.write_text("# Secret\n\nThe password is swordfish.\n")
    link = shared_sources / f"link-{tmp_path.name}.md"
    if way == "..":
        assert_refused(server, f"{shared_sources}/../secret.md", "markdown", "SOURCE_ROOTS")
    elif way == "%2e%2e":
        uri = f"file://{shared_sources}/%2e%2e/secret.md"
        assert_refused(server, uri, "markdown", "SOURCE_ROOTS")
    elif way == "symlink":
        link.symlink_to(secret)
        assert_refused(server, link, "markdown", "SOURCE_ROOTS")
    else:
        folder = shared_sources / "with-links"
        folder.mkdir()
        (folder / "a.md").write_text("# Open\n\nNothing is hidden here.\n")
        (folder / "secret.md").symlink_to(secret)
        (folder / "around").symlink_to(folder)
        knowledge_id = server.create(folder, "folder")
        result = server.index(knowledge_id)
        assert result["documents"] == 1
        assert {Path(note["uri"]).name for note in result["skipped"]} >= {"secret.md"}
    assert not any("swordfish" in r["content"] for r in server.search("password", n_results=100))


def test_a_loop_of_symlinks_is_an_error(server: ServerProcess, shared_sources: Path) -> None:
    (shared_sources / "loop-a.md").symlink_to(shared_sources / "loop-b.md")
    (shared_sources / "loop-b.md").symlink_to(shared_sources / "loop-a.md")
    assert_refused(server, shared_sources / "loop-a.md", "markdown", "loop-a.md")


def test_a_pipe_is_no_document(server: ServerProcess, shared_sources: Path) -> None:
    os.mkfifo(shared_sources / "pipe.md")
    assert_refused(server, shared_sources / "pipe.md", "markdown", "pipe.md")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0.0.0.0",
        "10.1.2.3",
        "192.168.1.1",
        "169.254.169.254",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f000001",
        "127.1",
    ],
)
@pytest.mark.parametrize("kind", ["website", "markdown"])
def test_an_address_that_is_not_public_is_refused_and_names_the_setting(
    server: ServerProcess, httpserver: HTTPServer, address: str, kind: str
) -> None:
    httpserver.expect_request("/page.md").respond_with_data("# Inside", content_type="text/plain")
    for port in ("", f":{httpserver.port}"):
        uri = f"http://{address}{port}/page.md"
        assert_refused(server, uri, kind, "FETCH_ALLOW_HOSTS")
    assert httpserver.log == []


@pytest.fixture
def inner_server() -> Iterator[HTTPServer]:
    """A second HTTP server on loopback, which nobody has allowed."""
    with HTTPServer() as inner:
        inner.expect_request("/").respond_with_data("<p>inner secret</p>", content_type="text/html")
        yield inner


def test_a_redirect_into_the_machine_is_refused(
    fetching_server: ServerProcess, httpserver: HTTPServer, inner_server: HTTPServer
) -> None:
    httpserver.expect_request("/robots.txt").respond_with_data("", status=404)
    targets = {
        "/to-loopback": (inner_server.url_for("/"), "FETCH_ALLOW_HOSTS"),
        "/to-metadata": ("http://169.254.169.254/latest/meta-data/", "FETCH_ALLOW_HOSTS"),
        "/to-file": ("file:///etc/hostname", "http"),
    }
    for path, (target, _) in targets.items():
        httpserver.expect_request(path).respond_with_response(
            Response(status=302, headers={"Location": target})
        )
    page = "<main><h1>Harbour</h1><p>The harbour is open.</p></main>"
    httpserver.expect_request("/good").respond_with_data(page, content_type="text/html")
    for path, (_, said) in targets.items():
        assert_refused(fetching_server, httpserver.url_for(path), "website", said)
    assert inner_server.log == []
    good = fetching_server.create(httpserver.url_for("/good"), "website")
    assert fetching_server.index(good)["success"]
    assert "The harbour is open." in fetching_server.search("harbour")[0]["content"]


def test_a_page_without_text_is_an_error(
    fetching_server: ServerProcess, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/robots.txt").respond_with_data("", status=404)
    for number, (status, body, content_type, said) in enumerate(
        [
            (404, b"<p>gone</p>", "text/html", "404"),
            (500, b"<p>broken</p>", "text/html", "500"),
            (200, b"\x89PNG\r\n\x1a\n\0\0", "image/png", "image/png"),
            (200, b"", "text/html", "No content to index"),
            (200, b"<div id=app></div><script src=a.js></script>", "text/html", "scripts"),
        ]
    ):
        httpserver.expect_request(f"/{number}").respond_with_data(
            body, status=status, content_type=content_type
        )
        assert_refused(fetching_server, httpserver.url_for(f"/{number}"), "website", said)
