"""What the HTTP server itself answers, where no application sees the request."""

import socket
from urllib.parse import urlsplit

import pytest


def answer_to(server_url: str, request: bytes) -> tuple[int, str]:
    """Status and text of the answer to a request that is sent as it is."""
    address = urlsplit(server_url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(request)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def get(target: str) -> bytes:
    """The request of `curl`, which sends an address as it was typed."""
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize("query", ["q=café", "q=шлюпка", "q=" + "%F0%9F%98%80" * 8_000])
def test_an_address_that_is_no_ascii_or_too_long_is_told_how_to_write_it(server_url, query):
    status, text = answer_to(server_url, get(f"/api/v1/knowledge?{query}"))
    assert status == 400
    assert "percent-encoded" in text
    assert "--data-urlencode" in text


def test_an_address_that_is_percent_encoded_is_read(server_url):
    status, text = answer_to(server_url, get("/api/v1/knowledge?q=caf%C3%A9"))
    assert status == 200, text
