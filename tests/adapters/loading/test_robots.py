"""robots.txt is honoured, at the first fetch and at every further one."""

import gzip
import time
from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego
from werkzeug import Request, Response

from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.adapters.loading.guarded_network import Deadline
from app.adapters.loading.robots import (
    AGENT,
    KEPT_SECONDS,
    MOST_BYTES,
    UNREACHABLE_SECONDS,
    RobotsRules,
    rules_for_us,
)
from app.errors import SourceRefusedError, SourceUnavailableError
from tests.processor_speed import is_within


class Clock:
    moment = 0.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def rules(httpserver, clock):
    own = f"{httpserver.host}:{httpserver.port}"
    return RobotsRules(GuardedFetcher([own], timeout_seconds=5), clock=clock)


@pytest.fixture
def allowed(httpserver, rules):
    """Whether a path of the test's server may be read."""

    def ask(path: str) -> bool:
        try:
            rules.require_allowed(httpx.URL(httpserver.url_for(path)), Deadline(5))
        except SourceRefusedError:
            return False
        return True

    return ask


def serve(httpserver, text: str, status: int = 200, **headers: str) -> None:
    httpserver.clear()
    headers = {"Content-Type": "text/plain"} | {k.replace("_", "-"): v for k, v in headers.items()}
    httpserver.expect_request("/robots.txt").respond_with_response(
        Response(text, status=status, headers=headers)
    )


@pytest.mark.parametrize(
    ("text", "path", "may"),
    [
        ("", "/x", True),
        ("User-agent: *\nDisallow:", "/x", True),
        ("User-agent: *\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow: /private", "/private/x", False),
        ("User-agent: *\nDisallow: /private", "/public", True),
        ("User-agent: *\nDisallow: /\nAllow: /docs/", "/docs/x", True),
        ("User-agent: *\nDisallow: /*.php$", "/a.php", False),
        ("User-agent: *\nDisallow: /*.php$", "/a.php5", True),
        ("User-agent: *\nDisallow: /*?print=", "/a?print=1", False),
        ("User-agent: groundwork\nDisallow: /\n\nUser-agent: *\nDisallow:", "/x", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Groundwork\nAllow: /", "/x", True),
        ("User-agent: OtherBot\nDisallow: /", "/x", True),
        ("User-agent: Groundwork/0.1\nDisallow: /\n\nUser-agent: *\nAllow: /", "/x", False),
        ("\ufeffUser-agent: *\nDisallow: /", "/x", False),
        ("<html>no such page</html>", "/x", True),
        ("User-agent: *\nDisallow: /%7Ejoe/", "/~joe/x", False),
        ("\0\x01\nUser-agent: *\nDisallow: /", "/x", False),
    ],
)
def test_a_path_may_be_read_when_the_rules_say_so(httpserver, allowed, text, path, may):
    serve(httpserver, text)
    assert allowed(path) is may


@pytest.mark.parametrize("content_type", ["application/octet-stream", "image/png", "", "nonsense"])
def test_the_rules_hold_whatever_type_the_server_gives_them(httpserver, allowed, content_type):
    serve(httpserver, "User-agent: *\nDisallow: /private", Content_Type=content_type)
    assert not allowed("/private")
    assert allowed("/public")


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
def test_of_rules_larger_than_a_page_may_be_the_beginning_holds(httpserver, compressed):
    own = f"{httpserver.host}:{httpserver.port}"
    rules = RobotsRules(GuardedFetcher([own], timeout_seconds=5, max_bytes=1000))
    beginning = b"User-agent: *\nDisallow: /early\n"
    filler = b"# a comment\n" * ((MOST_BYTES - 100) // 12)
    body = beginning + filler + b"Disallow: /within\n" + filler + b"Disallow: /behind\n"
    headers = {"Content-Encoding": "gzip"} if compressed else {}
    httpserver.expect_request("/robots.txt").respond_with_data(
        gzip.compress(body) if compressed else body, headers=headers
    )
    for path in ("/early", "/within"):
        with pytest.raises(SourceRefusedError):
            rules.require_allowed(httpx.URL(httpserver.url_for(path)), Deadline(5))
    rules.require_allowed(httpx.URL(httpserver.url_for("/behind")), Deadline(5))


def test_the_refusal_says_what_to_do(httpserver, rules):
    serve(httpserver, "User-agent: *\nDisallow: /")
    with pytest.raises(SourceRefusedError, match=r"robots\.txt .* ROBOTS_IGNORE_HOSTS"):
        rules.require_allowed(httpx.URL(httpserver.url_for("/x")), Deadline(5))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_site_without_rules_may_be_read(httpserver, allowed, status):
    serve(httpserver, "User-agent: *\nDisallow: /", status)
    assert allowed("/x")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_site_whose_rules_do_not_answer_is_left_alone_for_now(
    httpserver, rules, allowed, clock, status
):
    serve(httpserver, "", status, Retry_After="120")
    with pytest.raises(SourceUnavailableError, match="cannot be told now") as raised:
        allowed("/x")
    assert raised.value.retry_after_seconds == 120
    serve(httpserver, "")
    with pytest.raises(SourceUnavailableError):
        allowed("/x")
    clock.moment += UNREACHABLE_SECONDS
    assert allowed("/x")


@pytest.mark.parametrize(
    ("body", "status", "headers"),
    [
        (b"no gzip", 200, {"Content-Encoding": "gzip"}),
        (gzip.compress(b"User-agent: *")[:-8] + bytes(8), 200, {"Content-Encoding": "gzip"}),
        (gzip.compress(b"User-agent: *")[:-8], 200, {"Content-Encoding": "gzip"}),
        (b"no brotli", 200, {"Content-Encoding": "br"}),
        (b"", 302, {}),
        (b"", 304, {}),
    ],
    ids=["no gzip", "broken gzip", "cut gzip", "unasked", "to nowhere", "304"],
)
def test_a_site_whose_rules_are_there_but_cannot_be_read_is_left_alone_for_now(
    httpserver, allowed, clock, body, status, headers
):
    """RFC 9309, 2.3.1.4: rules that an error keeps from us forbid everything."""
    httpserver.expect_request("/robots.txt").respond_with_data(body, status, headers)
    with pytest.raises(SourceUnavailableError, match="cannot be told now"):
        allowed("/x")
    serve(httpserver, "")
    clock.moment += UNREACHABLE_SECONDS
    assert allowed("/x")


@pytest.mark.parametrize("target", ["http://127.0.0.2:9/robots.txt", "ftp://example.com/x"])
def test_a_site_whose_rules_lie_where_the_guard_lets_nobody_go_is_not_read(
    httpserver, rules, clock, target
):
    page = httpx.URL(httpserver.url_for("/x"))
    serve(httpserver, "", 302, Location=target)
    for _ in range(2):
        with pytest.raises(SourceRefusedError, match=r"robots\.txt.* ROBOTS_IGNORE_HOSTS"):
            rules.require_allowed(page, Deadline(5))
    assert len(httpserver.log) == 1
    serve(httpserver, "")
    clock.moment += UNREACHABLE_SECONDS
    rules.require_allowed(page, Deadline(5))


@pytest.mark.parametrize(("redirects", "may"), [(5, False), (6, True)])
def test_rules_are_looked_for_over_five_redirects(httpserver, allowed, redirects, may):
    """RFC 9309, 2.3.1.2: what lies behind more may be taken for none."""
    places = ["/robots.txt", *(f"/{n}" for n in range(redirects))]
    for place, target in pairwise(places):
        httpserver.expect_request(place).respond_with_data(status=302, headers={"Location": target})
    httpserver.expect_request(places[-1]).respond_with_data("User-agent: *\nDisallow: /")
    assert allowed("/x") is may


def test_rules_that_lead_in_circles_are_none(httpserver, allowed):
    serve(httpserver, "", 302, Location="/robots.txt")
    assert allowed("/x")


def test_a_server_that_cannot_be_reached_is_unavailable(rules):
    closed = httpx.URL("http://localhost.invalid/x")
    with pytest.raises(SourceUnavailableError, match=r"[^.]\. Until its robots\.txt answers"):
        rules.require_allowed(closed, Deadline(5))


def test_the_rules_are_asked_for_once_a_day(httpserver, allowed, clock):
    serve(httpserver, "User-agent: *\nDisallow: /")
    assert not allowed("/x")
    assert not allowed("/y")
    assert len(httpserver.log) == 1
    serve(httpserver, "")
    clock.moment += KEPT_SECONDS - 1
    assert not allowed("/x")
    clock.moment += 1
    assert allowed("/x")


def test_ones_own_sites_need_not_be_asked(httpserver):
    serve(httpserver, "User-agent: *\nDisallow: /")
    own = f"{httpserver.host}:{httpserver.port}"
    rules = RobotsRules(GuardedFetcher([own], timeout_seconds=5), ignored_hosts=[own])
    rules.require_allowed(httpx.URL(httpserver.url_for("/x")), Deadline(5))
    assert httpserver.log == []


def test_the_rules_of_where_a_redirect_leads_are_asked_before_it_is_followed(httpserver):
    own = f"{httpserver.host}:{httpserver.port}"
    fetcher = GuardedFetcher([own], timeout_seconds=5)
    rules = RobotsRules(fetcher)
    serve(httpserver, "User-agent: *\nDisallow: /private")
    httpserver.expect_request("/public").respond_with_response(
        Response(status=302, headers={"Location": "/private"})
    )

    def never(request: Request) -> Response:
        raise AssertionError(request.path)

    httpserver.expect_request("/private").respond_with_handler(never)
    with pytest.raises(SourceRefusedError, match="private"):
        fetcher.fetch(httpserver.url_for("/public"), visit=rules.require_allowed)


def test_a_huge_file_full_of_hostile_patterns_is_read_quickly(httpserver, allowed):
    lines = [f"Disallow: /{'*a' * 50}{n}$" for n in range(5000)]
    serve(httpserver, "User-agent: *\n" + "\n".join(lines))
    assert allowed("/" + "a" * 2000)


def test_many_agents_before_many_rules_are_read_quickly(httpserver, allowed):
    agents = [f"User-agent: {n}" for n in range(15_000)] + ["User-agent: *"]
    serve(httpserver, "\n".join(agents + ["Disallow: /a"] * 15_000))
    started = time.process_time()
    assert allowed("/b")
    assert not allowed("/a")
    assert is_within(5, started)  # 15,000 times 15,000 would take minutes


LINES = st.sampled_from(
    [
        *("User-agent: *", "user-agent: Groundwork", "useragent ground", "User agent: work*"),
        *("User-agent: Other", "User-agent:", "User-agent", "User-agent: groundwork-2 # x"),
        *("Disallow: /a", "Disallow: /", "Allow: /b", "disallow /b", "Disallow:", "dissalow: /c"),
        *("Crawl-delay: 3", "Sitemap: http://x/a", "Host: x", "foo: bar", "no rule", "", "# x"),
    ]
)


@given(st.lists(LINES, max_size=12), st.sampled_from(["/a", "/b", "/c", "/d"]))
def test_the_rules_for_us_say_what_the_whole_file_says(lines, path):
    text, url = "\n".join(lines), f"https://example.org{path}"
    whole, ours = Protego.parse(text), Protego.parse(rules_for_us(text))
    assert ours.can_fetch(url, AGENT) == whole.can_fetch(url, AGENT)
