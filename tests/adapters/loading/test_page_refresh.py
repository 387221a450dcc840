"""A page that sends its readers to another at once is followed there as a redirect is."""

import pytest

from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.adapters.loading.page_refresh import refresh_target
from app.adapters.loading.path_guard import PathGuard
from app.adapters.loading.sources import Sources
from app.errors import SourceRefusedError, SourceUnreadableError

STUB = '<!doctype html><title>Redirecting…</title><meta http-equiv="{}" content="{}"><h1>Moved</h1>'


@pytest.fixture
def fetcher(site):
    return GuardedFetcher([f"{site.host}:{site.port}"], timeout_seconds=5, max_bytes=200_000)


@pytest.fixture
def serve(site):
    """Serves a page at a path; gives its address."""

    def serve_one(path, body, content_type="text/html; charset=utf-8", refresh=None):
        headers = {"Refresh": refresh} if refresh is not None else {}
        answered = site.expect_request(path)
        answered.respond_with_data(body, content_type=content_type, headers=headers)
        return site.url_for(path)

    return serve_one


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("refresh", "0; url=/new"),
        ("Refresh", "0;URL='/new'"),
        ("refresh", " 3 , url = &quot;/new&quot; x"),
        ("refresh", "0.5;/new"),
        ("refresh", "0 new#part"),
        ("refresh", ".5; url=/new"),
        ("refresh", '0; url=/new"><meta http-equiv="refresh" content="0; url=/other'),
    ],
)
def test_a_page_that_leads_to_another_at_once_is_followed(serve, fetcher, name, content):
    old = serve("/old", STUB.format(name, content))
    new = serve("/new", "<p>Here")
    page = fetcher.fetch(old)
    assert (page.url, page.body) == (new, b"<p>Here")


@pytest.mark.parametrize(
    "body",
    [
        STUB.format("refresh", "6; url=/new"),
        STUB.format("refresh", "9999999999; url=/new"),
        STUB.format("refresh", "0"),
        STUB.format("refresh", "0; url=#part"),
        STUB.format("refresh", "0; url=/old"),
        STUB.format("refresh", "soon; url=/new"),
        STUB.format("content-type", "0; url=/new"),
        f"<noscript>{STUB.format('refresh', '0; url=/new')}</noscript><p>text",
        f"<!-- {STUB.format('refresh', '0; url=/new')} --><p>text",
        "<p>" + "text " * 20_000 + STUB.format("refresh", "0; url=/new"),
    ],
    ids=["later", "much later", "no address", "itself", "its address", "no time", "other", *"ncf"],
)
def test_a_page_that_leads_nowhere_at_once_is_read(serve, fetcher, body):
    old = serve("/old", body)
    assert fetcher.fetch(old).body == body.encode()


def test_what_is_no_html_leads_nowhere(serve, fetcher):
    body = STUB.format("refresh", "0; url=/new")
    assert fetcher.fetch(serve("/old", body, "text/plain")).body == body.encode()


def test_what_has_no_type_leads_on_only_where_it_begins_like_html():
    stub = STUB.format("refresh", "0; url=/new").encode()
    target = "https://e.org/new"
    assert refresh_target("https://e.org/", None, "", b"<html>" + stub, None) == target
    assert refresh_target("https://e.org/", None, "", b"# How\n\n```html\n" + stub, None) is None


def test_where_it_leads_is_relative_to_the_page_s_base(serve, fetcher):
    old = serve("/old", '<base href="/v2/">' + STUB.format("refresh", "0; url=new"))
    new = serve("/v2/new", "<p>Here")
    assert fetcher.fetch(old).url == new


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("http://169.254.169.254/latest/", "169.254.169.254"),
        ("http://127.0.0.1:1/", "127.0.0.1"),
        ("file:///etc/passwd", "leads to file:///etc/passwd"),
        ("javascript:alert(1)", "leads to javascript:alert"),
    ],
)
@pytest.mark.parametrize("by_header", [False, True])
def test_the_guard_stands_before_where_a_page_leads(serve, fetcher, target, message, by_header):
    refresh = f"0; url={target}"
    old = serve("/old", STUB.format("refresh", refresh))
    if by_header:
        old = serve("/moved", "<p>Moved", refresh=refresh)
    with pytest.raises(SourceRefusedError, match=message):
        fetcher.fetch(old)


def test_what_is_no_address_is_a_clear_error(serve, fetcher):
    old = serve("/old", STUB.format("refresh", "0; url=http://[x/"))
    with pytest.raises(SourceUnreadableError, match=r"leads to no address, 'http://\[x/'"):
        fetcher.fetch(old)


def test_it_counts_as_one_of_five_redirects(serve, fetcher, site):
    for n in range(6):
        serve(f"/{n}", STUB.format("refresh", f"0; url=/{n + 1}"))
    serve("/6", "<p>end")
    assert fetcher.fetch(site.url_for("/1")).body == b"<p>end"
    with pytest.raises(SourceUnreadableError, match=r"more than 5 redirects, the last one to .*/6"):
        fetcher.fetch(site.url_for("/0"))


def test_each_address_is_asked_for_before_it_is_visited(serve, fetcher):
    visited = []
    old = serve("/old", STUB.format("refresh", "0; url=/new"))
    new = serve("/new", "<p>Here")
    fetcher.fetch(old, visit=lambda address, _deadline: visited.append(str(address)))
    assert visited == [old, new]


def test_the_document_is_the_page_it_leads_to(serve, fetcher, tmp_path):
    link = '<link rel="canonical" href="/new">'
    old = serve("/old", link + STUB.format("refresh", "0; url=/new"))
    new = serve("/new", "<main><h1>Real</h1><p>Text.</p></main>")
    source = Sources(PathGuard([tmp_path]), fetcher, file_max_bytes=10_000).open(old, "website")
    (entry,) = source.scan().entries
    loaded = source.read(entry)
    assert (loaded.content, loaded.source_uri) == ("# Real\n\nText.", new)
    assert loaded.document_id == old


@pytest.mark.parametrize("content_type", ["text/html", "text/plain"])
@pytest.mark.parametrize("header", ["0; url=/new", "5;URL='new'", "0;/new#part"])
def test_a_header_leads_to_another_page_as_its_html_does(serve, fetcher, content_type, header):
    old = serve("/old", "<p>Moved", content_type, header)
    new = serve("/new", "<p>Here")
    assert fetcher.fetch(old).url == new


@pytest.mark.parametrize(
    "header", ["6; url=/new", "0", "0; url=/old", "0; url=#part", "0; url=", "soon", "", "0x;/new"]
)
def test_a_header_that_leads_nowhere_at_once_leaves_the_page_to_be_read(serve, fetcher, header):
    old = serve("/old", "<p>Text", refresh=header)
    assert fetcher.fetch(old).body == b"<p>Text"


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("0; url=/first", "/first"),
        ("30; url=/first", "/old"),
        ("30", "/old"),
        ("0; url=/old", "/old"),
        ("soon; url=/first", "/second"),
        ("", "/second"),
    ],
)
def test_a_header_goes_before_the_html_unless_it_asks_for_nothing(
    serve, fetcher, site, header, path
):
    old = serve("/old", STUB.format("refresh", "0; url=/second"), refresh=header)
    serve("/first", "<p>First")
    serve("/second", "<p>Second")
    assert fetcher.fetch(old).url == site.url_for(path)


def test_where_a_header_leads_is_relative_to_the_page_s_address(serve, fetcher):
    old = serve("/docs/old", '<base href="/v2/"><p>Moved', refresh="0; url=new")
    new = serve("/docs/new", "<p>Here")
    assert fetcher.fetch(old).url == new


def test_headers_and_html_share_the_five_redirects(serve, fetcher, site):
    for n in range(6):
        target = f"0; url=/{n + 1}"
        serve(f"/{n}", STUB.format("refresh", target), refresh=target if n % 2 else None)
    serve("/6", "<p>end")
    assert fetcher.fetch(site.url_for("/1")).body == b"<p>end"
    with pytest.raises(SourceUnreadableError, match=r"more than 5 redirects, the last one to .*/6"):
        fetcher.fetch(site.url_for("/0"))


def test_where_a_header_leads_is_asked_for_before_it_is_visited(serve, fetcher):
    visited = []
    old = serve("/old", "<p>Moved", refresh="0; url=/new")
    new = serve("/new", "<p>Here")
    fetcher.fetch(old, visit=lambda address, _deadline: visited.append(str(address)))
    assert visited == [old, new]
