"""An authority that the machine trusts is trusted wherever something is called over https."""

import json
import shutil
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from app.adapters.embedding.openai_embedder import OpenAIEmbedder
from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.command.remote import open_remote
from app.errors import EmbeddingError, SourceUnavailableError, UnavailableError

CERTIFICATES = Path(__file__).parent / "certificates"
AUTHORITY = CERTIFICATES / "authority.pem"
NAME_BY_HASH = "9af70258.0"
"""Of the authority in a folder of many: `openssl x509 -subject_hash` tells it."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    """A server for localhost whose certificate no public authority has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "localhost.pem")
    with HTTPServer(host="localhost", port=0, ssl_context=context) as made:
        made.expect_request("/api/v1/rag/generations").respond_with_json({"generations": []})
        made.expect_request("/page").respond_with_data("Text", content_type="text/plain")
        made.expect_request("/robots.txt").respond_with_data("", content_type="text/plain")
        vectors = {"data": [{"index": 0, "embedding": [3.0, 4.0]}]}
        made.expect_request("/v1/embeddings").respond_with_data(json.dumps(vectors))
        yield made


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["SSL_CERT_FILE", "SSL_CERT_DIR"])
def trusted(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lets this process trust the authority as any program may be told to."""
    shutil.copy(AUTHORITY, tmp_path / NAME_BY_HASH)
    place = AUTHORITY if request.param == "SSL_CERT_FILE" else tmp_path
    monkeypatch.setenv(request.param, str(place))


def ask_as_command(server: HTTPServer) -> None:
    with open_remote(server.url_for("")) as backend:
        assert backend.generations().generations == []


def ask_for_vectors(server: HTTPServer) -> None:
    address = server.url_for("/v1")
    embedder = OpenAIEmbedder("model", base_url=address, wait=lambda _seconds: False)
    with closing(embedder):
        assert embedder.dimension == 2


def fetch_a_page(server: HTTPServer) -> None:
    fetcher = GuardedFetcher([f"{server.host}:{server.port}"], timeout_seconds=5)
    assert fetcher.fetch(server.url_for("/page")).body == b"Text"


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("ask", [ask_as_command, ask_for_vectors, fetch_a_page])
def test_an_authority_that_is_named_as_for_every_program_is_trusted(server, ask) -> None:
    ask(server)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (ask_as_command, UnavailableError),
        (ask_for_vectors, EmbeddingError),
        (fetch_a_page, SourceUnavailableError),
    ],
)
def test_one_that_is_not_named_is_not_trusted(server, ask, error) -> None:
    with pytest.raises(error):
        ask(server)


def test_the_command_says_how_to_name_it(server, tmp_path, monkeypatch) -> None:
    with pytest.raises(UnavailableError, match=r"SSL_CERT_FILE \(which is not set now\)"):
        ask_as_command(server)
    nothing = tmp_path / "nothing.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(nothing))
    with pytest.raises(UnavailableError, match=f"which is {nothing} now"):
        ask_as_command(server)
