import anyio
import pytest
from werkzeug import Response

from app.adapters.loading.document_loader import DocumentLoader
from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.adapters.loading.path_guard import PathGuard
from app.adapters.loading.sources import Sources
from app.errors import SourceError, SourceNotFoundError, SourceRefusedError, SourceUnreadableError
from app.knowledge.items import DocumentType
from app.settings import Settings


@pytest.fixture
def sources(tmp_path, site):
    fetcher = GuardedFetcher([f"{site.host}:{site.port}"], timeout_seconds=5)
    return Sources(PathGuard([tmp_path]), fetcher, file_max_bytes=10_000)


@pytest.fixture
def raw_page(site):
    """Serves a page with just these Content-Type headers; gives its address."""

    def serve(content_types, body):
        response = Response(body.encode())
        response.headers.remove("Content-Type")
        for content_type in content_types:
            response.headers.add("Content-Type", content_type)
        site.expect_request("/odd").respond_with_response(response)
        return site.url_for("/odd")

    return serve


def read_all(source):
    return [source.read(entry) for entry in source.scan().entries]


def test_a_folder_and_a_file_are_opened_by_their_type(sources, tmp_path):
    (tmp_path / "a.md").write_text("# A")
    assert [d.title for d in read_all(sources.open(f"{tmp_path}/", "folder"))] == ["A"]
    assert [d.title for d in read_all(sources.open(f" file://{tmp_path}/a.md ", "markdown"))] == [
        "A"
    ]


def test_every_type_that_an_item_may_have_can_be_opened(sources):
    with pytest.raises(SourceRefusedError) as refused:
        sources.open("/x", "scroll")
    named = refused.value.detail.partition("use one of: ")[2].rstrip(".").split(", ")
    assert set(named) == set(DocumentType)


@pytest.mark.parametrize(
    ("uri", "document_type", "message"),
    [
        ("/x", "pdf", "markdown, folder, website"),
        ("/x.html", "website", "document_type 'markdown'"),
        ("file:///x.html", "website", "document_type 'markdown'"),
        ("https://example.com/", "folder", "document_type 'website'"),
        ("ftp://example.com/x.md", "markdown", "ftp"),
        ("gopher://x", "website", "gopher"),
        ("https://u:p@example.com/", "website", "password"),
        ("/etc/passwd", "markdown", "SOURCE_ROOTS"),
        ("/etc", "folder", "SOURCE_ROOTS"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_what_to_do(sources, uri, document_type, message):
    with pytest.raises(SourceRefusedError, match=message):
        sources.open(uri, document_type)


def test_a_web_page_becomes_one_document(sources, site):
    page = (
        '<html lang=en><title>T</title><link rel=canonical href="/c"><main><h1>H</h1>Größe</main>'
    )
    site.expect_request("/p").respond_with_data(
        page.encode("cp1252"), content_type="text/html; charset=iso-8859-1"
    )
    source = sources.open(site.url_for("/p"), "website")
    (entry,) = source.scan().entries
    loaded = source.read(entry)
    assert (entry.key, entry.stamp) == (site.url_for("/p"), None)
    assert (loaded.content, loaded.title, loaded.language) == ("# H\n\nGröße", "T", "en")
    assert (loaded.source_uri, loaded.document_id) == (site.url_for("/c"), entry.key)


@pytest.mark.parametrize("document_type", ["website", "markdown"])
def test_a_place_in_a_page_is_no_part_of_its_name(sources, site, document_type):
    site.expect_request("/p").respond_with_data("# Title", content_type="text/markdown")

    (loaded,) = read_all(sources.open(site.url_for("/p?q=1#title"), document_type))

    assert {loaded.document_id, loaded.source_uri} == {site.url_for("/p?q=1")}


@pytest.mark.parametrize("document_type", ["website", "markdown"])
@pytest.mark.parametrize(
    ("path", "content_type", "body", "title"),
    [
        ("/guide.md", "text/plain", "---\ntitle: Front\n---\ntext", "Front"),
        ("/guide", "text/markdown; charset=utf-8", "# Head", "Head"),
        ("/README.MD", "text/markdown", "words", "README"),
        ("/p", "text/html", "<h1>Page</h1>", "Page"),
        ("/p", "application/xhtml+xml", "<html><h1>Page</h1></html>", "Page"),
        ("/notes.rst", "text/plain", "Notes\n=====\n", "Notes"),
        ("/", "text/plain", "text", None),
    ],
)
def test_a_page_is_read_as_what_the_server_says_it_is(
    sources, site, document_type, path, content_type, body, title
):
    site.expect_request(path).respond_with_data(body, content_type=content_type)
    (loaded,) = read_all(sources.open(site.url_for(path), document_type))
    assert loaded.title == title or (title is None and loaded.title)


XHTML = """<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="s.js"/></head>
<body><p>one</p><iframe src="y"/><p>two<br/></p><p/><style/><p>three</p><textarea/><div hidden=""/>
<p>four</p></body></html>"""


@pytest.mark.parametrize(
    ("content_type", "page", "content"),
    [
        ("application/xhtml+xml", XHTML, "one\n\ntwo\n\nthree\n\nfour"),
        ("text/html", "<p>one</p><iframe src='y'/><p>two</p>", "one"),  # as browsers do
    ],
)
def test_what_ends_within_its_tag_hides_nothing_in_xhtml_and_ends_nothing_in_html(
    sources, site, content_type, page, content
):
    site.expect_request("/p").respond_with_data(page, content_type=content_type)
    (loaded,) = read_all(sources.open(site.url_for("/p"), "website"))
    assert loaded.content == content


@pytest.mark.parametrize(
    "told", ["https://docs.python.org/3/library/os.html", "http://{}@evil.example/", "http://["]
)
def test_a_fetched_text_cannot_name_another_host_as_its_source(sources, site, told):
    told = told.format(f"{site.host}:{site.port}")
    body = f"---\ntitle: T\nsource_url: {told}\n---\ntext"
    site.expect_request("/x.md").respond_with_data(body, content_type="text/markdown")
    (loaded,) = read_all(sources.open(site.url_for("/x.md"), "website"))
    assert (loaded.title, loaded.source_uri) == ("T", site.url_for("/x.md"))
    (warning,) = loaded.warnings
    assert "source_url" in warning


def test_a_fetched_text_may_name_another_address_of_its_host_as_its_source(sources, site):
    told = site.url_for("/guide")
    body = f"---\nsource_url: {told}\n---\ntext"
    site.expect_request("/x.md").respond_with_data(body, content_type="text/markdown")
    (loaded,) = read_all(sources.open(site.url_for("/x.md"), "website"))
    assert (loaded.source_uri, loaded.warnings) == (told, ())


HTML = "<html><head><title>T</title></head><body><h1>Head</h1><p>Text</body></html>"


@pytest.mark.parametrize(
    ("content_types", "body"),
    [
        (["text/html", "text/html; charset=utf-8"], HTML),
        (["text/html; charset=utf-8, text/html"], HTML),
        ([""], HTML),
        (["html"], HTML),
        ([], "\ufeff" + HTML),
        ([], "<!-- made by hand --> " + HTML),
        ([], "<?xml version='1.0'?>\n" + HTML),
        ([], "<!-- a -->" * 100 + HTML),
        ([], "<!-->" + HTML),
    ],
    ids=[
        "twice",
        "with-commas",
        "empty",
        "no-type",
        "mark",
        "comment",
        "xml",
        "many-comments",
        "empty-comment",
    ],
)
def test_a_page_is_html_however_oddly_its_server_names_the_type(
    sources, raw_page, content_types, body
):
    (document,) = read_all(sources.open(raw_page(content_types, body), "website"))
    assert (document.title, document.content.endswith("# Head\n\nText")) == ("T", True)


def test_a_text_that_names_no_type_and_begins_with_comments_stays_text(sources, raw_page):
    text = "<!-- a -->" * 150 + "Text"
    (document,) = read_all(sources.open(raw_page([], text), "website"))
    assert document.content == text


def test_the_charset_of_the_meta_element_counts_when_the_header_names_none(sources, site):
    body = '<meta charset="koi8-r"><p>Съешь</p>'.encode("koi8-r")
    site.expect_request("/").respond_with_data(body, headers={"Content-Type": "text/html"})
    (loaded,) = read_all(sources.open(site.url_for("/"), "website"))
    assert loaded.content == "Съешь"


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("tis-620", "สวัสดีชาวโลก"),
        ("iso-8859-15", "Prix : 5 € cœur"),
        ("iso-8859-4", "Latviešu valoda āčēģīķļņšūž"),
    ],
)
@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml"])
def test_without_both_that_of_the_xml_declaration_does(sources, site, content_type, charset, text):
    page = f'<?xml version="1.0" encoding="{charset}"?>\n<html><body><p>{text}</p></body></html>'
    site.expect_request("/").respond_with_data(
        page.encode(charset), headers={"Content-Type": content_type}
    )
    (loaded,) = read_all(sources.open(site.url_for("/"), "website"))
    assert loaded.content == text


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<p>Caf\xc3\xa9 one\n<p>two\n<p>br\xa3ken", ["In line 3 stand bytes that are no utf-8"]),
        (b"<script>br\xa3ken</script><p>Caf\xc3\xa9", []),
    ],
    ids=["in the text", "beside it"],
)
def test_bytes_of_a_page_that_cannot_be_read_cost_a_warning(sources, site, body, told):
    site.expect_request("/").respond_with_data(body, content_type="text/html")
    (loaded,) = read_all(sources.open(site.url_for("/"), "website"))
    assert [warning.partition(";")[0] for warning in loaded.warnings] == told


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "^No content to index$"),
        (
            "<script>x</script>",
            "^No content to index: the page has scripts, and these are not run$",
        ),
        ("\0\0", "binary"),
    ],
)
def test_a_page_without_text_is_unreadable(sources, site, body, message):
    site.expect_request("/").respond_with_data(body, content_type="text/html")
    with pytest.raises(SourceUnreadableError, match=message):
        read_all(sources.open(site.url_for("/"), "website"))


def test_the_settings_name_roots_and_limits(tmp_path):
    (tmp_path / "a.md").write_text("x" * 100)
    settings = Settings(_env_file=None, source_roots=[tmp_path], file_max_bytes=99)
    sources = Sources.from_settings(settings)
    assert "too large" in sources.open(str(tmp_path), "folder").scan().skipped[0].reason


def load(loader, uri, document_type):
    return anyio.run(loader.load, uri, document_type)


def test_the_loader_leaves_out_the_unreadable_files_of_a_folder(sources, tmp_path, caplog):
    (tmp_path / "a.md").write_text("# A")
    (tmp_path / "b.md").write_bytes(b"\0\1\2")
    (tmp_path / "c.md").write_text("")
    loaded = load(DocumentLoader(sources=sources), str(tmp_path), "folder")
    assert [document.document_id for document in loaded] == ["a.md"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "b.md" in caplog.text


def test_the_loader_raises_what_stops_a_single_document(sources, tmp_path):
    (tmp_path / "empty.md").write_text(" ")
    loader = DocumentLoader(sources=sources)
    with pytest.raises(SourceUnreadableError, match="No content to index"):
        load(loader, f"{tmp_path}/empty.md", "markdown")
    with pytest.raises(SourceNotFoundError, match="File not found"):
        load(loader, f"{tmp_path}/none.md", "markdown")


def test_the_loader_works_alone():
    loader = DocumentLoader(timeout=30.0)
    with pytest.raises(SourceError, match="File not found: /nonexistent/path/file"):
        load(loader, "/nonexistent/path/file.md", "markdown")
