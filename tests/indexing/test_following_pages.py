"""Pages that are looked at again: unchanged, changed, gone, or just not answering."""

from datetime import timedelta

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from app.clock import now
from app.container import Container
from app.indexing.results import IndexingResult
from app.knowledge.host_queries import paused_hosts
from app.knowledge.items import ItemDraft
from app.models import ItemRow
from app.settings import Settings


class Page:
    """A page whose text, status and headers the test decides."""

    def __init__(self) -> None:
        self.text = "A lighthouse stands here."
        self.status = 200
        self.headers: dict[str, str] = {"ETag": '"1"'}
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        if self.status == 200 and request.headers.get("If-None-Match") == self.headers.get("ETag"):
            return Response(status=304)
        return Response(
            self.text, status=self.status, headers=self.headers, content_type="text/plain"
        )


@pytest.fixture
def settings(settings: Settings, httpserver: HTTPServer) -> Settings:
    own = [f"{name}:{httpserver.port}" for name in ("127.0.0.1", "localhost")]
    return settings.model_copy(update={"fetch_allow_hosts": own})


@pytest.fixture
def page(httpserver: HTTPServer) -> Page:
    made = Page()
    httpserver.expect_request("/robots.txt").respond_with_data("", status=404)
    httpserver.expect_request("/page").respond_with_handler(made)
    return made


@pytest.fixture
def item_id(container: Container, httpserver: HTTPServer, page: Page) -> int:
    draft = ItemDraft("Page", httpserver.url_for("/page"), "website")
    return container.knowledge.create(draft).id


@pytest.fixture
def refresh(container: Container, item_id: int):
    def run(**options: bool) -> IndexingResult:
        return container.indexer.index(item_id, **options)

    return run


def outcomes(container: Container, item_id: int) -> list[str]:
    return [run.outcome for run in container.history.list(item_id, 50, None).items]


def next_refresh_in(container: Container, item_id: int) -> float:
    with container.database.read() as session:
        moment = session.get_one(ItemRow, item_id).next_refresh_at
    assert moment is not None
    return (moment - now()).total_seconds()


def test_a_page_that_has_not_changed_costs_nothing(
    container: Container, page: Page, item_id: int, refresh, found
) -> None:
    first = refresh()
    page.text = "This is not sent."
    second = refresh()
    assert second.success
    assert (second.chunks_added, second.content_hash) == (0, first.content_hash)
    assert page.asked[1].headers["If-None-Match"] == '"1"'
    assert "lighthouse" in found("lighthouse")[0]
    assert outcomes(container, item_id) == ["unchanged", "changed"]


def test_force_asks_for_the_page_whatever_its_tag_says(page: Page, refresh, found) -> None:
    refresh()
    page.text = "A windmill stands here."
    assert refresh(force=True).chunks_added == 1
    assert "windmill" in found("windmill")[0]


def test_a_page_that_was_touched_but_says_the_same_is_known_by_its_new_tag(
    page: Page, refresh
) -> None:
    refresh()
    page.headers = {"ETag": '"2"'}
    assert refresh().chunks_added == 0
    refresh()
    assert page.asked[2].headers["If-None-Match"] == '"2"'


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_leaves_the_search_and_its_item_says_why(
    container: Container, page: Page, item_id: int, refresh, found, status: int
) -> None:
    refresh()
    page.status = status
    result = refresh()
    after = container.knowledge.get(item_id)
    assert found("lighthouse") == []
    assert result.error == after.error == f"Page not found: {after.uri} (HTTP {status})"
    assert (after.status, after.chunk_count, after.content_hash) == ("error", 0, None)
    run = container.history.list(item_id, 1, None).items[0]
    assert (run.outcome, run.removed, run.chunks_removed) == ("failed", (after.uri,), 1)
    assert container.maintenance.verify().problems == ()
    page.status = 200
    assert refresh().success
    assert container.knowledge.get(item_id).status == "active"
    assert "lighthouse" in found("lighthouse")[0]


@pytest.mark.parametrize("status", [401, 403, 408, 418, 429, 500, 503])
def test_a_page_that_does_not_answer_with_its_text_stays_searchable(
    container: Container, page: Page, item_id: int, refresh, found, status: int
) -> None:
    refresh()
    page.status = status
    assert not refresh().success
    after = container.knowledge.get(item_id)
    assert after.status == "active"
    assert str(status) in (after.error or "")
    assert "lighthouse" in found("lighthouse")[0]


def test_what_robots_txt_forbids_is_not_fetched_and_stays_if_it_was_there(
    container: Container, httpserver: HTTPServer, item_id: int, refresh, found
) -> None:
    refresh()
    httpserver.clear()
    httpserver.expect_request("/robots.txt").respond_with_data("User-agent: *\nDisallow: /")
    container.close()
    again = Container.open(container.settings, embedder=container.embedder)
    result = again.indexer.index(item_id)
    assert "robots.txt does not let Groundwork read" in (result.error or "")
    assert again.knowledge.get(item_id).status == "active"
    again.close()


def test_retry_after_holds_for_the_item_and_for_its_host(
    container: Container, httpserver: HTTPServer, page: Page, item_id: int, refresh
) -> None:
    httpserver.expect_request("/other").respond_with_data("text", content_type="text/plain")
    other = container.knowledge.create(
        ItemDraft("Other", httpserver.url_for("/other"), "website", refresh_interval=60)
    ).id
    container.indexer.index(other)
    elsewhere = container.knowledge.create(
        ItemDraft("Elsewhere", "https://example.com/", "website", refresh_interval=60)
    ).id
    with container.database.write() as session:
        session.get_one(ItemRow, elsewhere).next_refresh_at = now() + timedelta(seconds=60)
    refresh()
    page.status, page.headers = 429, {"Retry-After": "5000"}
    refresh()
    assert 4900 < next_refresh_in(container, item_id) <= 5000
    assert 4900 < next_refresh_in(container, other) <= 5000
    assert next_refresh_in(container, elsewhere) <= 60


def test_a_host_that_asks_once_more_while_it_is_left_alone_rewrites_no_times_of_its_pages(
    container: Container, page: Page, item_id: int, refresh
) -> None:
    """In a job of all items each of its thousands of pages may be answered like this."""
    refresh()
    other = container.knowledge.create(
        ItemDraft("Other", container.knowledge.get(item_id).uri + "/2", "website")
    ).id

    def set_time(seconds: float) -> None:
        with container.database.write() as session:
            session.get_one(ItemRow, other).next_refresh_at = now() + timedelta(seconds=seconds)

    set_time(60)
    page.status, page.headers = 429, {"Retry-After": "5000"}
    refresh()
    assert 4900 < next_refresh_in(container, other) <= 5000
    set_time(70)
    refresh()
    assert next_refresh_in(container, other) <= 70
    with container.database.read() as session:
        assert len(paused_hosts(session, now())) == 1


def test_the_host_that_a_redirect_leads_to_is_the_one_left_alone(
    container: Container, httpserver: HTTPServer, page: Page, item_id: int, refresh
) -> None:
    """Both names are of the test's server: the item's is 127.0.0.1 or localhost, as that is."""
    refresh()
    own, port = httpserver.host, httpserver.port
    asking = f"http://{'127.0.0.1' if own == 'localhost' else 'localhost'}:{port}"
    httpserver.expect_request("/busy").respond_with_data(
        "", status=503, headers={"Retry-After": "5000"}
    )
    others = [
        container.knowledge.create(ItemDraft(uri, uri, "website", refresh_interval=60)).id
        for uri in (f"{asking}/1", f"http://{own}:{port}/2")
    ]
    with container.database.write() as session:
        for other in others:
            session.get_one(ItemRow, other).next_refresh_at = now() + timedelta(seconds=60)
    page.status, page.headers = 302, {"Location": f"{asking}/busy"}
    assert "503" in (refresh().error or "")
    assert 4900 < next_refresh_in(container, item_id) <= 5000
    assert 4900 < next_refresh_in(container, others[0]) <= 5000
    assert next_refresh_in(container, others[1]) <= 60
    with container.database.read() as session:
        assert list(paused_hosts(session, now())) == [asking.removeprefix("http://")]


def test_failures_in_a_row_make_the_next_look_later_and_a_success_ends_that(
    container: Container, page: Page, item_id: int, refresh
) -> None:
    container.knowledge.update(item_id, {"refresh_interval": 100})
    refresh()
    page.status = 500
    waits = []
    for _ in range(4):
        refresh()
        waits.append(next_refresh_in(container, item_id))
    assert [round(wait / 100) for wait in waits[:2]] == [1, 2]
    assert 350 < waits[2] < 450
    assert 700 < waits[3] < 900
    page.status = 200
    refresh()
    assert 85 < next_refresh_in(container, item_id) <= 110
