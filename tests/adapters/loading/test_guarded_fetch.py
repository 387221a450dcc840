import gzip
import re
import socket
import threading
import time

import httpx
import pytest
from werkzeug import Response

from app.adapters.loading.guarded_fetch import GuardedFetcher, check_address
from app.adapters.loading.guarded_network import HostList, resolve_with_system
from app.adapters.loading.page_answers import decompressed
from app.errors import (
    SourceNotFoundError,
    SourceRefusedError,
    SourceUnavailableError,
    SourceUnreadableError,
)


@pytest.fixture
def fetch(httpserver):
    """Fetches from the test's own server, which is the only host that is allowed."""
    own = f"{httpserver.host}:{httpserver.port}"
    return GuardedFetcher([own], timeout_seconds=5, max_bytes=100_000).fetch


def resolving_to(*addresses):
    return lambda host, port: list(addresses)  # noqa: ARG005


class RawServer:
    """Answers one connection after another with the given pieces, `pause` seconds between."""

    def __init__(self, pieces, pause=0.0):
        self._pieces = pieces
        self._pause = pause
        self._stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        try:
            connection, _ = self._listener.accept()
            with connection:
                connection.recv(65536)
                for piece in self._pieces:
                    if self._stopped.wait(self._pause):
                        return
                    connection.sendall(piece)
        except OSError:
            pass  # the fetcher hung up, as it should

    def close(self):
        self._stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def raw_server():
    servers = []

    def start(pieces, pause=0.0):
        servers.append(RawServer(pieces, pause))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_a_page_comes_with_what_the_server_says_about_it(httpserver, fetch):
    headers = {"Content-Type": "Text/HTML; charset=Latin-1", "ETag": '"1"', "Last-Modified": "x"}
    httpserver.expect_request("/page").respond_with_data("<p>hi", headers=headers)
    page = fetch(httpserver.url_for("/page#part"))
    assert page.url == httpserver.url_for("/page")
    assert (page.status, page.content_type, page.charset) == (200, "text/html", "Latin-1")
    assert (page.body, page.etag, page.last_modified) == (b"<p>hi", '"1"', "x")


def test_host_and_agent_are_sent_and_cookies_are_not_kept(httpserver, fetch):
    httpserver.expect_request("/first").respond_with_response(
        Response(status=302, headers={"Location": "/second", "Set-Cookie": "id=1; Path=/"})
    )
    httpserver.expect_request("/second").respond_with_data("ok", content_type="text/plain")
    fetch(httpserver.url_for("/first"))
    request = httpserver.log[-1][0]
    assert request.headers["Host"] == f"{httpserver.host}:{httpserver.port}"
    assert request.headers["User-Agent"].startswith("Groundwork/")
    assert "Cookie" not in request.headers


def test_five_redirects_are_followed_and_a_sixth_is_not(httpserver, fetch):
    for n in range(6):
        httpserver.expect_request(f"/{n}").respond_with_response(
            Response(status=301 + n % 2, headers={"Location": f"{n + 1}"})
        )
    httpserver.expect_request("/6").respond_with_data("end", content_type="text/plain")
    assert fetch(httpserver.url_for("/1")).url == httpserver.url_for("/6")
    with pytest.raises(SourceUnreadableError, match="redirects"):
        fetch(httpserver.url_for("/0"))


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:1/",
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "//10.0.0.1/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "http://user:pass@example.com/",
    ],
)
def test_a_redirect_is_checked_like_the_first_address(httpserver, fetch, target):
    httpserver.expect_request("/").respond_with_response(
        Response(status=302, headers={"Location": target})
    )
    with pytest.raises(SourceRefusedError) as refusal:
        fetch(httpserver.url_for("/"))
    page = httpx.URL(httpserver.url_for("/"))
    shown = str(page.join(target.replace("user:pass@", "")))
    assert str(refusal.value).startswith(f"{page} leads to {shown}: ")
    assert "user:pass" not in str(refusal.value)


def test_a_refusal_behind_several_redirects_names_the_first_and_the_last_address(httpserver, fetch):
    for path, target in (("/0", "/1"), ("/1", "http://10.0.0.1/x")):
        httpserver.expect_request(path).respond_with_response(
            Response(status=302, headers={"Location": target})
        )
    with pytest.raises(
        SourceRefusedError, match=r"/0 leads to http://10\.0\.0\.1/x: 10\.0\.0\.1 is"
    ):
        fetch(httpserver.url_for("/0"))
    with pytest.raises(SourceRefusedError, match=r"^10\.0\.0\.1 is"):
        fetch("http://10.0.0.1/x")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "localhost"),
        *("localhost.", "LOCALHOST", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
        *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "169.254.169.254"),
        *(
            "10.0.0.1",
            "192.168.0.1",
            "168.63.129.16",
            "100.100.100.200",
            "①②⑦.⓪.⓪.①",
            "127。0。0。1",
        ),
    ],
)
def test_tricks_of_writing_a_private_address_are_refused(host):
    with pytest.raises((SourceRefusedError, SourceUnavailableError)):
        GuardedFetcher(timeout_seconds=5).fetch(f"http://{host}/")


def test_tricks_lead_nowhere_near_a_listening_server(httpserver):
    httpserver.expect_request("/").respond_with_data("secret", content_type="text/plain")
    fetcher = GuardedFetcher(["example.com"], timeout_seconds=5)
    for host in ("127.0.0.1", "127.1", "0x7f000001", "[::ffff:127.0.0.1]", "example.com@127.0.0.1"):
        with pytest.raises(SourceRefusedError):
            fetcher.fetch(f"http://{host}:{httpserver.port}/")
    assert not httpserver.log


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["2606:4700:4700::1111", "::1"], ["fe80::1%eth0"]],
)
def test_a_name_is_refused_when_any_of_its_addresses_is_not_public(addresses):
    fetcher = GuardedFetcher(timeout_seconds=5, resolver=resolving_to(*addresses))
    with pytest.raises(SourceRefusedError, match="FETCH_ALLOW_HOSTS"):
        fetcher.fetch("http://intranet.example/")


def test_a_name_is_resolved_once_and_the_checked_address_is_used(httpserver):
    """DNS rebinding: the second answer would be another address, and nobody asks for it."""
    answers = iter([["127.0.0.1"], ["8.8.8.8"]])
    asked = []

    def rebinding(host, port):
        asked.append((host, port))
        return next(answers)

    httpserver.expect_request("/").respond_with_data("ok", content_type="text/plain")
    allowed = [f"rebound.example:{httpserver.port}"]
    fetcher = GuardedFetcher(allowed, timeout_seconds=5, resolver=rebinding)
    assert fetcher.fetch(f"http://rebound.example:{httpserver.port}/").body == b"ok"
    assert asked == [("rebound.example", httpserver.port)]
    assert httpserver.log[-1][0].headers["Host"] == f"rebound.example:{httpserver.port}"


NO_HOSTS = ["http://xn--a/", "http://xn--zzzzzzzzzzz/x"]


@pytest.mark.parametrize("address", NO_HOSTS)
def test_a_host_that_no_name_can_be_decoded_to_is_refused(address):
    with pytest.raises(SourceRefusedError, match="not a web address"):
        check_address(address)


@pytest.mark.parametrize("address", NO_HOSTS)
def test_a_redirect_to_such_a_host_makes_a_page_unreadable(httpserver, fetch, address):
    httpserver.expect_request("/").respond_with_response(
        Response(status=302, headers={"Location": address})
    )
    with pytest.raises(SourceUnreadableError, match="cannot be fetched"):
        fetch(httpserver.url_for("/"))


@pytest.mark.parametrize("headers", [{}, {"Location": " "}], ids=["none", "blank"])
def test_a_redirect_to_nowhere_is_called_that(httpserver, fetch, headers):
    httpserver.expect_oneshot_request("/").respond_with_response(
        Response(status=302, headers=headers)
    )
    with pytest.raises(SourceUnreadableError, match=r"HTTP 302.*does not say where"):
        fetch(httpserver.url_for("/"))


def test_a_name_that_rebinds_between_redirects_is_checked_again(httpserver):
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    httpserver.expect_request("/").respond_with_response(
        Response(status=302, headers={"Location": "http://other.example/"})
    )
    fetcher = GuardedFetcher(
        [f"first.example:{httpserver.port}"],
        timeout_seconds=5,
        resolver=lambda host, port: next(answers),  # noqa: ARG005
    )
    with pytest.raises(SourceRefusedError, match=r"other\.example"):
        fetcher.fetch(f"http://first.example:{httpserver.port}/")


def test_ports_other_than_those_of_the_web_are_refused():
    fetcher = GuardedFetcher(timeout_seconds=5, resolver=resolving_to("8.8.8.8"))
    with pytest.raises(SourceRefusedError, match="Port 22"):
        fetcher.fetch("http://example.com:22/")


@pytest.mark.parametrize(
    ("url", "host_and_port"),
    [
        ("http://[::1]:18499/", ("::1", 18499)),
        ("http://[FD00:0::1]/", ("fd00::1", 80)),
        ("http://127.0.0.1:18499/", ("127.0.0.1", 18499)),
        ("https://wiki.lan/", ("wiki.lan", 443)),
    ],
)
def test_what_a_refusal_says_to_allow_allows_just_that(url, host_and_port):
    fetcher = GuardedFetcher(timeout_seconds=5, resolver=resolving_to("127.0.0.1"))
    with pytest.raises(SourceRefusedError) as refused:
        fetcher.fetch(url)
    hint = re.search(r"add (\S+) to FETCH_ALLOW_HOSTS", refused.value.detail)
    assert hint
    allowed = HostList([hint[1]])
    assert host_and_port in allowed
    assert (host_and_port[0], 9) not in allowed


@pytest.mark.parametrize("entry", ["[::1]", "::1", " [0::1] "])
def test_an_allowed_address_of_ipv6_may_stand_in_brackets(entry):
    assert ("::1", 18499) in HostList([entry])


def test_a_second_address_is_tried_when_the_first_does_not_answer(httpserver):
    with socket.create_server(("127.0.0.2", 0)) as listener:
        closed_port = listener.getsockname()[1]
    assert closed_port
    httpserver.expect_request("/").respond_with_data("ok", content_type="text/plain")
    fetcher = GuardedFetcher(
        ["two.example"], timeout_seconds=5, resolver=resolving_to("127.0.0.2", "127.0.0.1")
    )
    assert fetcher.fetch(f"http://two.example:{httpserver.port}/").body == b"ok"


@pytest.mark.parametrize("entry", ["Bücher.local:80", "xn--bcher-kva.local:80"])
def test_a_name_that_is_not_ascii_is_the_same_host_in_punycode(entry):
    allowed = HostList([entry])
    for host in ("bücher.local", "xn--bcher-kva.local"):  # as it is shown, and as it is asked for
        assert (host, 80) in allowed
    assert ("bucher.local", 80) not in allowed


def test_allowed_hosts_mean_exactly_that_host_and_port():
    allowed = HostList(["Wiki.Local", "docs.local:8080", "[FD00:0::1]:81", "fd00::2"])
    for inside in (("wiki.local", 80), ("WIKI.local.", 9), ("docs.local", 8080), ("fd00::1", 81)):
        assert inside in allowed
    assert ("[fd00::2]", 5) in allowed
    for outside in (("a.wiki.local", 80), ("docs.local", 80), ("fd00::1", 80), ("local", 80)):
        assert outside not in allowed


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_a_port_that_does_not_exist_is_called_that(port):
    url = f"http://127.0.0.1:{port}/"
    fetcher = GuardedFetcher(["127.0.0.1"], timeout_seconds=5)
    with pytest.raises(SourceRefusedError, match=f"{port} is no port"):
        fetcher.fetch(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "page.html",
        "ftp://a/",
        "file:///a",
        "http://",
        "http://a:b@c/",
        "http://[::1/",
        "javascript:1",
    ],
)
def test_only_web_addresses_are_fetched(url):
    with pytest.raises(SourceRefusedError):
        GuardedFetcher().fetch(url)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, SourceNotFoundError),
        (410, SourceNotFoundError),
        (400, SourceUnreadableError),
        (401, SourceUnreadableError),
        (403, SourceUnreadableError),
        (304, SourceUnreadableError),
        (206, SourceUnavailableError),
        (408, SourceUnavailableError),
        (429, SourceUnavailableError),
        (500, SourceUnavailableError),
        (503, SourceUnavailableError),
    ],
)
def test_each_status_is_the_error_that_decides_what_happens_to_the_document(
    httpserver, fetch, status, error
):
    httpserver.expect_request("/").respond_with_data("text", status=status)
    with pytest.raises(error):
        fetch(httpserver.url_for("/"))


@pytest.mark.parametrize("content_type", ["application/pdf", "image/png", "application/json"])
def test_what_is_not_text_is_refused_before_it_is_read(raw_server, content_type):
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode()
    server = raw_server([head, b"never sent in time"], pause=0.01)
    with pytest.raises(SourceUnreadableError, match=content_type):
        GuardedFetcher([server.host], timeout_seconds=5).fetch(f"http://{server.host}/")


@pytest.mark.parametrize("content_type", ["text/html", "text/markdown", "application/xhtml+xml"])
def test_text_is_read_up_to_the_limit_and_not_beyond(httpserver, fetch, content_type):
    httpserver.expect_request("/at").respond_with_data(b"x" * 100_000, content_type=content_type)
    httpserver.expect_request("/over").respond_with_data(b"x" * 100_001, content_type=content_type)
    assert len(fetch(httpserver.url_for("/at")).body) == 100_000
    with pytest.raises(SourceUnreadableError, match="FETCH_MAX_BYTES"):
        fetch(httpserver.url_for("/over"))


def test_gzip_is_undone_and_a_bomb_is_stopped(httpserver, fetch):
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    httpserver.expect_request("/small").respond_with_data(gzip.compress(b"hello"), headers=headers)
    bomb = gzip.compress(bytes(5_000_000))
    httpserver.expect_request("/bomb").respond_with_data(bomb, headers=headers)
    cut = gzip.compress(b"hello" * 1000)[:-10]
    httpserver.expect_request("/cut").respond_with_data(cut, headers=headers)
    httpserver.expect_request("/broken").respond_with_data(b"no gzip", headers=headers)
    assert fetch(httpserver.url_for("/small")).body == b"hello"
    with pytest.raises(SourceUnreadableError, match="too large"):
        fetch(httpserver.url_for("/bomb"))
    with pytest.raises(SourceUnavailableError, match="early"):
        fetch(httpserver.url_for("/cut"))
    with pytest.raises(SourceUnreadableError, match="broken"):
        fetch(httpserver.url_for("/broken"))


@pytest.mark.parametrize("piece_bytes", [1, 7, 1_000_000])
@pytest.mark.parametrize("padding", [b"", bytes(30)], ids=["close together", "zeros between"])
def test_all_members_of_a_gzip_body_are_read(padding, piece_bytes):
    """RFC 1952, 2.2: a file of several members is their texts one after the other."""
    body = padding.join(gzip.compress(text) for text in (b"One. ", b"", b"Two. ", b"Three."))

    def undone(body, most_bytes=1000):
        pieces = (body[at : at + piece_bytes] for at in range(0, len(body), piece_bytes))
        return b"".join(decompressed(pieces, "gzip", most_bytes))

    assert undone(body) == b"One. Two. Three."
    assert undone(body + b"\r\n") == b"One. Two. Three."  # what is no member, browsers leave out
    with pytest.raises(SourceUnavailableError, match="early"):
        undone(body[:-3])
    with pytest.raises(SourceUnreadableError, match="broken"):
        undone(body[:-12] + bytes(12))


def test_the_members_of_a_gzip_body_are_limited_together(httpserver, fetch):
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    member = gzip.compress(b"x" * 10_000)
    httpserver.expect_request("/at").respond_with_data(member * 10, headers=headers)
    httpserver.expect_request("/over").respond_with_data(member * 11, headers=headers)
    assert len(fetch(httpserver.url_for("/at")).body) == 100_000
    with pytest.raises(SourceUnreadableError, match="FETCH_MAX_BYTES"):
        fetch(httpserver.url_for("/over"))


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "deflate"])
def test_compression_that_was_not_asked_for_is_refused(httpserver, fetch, encoding):
    headers = {"Content-Encoding": encoding, "Content-Type": "text/plain"}
    httpserver.expect_request("/").respond_with_data(b"x", headers=headers)
    with pytest.raises(SourceUnreadableError, match="compressed"):
        fetch(httpserver.url_for("/"))


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8, none", "identity", "binary", "aws-chunked"])
def test_what_is_no_compression_says_nothing_of_the_bytes(httpserver, fetch, encoding):
    headers = {"Content-Encoding": encoding, "Content-Type": "text/plain"}
    httpserver.expect_request("/").respond_with_data(b"x", headers=headers)
    assert fetch(httpserver.url_for("/")).body == b"x"
    headers["Content-Encoding"] = f"gzip, {encoding}"
    httpserver.expect_request("/gzip").respond_with_data(gzip.compress(b"x"), headers=headers)
    assert fetch(httpserver.url_for("/gzip")).body == b"x"


def endless(head, piece):
    yield head
    while True:
        yield piece


def test_an_endless_response_is_stopped_at_the_limit(raw_server):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    server = raw_server(endless(head, b"x" * 65536))
    fetcher = GuardedFetcher([server.host], timeout_seconds=20, max_bytes=1_000_000)
    with pytest.raises(SourceUnreadableError, match="too large"):
        fetcher.fetch(f"http://{server.host}/")


@pytest.mark.parametrize(
    ("head", "drip"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X-Slow: 1\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"", b""),
    ],
)
def test_one_deadline_holds_for_however_slowly_an_answer_drips(raw_server, head, drip):
    server = raw_server(endless(head, drip), pause=0.05)
    started = time.monotonic()
    with pytest.raises(SourceUnavailableError, match="FETCH_TIMEOUT_SECONDS"):
        GuardedFetcher([server.host], timeout_seconds=0.5).fetch(f"http://{server.host}/")
    assert time.monotonic() - started < 3


def test_the_deadline_holds_for_a_resolver_that_never_answers():
    answered = threading.Event()

    def hanging(host, port):
        answered.wait(10)
        return ["8.8.8.8"]

    started = time.monotonic()
    with pytest.raises(SourceUnavailableError):
        GuardedFetcher(timeout_seconds=0.2, resolver=hanging).fetch("http://slow.example/")
    answered.set()
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [b"SSH-2.0-OpenSSH\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: text/plain\r\n\r\nshort"],
        [b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 300_000 + b"\r\n\r\n"],
    ],
)
def test_a_broken_server_is_unavailable(raw_server, pieces):
    server = raw_server(pieces)
    with pytest.raises(SourceUnavailableError):
        GuardedFetcher([server.host], timeout_seconds=5).fetch(f"http://{server.host}/")


def test_a_server_without_tls_and_a_closed_port_are_unavailable(raw_server):
    server = raw_server([b"not tls"])
    with pytest.raises(SourceUnavailableError):
        GuardedFetcher([server.host], timeout_seconds=5).fetch(f"https://{server.host}/")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(SourceUnavailableError):
        GuardedFetcher([closed], timeout_seconds=5).fetch(f"http://{closed}/")


def test_a_name_that_does_not_exist_is_unavailable():
    def failing(host, port):
        raise socket.gaierror(socket.EAI_NONAME, f"no {host}:{port}")

    with pytest.raises(SourceUnavailableError, match=r"nowhere\.example"):
        GuardedFetcher(timeout_seconds=5, resolver=failing).fetch("http://nowhere.example/")


def test_the_system_resolver_gives_numeric_addresses():
    assert "127.0.0.1" in resolve_with_system("127.0.0.1", 80)
