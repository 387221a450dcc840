"""What the HTTP server itself answers, where no application sees the request."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from app.command.http_connection import MOST_WAITING_REQUESTS
from app.command.serving import server_config
from tests.cli.conftest import running

PAUSE_SECONDS = 2.0


def answer_to(server_url: str, request: bytes) -> tuple[int, str]:
    """Status and text of the answer to a request that is sent as it is."""
    address = urlsplit(server_url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(request)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def get(target: str, then: str = "close") -> bytes:
    """The request of `curl`, which sends an address as it was typed."""
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: {then}\r\n\r\n".encode()


def post(body_bytes: int, *headers: str) -> bytes:
    """The head of a request with so much of a body."""
    lines = ("POST / HTTP/1.1", "Host: localhost", f"Content-Length: {body_bytes}", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.mark.parametrize("query", ["q=café", "q=шлюпка", "q=" + "%F0%9F%98%80" * 8_000])
def test_an_address_that_is_no_ascii_or_too_long_is_told_how_to_write_it(server_url, query):
    status, text = answer_to(server_url, get(f"/api/v1/knowledge?{query}"))
    assert status == 400
    assert "percent-encoded" in text
    assert "--data-urlencode" in text


def test_an_address_that_is_percent_encoded_is_read(server_url):
    status, text = answer_to(server_url, get("/api/v1/knowledge?q=caf%C3%A9"))
    assert status == 200, text


LAST_CHUNK = (
    b"POST /api/v1/rag/search HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
)


@pytest.mark.parametrize(
    ("beginning", "part"),
    [
        (b"GET /", b"a"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"a"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X: a\r\n"),
        (b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /", b"a"),
        (LAST_CHUNK, b"X: a\r\n"),
    ],
    ids=["address", "one header", "many headers", "second request", "trailers"],
)
def test_what_is_no_body_is_not_read_without_end(server_url, beginning, part):
    address = urlsplit(server_url)
    some = part * (65_536 // len(part))
    sent = 0
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(beginning)
        with suppress(ConnectionError):  # it is ended
            while sent < 32 * 1024 * 1024:
                connection.sendall(some)
                sent += len(some)
    assert sent < 32 * 1024 * 1024


def test_headers_without_end_are_told_what_may_be_sent(server_url):
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 131_072
    status, text = answer_to(server_url, head)
    assert status == 431
    assert "131,072 bytes" in text


def test_many_headers_are_read(server_url):
    cookies = "".join(f"X-{number}: {'a' * 1_000}\r\n" for number in range(100))
    request = f"GET /health/live HTTP/1.1\r\nHost: localhost\r\n{cookies}Connection: close\r\n\r\n"
    status, text = answer_to(server_url, request.encode())
    assert status == 200, text


def test_many_requests_on_one_connection_are_answered(server_url):
    address = urlsplit(server_url)
    with closing(HTTPConnection(address.hostname, address.port, timeout=30)) as connection:
        for _ in range(5):
            connection.request("GET", "/health/live", headers={"X": "a" * 60_000})
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b'{"status":"alive"}')


def test_requests_that_do_not_wait_for_answers_are_answered_in_order(server_url):
    address = urlsplit(server_url)
    paths = ["/health/live", "/nothing"] * (MOST_WAITING_REQUESTS // 2)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(b"".join(get(path, "keep-alive") for path in paths))
        received = b""
        while received.count(b"HTTP/1.1 ") < len(paths):
            received += connection.recv(65_536)
    statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404"] * (len(paths) // 2)


@pytest.mark.parametrize(
    "request_", [get("/health/live", "keep-alive"), post(1) + b"x"], ids=["GET", "POST"]
)
def test_a_connection_with_too_many_requests_that_wait_is_ended(server_url, request_):
    address = urlsplit(server_url)
    count = 1024 * 1024 // len(request_)
    place, answers = (address.hostname, address.port), []
    with suppress(ConnectionError), socket.create_connection(place, timeout=30) as connection:
        connection.sendall(request_ * count)
        answers += iter(lambda: connection.recv(65_536), b"")
    assert b"".join(answers).count(b"HTTP/1.1 ") < count


async def slow_to_ask(scope, receive, send) -> None:
    """An application that does something else for long before it reads the body."""
    assert scope["type"] == "http"
    await asyncio.sleep(1.5 * PAUSE_SECONDS)
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [(b"content-length", b"7"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"%7d" % len(body)})


@pytest.fixture
def impatient_url() -> Iterator[str]:
    config = server_config(slow_to_ask)
    config.lifespan = "off"
    config.http = type("Impatient", (config.http,), {"request_pause_seconds": PAUSE_SECONDS})
    with running(config) as url:
        yield url


@pytest.mark.parametrize(
    "beginning",
    [b"", b"GET / HTTP/1.1\r\nHost: loc", post(100) + b"{"],
    ids=["none", "head", "body"],
)
def test_a_connection_on_which_the_rest_of_a_request_never_comes_is_ended(impatient_url, beginning):
    address = urlsplit(impatient_url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(beginning)
        assert connection.recv(100) == b""  # else it times out


def test_a_request_that_comes_slowly_is_answered(impatient_url):
    address = urlsplit(impatient_url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        for part in (b"GET / HTTP/1.1\r\n", b"Host: localhost\r\n", b"X: 1\r\n", b"\r\n"):
            time.sleep(0.4 * PAUSE_SECONDS)
            connection.sendall(part)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("headers", [(), ("Expect: 100-continue",)])
def test_a_body_that_nobody_has_asked_for_yet_may_wait(impatient_url, headers):
    body = b"x" * 500_000
    address = urlsplit(impatient_url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(post(len(body), *headers))
        if headers:
            assert connection.recv(100).startswith(b"HTTP/1.1 100")
        connection.sendall(body)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert received.endswith(b" 500000")


async def talkative(scope, receive, send) -> None:
    """An application that goes on answering, and listens whether anybody is there."""
    assert scope["type"] == "http"
    await receive()
    listening = asyncio.ensure_future(receive())
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(50):
        await send({"type": "http.response.body", "body": b"and", "more_body": True})
        await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": b""})
    listening.cancel()


def test_who_asks_on_and_goes_is_not_answered(caplog):
    config = server_config(talkative)
    config.lifespan = "off"
    with running(config) as url:
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
            connection.sendall(2 * get("/", "keep-alive"))
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def wishing_for_http_2(length: bytes, then: bytes = b"") -> bytes:
    """The head that HttpClient of Java sends first on a connection."""
    lines = (
        b"POST /api/v1/rag/search HTTP/1.1",
        b"Connection: Upgrade, HTTP2-Settings" + then,
        length,
        b"Host: localhost",
        b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
        b"Upgrade: h2c",
        b"Content-Type: application/json",
    )
    return b"\r\n".join((*lines, b"", b""))


BODY = b'{"query": "granite"}'
LENGTH = b"Content-Length: %d" % len(BODY)
CHUNKED = wishing_for_http_2(b"Transfer-Encoding: chunked") + b"14\r\n%b\r\n0\r\n\r\n" % BODY


@pytest.mark.parametrize(
    "request_",
    [wishing_for_http_2(LENGTH) + BODY, wishing_for_http_2(LENGTH, b", close") + BODY, CHUNKED],
    ids=["length", "close", "chunked"],
)
@pytest.mark.parametrize("first_bytes", [10, 100, -10, None])
def test_a_client_that_would_rather_speak_http_2_is_answered_in_http_1(
    server_url, request_, first_bytes
):
    """Its body was taken for some of the other protocol, and so was all it sent afterwards."""
    address = urlsplit(server_url)
    place, received = (address.hostname, address.port), b""
    with socket.create_connection(place, timeout=30) as connection:
        if first_bytes is not None:
            connection.sendall(request_[:first_bytes])
            time.sleep(0.05)
        connection.sendall(request_[first_bytes or 0 :])
        if b", close" not in request_:
            connection.sendall(get("/health/live"))
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"200"][: 1 if b", close" in request_ else 2]


def test_many_wishes_for_http_2_at_once_are_answered_in_order(server_url):
    address = urlsplit(server_url)
    one = get("/health/live", "Upgrade").replace(b"\r\n\r\n", b"\r\nUpgrade: h2c\r\n\r\n")
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(one * 50 + get("/nothing"))
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200"] * 50 + [b"404"]


def test_who_wants_a_tunnel_is_told_that_there_is_none(server_url):
    head = b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\n"
    status, _ = answer_to(server_url, head + b"Upgrade: h2c\r\n\r\n")
    assert 400 <= status < 500
