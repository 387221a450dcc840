"""The OpenAI-compatible embedder against a real HTTP server that embeds with the fake."""

import json
import logging
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from app.adapters.embedding.openai_answers import MOST_REASON_CHARACTERS
from app.adapters.embedding.openai_connection import ATTEMPTS
from app.adapters.embedding.openai_embedder import BATCH_TEXTS, OpenAIEmbedder
from app.errors import EmbeddingError, StartupError
from app.protocols import Embedder
from tests.contracts.embedder_contract import EmbedderContract
from tests.fakes import FakeEmbedder
from tests.patience import PATIENCE_SECONDS

KEY = "sk-a-secret-key"


class Endpoint:
    """Answers like an embedding endpoint, after the answers that a test wants first."""

    def __init__(self, server: HTTPServer) -> None:
        self.base_url = server.url_for("/v1")
        self.first_answers: list[Response] = []
        self.requests: list[tuple[Request, Any]] = []
        self.fake = FakeEmbedder()
        server.expect_request("/v1/embeddings", method="POST").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        body = request.get_json()
        self.requests.append((request, body))
        if self.first_answers:
            return self.first_answers.pop(0)
        vectors = self.fake.embed_documents(body["input"])
        entries = [
            {"object": "embedding", "index": index, "embedding": (vector * 3).tolist()}
            for index, vector in enumerate(vectors)
        ]
        return Response(json.dumps({"data": entries[::-1]}), content_type="application/json")


Opener = Callable[..., OpenAIEmbedder]


@pytest.fixture
def endpoint(httpserver: HTTPServer) -> Endpoint:
    return Endpoint(httpserver)


@pytest.fixture
def waits() -> list[float]:
    """The pauses that the embedder took, in seconds."""
    return []


@pytest.fixture
def opened(endpoint: Endpoint, waits: list[float]) -> Iterator[Opener]:
    embedders = []

    def open_embedder(**options: Any) -> OpenAIEmbedder:
        def wait(seconds: float) -> bool:
            waits.append(seconds)
            return False

        settings = {"base_url": endpoint.base_url, "api_key": KEY, "wait": wait, **options}
        embedders.append(OpenAIEmbedder("fake", **settings))
        return embedders[-1]

    yield open_embedder
    for embedder in embedders:
        embedder.close()


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, opened: Opener) -> Embedder:
        return opened()

    @pytest.fixture
    def closable(self, opened: Opener) -> Embedder:
        return opened()


def test_opening_it_calls_nobody(endpoint: Endpoint, opened: Opener) -> None:
    opened()
    opened(dimension=64).embed_documents([])
    assert endpoint.requests == []


def test_the_dimension_is_asked_for_once(endpoint: Endpoint, opened: Opener) -> None:
    embedder = opened()
    assert (embedder.dimension, embedder.dimension) == (64, 64)
    assert len(embedder.fingerprint) == 16
    assert len(endpoint.requests) == 1


def test_it_says_who_and_what(endpoint: Endpoint, opened: Opener) -> None:
    opened(dimension=64).embed_query("a text")
    ((request, body),) = endpoint.requests
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["input"]) == ("fake", ["a text"])


def test_many_texts_go_in_bounded_requests(endpoint: Endpoint, opened: Opener) -> None:
    texts = [f"text number {number}" for number in range(BATCH_TEXTS * 2 + 1)]
    vectors = opened(dimension=64).embed_documents(texts)
    assert [len(body["input"]) for _, body in endpoint.requests] == [BATCH_TEXTS, BATCH_TEXTS, 1]
    np.testing.assert_allclose(vectors, FakeEmbedder().embed_documents(texts), atol=1e-5)


def test_few_huge_texts_go_in_bounded_requests(endpoint: Endpoint, opened: Opener) -> None:
    opened(dimension=64).embed_documents(["word " * 30_000] * 3)
    assert [len(body["input"]) for _, body in endpoint.requests] == [1, 1, 1]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(
    endpoint: Endpoint, opened: Opener, waits: list[float], status: int
) -> None:
    endpoint.first_answers = [Response(status=status), Response(status=status)]
    assert opened(dimension=64).embed_query("a text").shape == (64,)
    assert len(waits) == 2
    assert waits[0] < waits[1]


def test_it_gives_up_after_a_few_attempts(endpoint: Endpoint, opened: Opener) -> None:
    endpoint.first_answers = [Response(status=503) for _ in range(ATTEMPTS)]
    with pytest.raises(EmbeddingError, match=r"failed 4 times: HTTP 503.*OPENAI_BASE_URL"):
        opened(dimension=64).embed_query("a text")
    assert len(endpoint.requests) == ATTEMPTS


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_will_not_pass_is_not_tried_again(
    endpoint: Endpoint, opened: Opener, status: int
) -> None:
    body = json.dumps({"error": {"message": f"wrong key {KEY}"}})
    endpoint.first_answers = [Response(body, status=status)]
    with pytest.raises(EmbeddingError, match=f"HTTP {status}") as caught:
        opened(dimension=64).embed_query("a text")
    assert len(endpoint.requests) == 1
    assert KEY not in caught.value.detail


@pytest.mark.parametrize(
    ("header", "lowest", "highest"),
    [
        ("3", 3, 3),
        ("100000", 20, 20),
        (format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), 20, 20),
        (format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True), 0, 0),
        ("soon", 0.1, 1),
        ("-5", 0.1, 1),
        ("21 Oct 20151515151515151515151 1:1:1", 0.1, 1),
    ],
    ids=[
        "seconds",
        "too long",
        "a time to come",
        "a time gone by",
        "no time",
        "less than nothing",
        "a time beyond all calendars",
    ],
)
def test_retry_after_is_kept_within_reason(
    endpoint: Endpoint,
    opened: Opener,
    waits: list[float],
    header: str,
    lowest: float,
    highest: float,
) -> None:
    endpoint.first_answers = [Response(status=429, headers={"Retry-After": header})]
    opened(dimension=64).embed_query("a text")
    assert lowest <= waits[0] <= highest


def test_the_log_says_how_long_it_waits(
    endpoint: Endpoint, opened: Opener, waits: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.first_answers = [Response(status=429, headers={"Retry-After": "999999"})]
    opened(dimension=64).embed_query("a text")
    assert f"trying again in {waits[0]:.1f} s" in caplog.text


def data(*embeddings: object, indices: list[object] | None = None) -> str:
    places = indices or list(range(len(embeddings)))
    entries = [{"index": i, "embedding": e} for i, e in zip(places, embeddings, strict=True)]
    return json.dumps({"data": entries})


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "<html>a login page</html>",
        "null",
        "[]",
        "{}",
        '{"data": null}',
        '{"data": []}',
        "[" * 100_000,
        data([1.0]),
        data([1.0], [2.0], [3.0]),
        data([1.0], [2.0], indices=[0, 0]),
        data([1.0], [2.0], indices=[1, 2]),
        data([1.0], [2.0], indices=["x", 0]),
        data([1.0, 2.0], [1.0]),
        data([], []),
        data(1.0, 2.0),
        data([[1.0]], [[2.0]]),
        data(["a"], ["b"]),
        data([None], [1.0]),
        data([float("nan")], [1.0]),
        data([float("inf")], [1.0]),
        data([0.0], [1.0]),
        data([10**400], [1.0]),
        data([1.0], [2.0], indices=[float("inf"), 1]),
    ],
    ids=lambda answer: answer[:40],
)
def test_an_answer_that_is_no_list_of_vectors_is_an_error(
    endpoint: Endpoint, opened: Opener, answer: str
) -> None:
    endpoint.first_answers = [Response(answer, content_type="application/json")]
    with pytest.raises(EmbeddingError):
        opened(dimension=1).embed_documents(["one", "two"])


def test_vectors_of_another_length_are_an_error(opened: Opener) -> None:
    with pytest.raises(EmbeddingError, match="64 numbers, not 384"):
        opened(dimension=384).embed_query("a text")


def test_a_redirect_is_not_followed(endpoint: Endpoint, opened: Opener) -> None:
    elsewhere = {"Location": "/v1/embeddings"}
    endpoint.first_answers = [Response(status=307, headers=elsewhere)]
    with pytest.raises(EmbeddingError, match="redirect"):
        opened(dimension=64).embed_query("a text")
    assert len(endpoint.requests) == 1


def test_nobody_there_is_an_error_that_names_the_setting(opened: Opener) -> None:
    embedder = opened(base_url="http://127.0.0.1:9/v1", dimension=64)
    with pytest.raises(EmbeddingError, match="OPENAI_BASE_URL"):
        embedder.embed_query("a text")


def test_closing_ends_the_pause_between_attempts(endpoint: Endpoint, opened: Opener) -> None:
    endpoint.first_answers = [Response(status=503)]

    def closed_meanwhile(_: float) -> bool:
        embedder.close()
        return True

    embedder = opened(dimension=64, wait=closed_meanwhile)
    with pytest.raises(EmbeddingError, match="closed"):
        embedder.embed_query("a text")


def test_the_key_is_never_logged(
    endpoint: Endpoint, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.first_answers = [Response(status=503)]
    embedder = opened()
    embedder.embed_query("a text")
    assert caplog.text
    assert KEY not in caplog.text + repr(embedder)


def test_a_password_in_the_address_is_sent_and_never_logged(
    endpoint: Endpoint, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.first_answers = [Response(status=503)]
    address = endpoint.base_url.replace("http://", "http://ada:top%2Fsecret@")
    embedder = opened(base_url=address)
    embedder.embed_query("a text")
    sent = endpoint.requests[0][0].authorization
    assert (sent.username, sent.password) == ("ada", "top/secret")
    assert "HTTP Request: POST" in caplog.text
    assert "secret" not in caplog.text + repr(embedder)


QUOTED = "will John Smith be fired in May"


def test_what_a_refusal_quotes_is_shown_and_not_logged(endpoint: Endpoint, opened: Opener) -> None:
    body = json.dumps({"error": {"message": f"input rejected: {QUOTED!r}"}})
    endpoint.first_answers = [Response(body, status=400)]
    with pytest.raises(EmbeddingError) as caught:
        opened(dimension=64).embed_query(QUOTED)
    host = endpoint.base_url.split("/")[2]
    assert QUOTED in caught.value.detail
    for logged in (caught.value.logged, str(caught.value)):
        assert QUOTED not in logged
        assert f"{host} refused: HTTP 400." in logged


@pytest.mark.parametrize("kept", [5, len(KEY) - 1])
def test_no_part_of_the_key_is_shown_where_a_long_reason_is_cut(
    endpoint: Endpoint, opened: Opener, kept: int
) -> None:
    message = "x" * (MOST_REASON_CHARACTERS - kept) + KEY
    endpoint.first_answers = [Response(json.dumps({"error": {"message": message}}), status=400)]
    with pytest.raises(EmbeddingError) as caught:
        opened(dimension=64).embed_query("a text")
    assert "xsk-" not in caught.value.detail


@contextmanager
def served(handler: type[socketserver.StreamRequestHandler]) -> Iterator[int]:
    """The port where the handler answers during the block."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def quoting_port() -> Iterator[int]:
    """Where somebody answers a line that is no HTTP and quotes what was sent."""

    class Quoting(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            self.wfile.write(f"no HTTP: {QUOTED}\r\n\r\n".encode())

    with served(Quoting) as port:
        yield port


def test_what_an_answer_quotes_that_is_no_http_is_shown_and_not_logged(
    opened: Opener, quoting_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = opened(base_url=f"http://127.0.0.1:{quoting_port}/v1", dimension=64)
    with caplog.at_level(logging.WARNING), pytest.raises(EmbeddingError) as caught:
        embedder.embed_query(QUOTED)
    assert QUOTED in caught.value.detail
    assert "RemoteProtocolError" in caught.value.logged
    assert QUOTED not in caplog.text + caught.value.logged
    assert len(caplog.records) == ATTEMPTS - 1


@pytest.fixture(params=["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"])
def dripping_port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Where an answer begins at once, goes on byte by byte and never ends."""
    is_over = threading.Event()

    class Dripping(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(request.param.encode())
            with suppress(OSError):
                while not is_over.wait(0.05):
                    self.wfile.write(b"x")

    with served(Dripping) as port:
        yield port
        is_over.set()


def test_an_answer_that_drips_is_not_waited_for_longer_than_one_that_does_not_come(
    opened: Opener, dripping_port: int
) -> None:
    address = f"http://127.0.0.1:{dripping_port}/v1"
    embedder = opened(base_url=address, dimension=64, timeout_seconds=0.3)
    failures: list[EmbeddingError] = []

    def embed() -> None:
        with pytest.raises(EmbeddingError, match=r"no answer within 0\.3 s") as caught:
            embedder.embed_query("a text")
        failures.append(caught.value)

    asking = threading.Thread(target=embed, daemon=True)
    asking.start()
    asking.join(PATIENCE_SECONDS)
    assert failures


def test_only_openai_itself_needs_a_key(opened: Opener, endpoint: Endpoint) -> None:
    opened(api_key="", dimension=64).embed_query("a text")
    assert "Authorization" not in endpoint.requests[0][0].headers
    with pytest.raises(StartupError, match="OPENAI_API_KEY"):
        opened(api_key="", base_url="https://api.openai.com/v1")


@pytest.mark.parametrize(
    "base_url", ["", "localhost:11434", "ftp://host/v1", "http://", "http://[", "http://a:b/", "\0"]
)
def test_an_address_that_is_none_is_refused(opened: Opener, base_url: str) -> None:
    with pytest.raises(StartupError, match="OPENAI_BASE_URL"):
        opened(base_url=base_url)


def test_a_key_that_cannot_be_sent_is_refused(opened: Opener) -> None:
    with pytest.raises(StartupError, match="OPENAI_API_KEY") as caught:
        opened(api_key="sk-\nsecret")
    assert "secret" not in caught.value.detail


def test_blanks_around_a_key_are_not_sent(opened: Opener, endpoint: Endpoint) -> None:
    opened(api_key=f" {KEY} ", dimension=64).embed_query("a text")
    assert endpoint.requests[0][0].headers["Authorization"] == f"Bearer {KEY}"


def test_the_fingerprint_follows_host_model_and_dimension(opened: Opener) -> None:
    fingerprints = {
        opened(dimension=64).fingerprint,
        opened(dimension=65).fingerprint,
        opened(dimension=64, base_url="http://other.example/v1").fingerprint,
    }
    assert len(fingerprints) == 3
    assert opened(dimension=64, api_key="other").fingerprint in fingerprints
