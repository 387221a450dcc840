"""A page that has not changed is not sent again, and a server's wish to be left alone is heeded."""

import pytest
from werkzeug import Request, Response

from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.adapters.loading.path_guard import PathGuard
from app.adapters.loading.sources import Sources
from app.errors import SourceGoneError, SourceUnavailableError
from app.protocols import ConditionalSource


class Page:
    """A page that answers 304 when it is asked with its validators."""

    def __init__(self, **validators: str) -> None:
        self.validators = {name.replace("_", "-"): value for name, value in validators.items()}
        self.text = "First text."
        self.asked: list[dict[str, str]] = []

    def __call__(self, request: Request) -> Response:
        conditions = ("If-None-Match", "If-Modified-Since")
        asked = {name: request.headers[name] for name in conditions if name in request.headers}
        self.asked.append(asked)
        unchanged = asked and set(asked.values()) == set(self.validators.values())
        if unchanged:
            return Response(status=304)
        return Response(self.text, content_type="text/plain", headers=self.validators)


@pytest.fixture
def open_page(site, tmp_path):
    """Opens a page of the test's own server as a source."""
    fetcher = GuardedFetcher([f"{site.host}:{site.port}"], timeout_seconds=5)
    sources = Sources(PathGuard([tmp_path]), fetcher, file_max_bytes=10_000)

    def open_one(page, path="/page"):
        site.expect_request(path).respond_with_handler(page)
        source = sources.open(site.url_for(path), "website")
        assert isinstance(source, ConditionalSource)
        (entry,) = source.scan().entries
        return source, entry

    return open_one


@pytest.mark.parametrize(
    "validators",
    [
        {"ETag": '"v1"'},
        {"ETag": 'W/"v1"'},
        {"Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT"},
        {"ETag": '"v1"', "Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT"},
    ],
    ids=["etag", "weak etag", "date", "both"],
)
def test_a_page_that_has_not_changed_is_not_read_again(open_page, validators):
    page = Page(**validators)
    source, entry = open_page(page)
    stamp = source.read(entry).stamp
    assert stamp is not None
    assert source.read_if_changed(entry, stamp) is None
    assert set(page.asked[-1].values()) == set(validators.values())


def test_a_page_that_has_changed_comes_with_its_new_stamp(open_page):
    page = Page(ETag='"v1"')
    source, entry = open_page(page)
    stamp = source.read(entry).stamp
    page.validators, page.text = {"ETag": '"v2"'}, "Second text."
    loaded = source.read_if_changed(entry, stamp)
    assert loaded.content == "Second text."
    assert source.read_if_changed(entry, loaded.stamp) is None


@pytest.mark.parametrize(
    "validators",
    [{}, {"ETag": '"' + "x" * 500 + '"'}, {"ETag": '"ä"'}],
    ids=["none", "too long", "no ASCII"],
)
def test_a_page_without_usable_validators_is_always_read(open_page, validators):
    page = Page(**validators)
    source, entry = open_page(page)
    assert source.read(entry).stamp is None


@pytest.mark.parametrize("stamp", ["0a1b-12-34-56", "{}", '["0", "x", null, null]', "7"])
def test_a_stamp_of_other_rules_is_no_reason_not_to_read(open_page, stamp):
    page = Page(ETag='"v1"')
    source, entry = open_page(page)
    assert source.read_if_changed(entry, stamp).content == "First text."
    assert page.asked == [{}]


def test_validators_are_not_sent_to_another_address_than_gave_them(open_page, site):
    """The same tag may name other contents where a redirect leads now."""
    first, second = Page(ETag='"1"'), Page(ETag='"1"')
    second.text = "Another text."
    target = ["/v1"]
    site.expect_request("/v1").respond_with_handler(first)
    site.expect_request("/v2").respond_with_handler(second)
    source, entry = open_page(
        lambda _: Response(status=302, headers={"Location": target[0]}), "/latest"
    )
    stamp = source.read(entry).stamp
    assert source.read_if_changed(entry, stamp) is None
    target[0] = "/v2"
    assert source.read_if_changed(entry, stamp).content == "Another text."


def test_a_server_that_says_unchanged_unasked_is_not_believed(open_page):
    source, entry = open_page(lambda _: Response(status=304))
    with pytest.raises(Exception, match="304"):
        source.read(entry)


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_says_so_itself(open_page, status):
    source, entry = open_page(lambda _: Response(status=status))
    with pytest.raises(SourceGoneError, match="Page not found"):
        source.read(entry)


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_may_say_for_how_long_it_wants_to_be_left_alone(open_page, status):
    source, entry = open_page(lambda _: Response(status=status, headers={"Retry-After": "3600"}))
    with pytest.raises(SourceUnavailableError, match="in 3,600 seconds") as raised:
        source.read(entry)
    assert raised.value.retry_after_seconds == 3600
