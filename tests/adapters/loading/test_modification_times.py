"""When a document was last changed: what it says itself, else its file's time or its server's."""

import os
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.loading.frontmatter import read_frontmatter
from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.adapters.loading.path_guard import PathGuard
from app.adapters.loading.sources import Sources
from app.indexing.documents import SourceTimes

MOMENT = datetime(2024, 5, 17, 8, 30, tzinfo=UTC)


@pytest.fixture
def sources(tmp_path, site):
    fetcher = GuardedFetcher([f"{site.host}:{site.port}"], timeout_seconds=5)
    return Sources(PathGuard([tmp_path]), fetcher, file_max_bytes=10_000)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("date: 2024-05-17", datetime(2024, 5, 17, tzinfo=UTC)),
        ("date: 2024-05-17T10:30:00+02:00", MOMENT),
        ("date: 2020-01-01\nlastmod: '2024-05-17 08:30'", MOMENT),
        ("last_modified: soon\nupdated: 2024-05-17T08:30:00Z", MOMENT),
        ("date: 2024-5-17 8:30:00", MOMENT),
        ("date: 2024/05/17 10:30:00 +0200", MOMENT),
        ("date: 2024/5/17 8:30", MOMENT),
        ("date: 2024-05-17 08:30:00 UTC", MOMENT),
        ("date: 17/5/2024", None),
        ("date: 2024-W20-5", datetime(2024, 5, 17, tzinfo=UTC)),
        ("date: 2024-5-7", datetime(2024, 5, 7, tzinfo=UTC)),
        ("date: 0001-01-01T00:00:00+14:00", None),
        ("date: [2024-05-17]", None),
        ("title: none", None),
    ],
)
def test_frontmatter_tells_in_iso_8601(block, expected):
    assert read_frontmatter(f"---\n{block}\n---\ntext").modified_at == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("date = 2024-05-17", datetime(2024, 5, 17, tzinfo=UTC)),
        ("date = 2024-05-17T10:30:00+02:00", MOMENT),
        ("date = 2020-01-01\nlastmod = 2024-05-17 08:30:00", MOMENT),
        ("lastmod = 08:30:00\nupdated = '2024-05-17T08:30:00Z'", MOMENT),
        ("date = 0001-01-01T00:00:00+14:00", None),
        ("date = [2024-05-17]", None),
    ],
)
def test_frontmatter_in_toml_tells_in_its_own_dates(block, expected):
    assert read_frontmatter(f"+++\n{block}\n+++\ntext").modified_at == expected


@given(st.text(max_size=40))
def test_no_date_whatever_it_says_is_an_error(told):
    moment = read_frontmatter(f"---\ndate: {told!r}\n---\ntext").modified_at
    assert moment is None or moment.tzinfo is UTC


@pytest.mark.parametrize("kind", ["markdown", "folder"])
def test_a_file_has_the_time_at_which_it_was_written(sources, tmp_path, kind):
    path = tmp_path / "a.md"
    path.write_text("# A")
    os.utime(path, (0, MOMENT.timestamp()))
    source = sources.open(str(path if kind == "markdown" else tmp_path), kind)
    (entry,) = source.scan().entries
    assert entry.modified_at == MOMENT
    assert SourceTimes.of(entry, source.read(entry)).modified_at == MOMENT
    path.write_text("---\ndate: 2001-02-03\n---\n# A")
    told = SourceTimes.of(entry, source.read(entry)).modified_at
    assert told == datetime(2001, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "expected"),
    [("Fri, 17 May 2024 08:30:00 GMT", MOMENT), ("yesterday", None), (None, None)],
)
def test_a_page_has_the_time_that_its_server_tells(sources, httpserver, header, expected):
    headers = {"Last-Modified": header} if header else {}
    httpserver.expect_request("/p").respond_with_data(
        "<main><h1>H</h1>Text</main>", content_type="text/html", headers=headers
    )
    source = sources.open(httpserver.url_for("/p"), "website")
    (entry,) = source.scan().entries
    assert source.read(entry).modified_at == expected
