"""A search shows what SQL holds and the filter allows: all of it, and nothing else."""

import itertools
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest

from app.adapters.vector_index.exact import ExactVectorIndex
from app.clock import now
from app.container import Container
from app.content_versions import ContentVersions
from app.errors import OverloadedError
from app.indexing.index_sources import lexical_source, vector_source
from app.knowledge.items import ItemDraft
from app.search.profiles import RankingWishes
from app.search.queries import citation
from app.search.requests import SearchRequest
from app.search.results import SearchResult
from app.search.retrieval import Candidates, Retriever
from app.search.searcher import HASTY_ATTEMPTS, Searcher
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.patience import PATIENCE_SECONDS

Ask = Callable[..., tuple[SearchResult, ...]]


@pytest.fixture
def ask(container: Container) -> Ask:
    def search(query: str, **wanted: object) -> tuple[SearchResult, ...]:
        return container.searcher.search(SearchRequest(query, **wanted)).results  # type: ignore[arg-type]

    return search


@pytest.fixture
def add(container: Container, source_root: Path):
    """Writes a document, and indexes it as an item of its own."""

    def write_and_index(name: str, text: str, **fields: object) -> int:
        path = source_root / name
        path.write_text(text)
        draft = ItemDraft(name, str(path), "markdown", **fields)  # type: ignore[arg-type]
        item = container.knowledge.create(draft)
        assert container.indexer.index(item.id).success
        return item.id

    return write_and_index


LIGHTHOUSE = "the lighthouse blinks three times in a row"


class IndexesBehind:
    """Indexes that know only what they are told, and never forget, beside the service's own."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._vectors = ExactVectorIndex(container.embedder.dimension)
        self._words = FakeLexicalIndex()
        self.retriever = Retriever(
            embedder=container.embedder, vector_index=self._vectors, lexical_index=self._words
        )

    def catch_up(self) -> None:
        """Take in what SQL holds now."""
        database, generation = self._container.database, self._container.generation
        for batch in vector_source(database, generation)():
            self._vectors.upsert(batch)
        for records in lexical_source(database, generation)():
            self._words.upsert(records)

    def index(self, item_id: int) -> None:
        """Bring SQL up to date with the item's source."""
        assert self._container.indexer.index(item_id).success

    def searcher(self, clock: Callable[[], datetime] = now) -> Searcher:
        return Searcher(
            database=self._container.database,
            retriever=self.retriever,
            languages=self._container.parts.languages,
            versions=ContentVersions(),
            degraded=tuple,
            metrics=self._container.metrics,
            vector_index=self._vectors,
            clock=clock,
        )


@pytest.fixture
def behind(container: Container) -> Iterator[IndexesBehind]:
    indexes = IndexesBehind(container)
    yield indexes
    indexes.retriever.close()


def test_results_come_nearest_first_with_their_cosine(add, ask):
    add("a.md", "the quick brown fox")
    add("b.md", "the quick brown fox jumps over a dog")
    add("c.md", "nothing of that kind")
    results = ask("the quick brown fox", n_results=3)
    assert [result.title for result in results] == ["a.md", "b.md", "c.md"]
    assert results[0].score == pytest.approx(1.0, abs=1e-5)
    assert results[0].score > results[1].score > results[2].score >= 0


def test_lines_and_offsets_are_those_of_the_file_frontmatter_included(add, ask, source_root):
    text = (
        "---\ntitle: Harbour\n---\n\n# Pilots\n\n"
        + "filler words here.\n" * 30
        + "the pilot boards"
    )
    add("h.md", text)
    hit = ask("the pilot boards", n_results=1)[0]
    lines = text.splitlines()[hit.start_line - 1 : hit.end_line]
    assert "the pilot boards" in hit.content
    assert hit.content.strip() == "\n".join(lines)[: len(hit.content) + 10].strip()
    assert hit.document_title == "Harbour"
    assert hit.heading_path == ("Pilots",)
    assert hit.citation == f"h.md#L{hit.start_line}-L{hit.end_line}"


@pytest.mark.parametrize(
    ("lines", "expected"), [((3, 3), "guide/a.md#L3-L3"), ((3, 9), "guide/a.md#L3-L9")]
)
def test_a_citation_names_document_and_lines(lines, expected):
    assert citation("guide/a.md", *lines) == expected


@pytest.mark.parametrize("key", ["b\r\nc.md", "b\x85c.md", "b\u2028\u2029c.md", "b\tc.md"])
def test_a_citation_is_one_line_whatever_the_file_is_called(add, ask, key):
    add(key, "the pilot boards")
    assert ask("the pilot boards", n_results=1)[0].citation == "b c.md#L1-L1"


def test_filters_allow_just_what_they_say(add, ask):
    security = add("s.md", "rotate the keys", category="Eng/Security", tags=("a", "b"))
    other = add("o.md", "rotate the keys", category="Engine", tags=("b",), collection="agents")
    plain = add("p.md", "rotate the keys")

    def ids(**wanted: object) -> set[int]:
        return {result.knowledge_id for result in ask("rotate the keys", n_results=50, **wanted)}

    assert ids() == {security, other, plain}
    assert ids(category="Eng") == ids(category="Eng/Security") == {security}
    assert ids(tags=("b",)) == ids(tags=("a", "b")) == {security, other}
    assert ids(tags=("a", "b"), tags_match="all") == {security}
    assert ids(knowledge_ids=(plain, other)) == {plain, other}
    assert ids(knowledge_ids=()) == ids(category="none") == set()
    assert ids(collection="agents") == {other}


def test_min_score_cuts_by_cosine(add, ask):
    add("a.md", "alpha beta gamma")
    add("b.md", "delta epsilon zeta")
    results = ask("alpha beta gamma", n_results=10, min_score=0.9)
    assert [result.title for result in results] == ["a.md"]


def test_what_sql_does_not_hold_never_shortens_an_answer(
    container: Container, behind: IndexesBehind, add
):
    """The index still holds the chunks of a deleted item, all nearer than the others."""
    stale = "\n\n".join(f"the lighthouse blinks {n} times in a row, slowly" * 3 for n in range(120))
    gone = add("gone.md", stale)
    for number in range(6):
        add(f"{number}.md", f"a lighthouse, number {number}, and some other words about rope")
    behind.catch_up()
    container.knowledge.delete(gone)
    results = behind.searcher().search(SearchRequest("the lighthouse blinks", n_results=6)).results
    assert len(results) == 6
    assert gone not in {result.knowledge_id for result in results}


def test_what_sql_does_not_hold_costs_nobody_a_place(behind: IndexesBehind, add, source_root):
    """The indexes hold the version that was, and that is like the one that is."""
    changed = add("changed.md", LIGHTHOUSE)
    add("other.md", f"{LIGHTHOUSE}, while a ship comes")
    behind.catch_up()
    before = behind.searcher().search(SearchRequest(LIGHTHOUSE, explain=True)).results
    assert before[0].knowledge_id == changed
    for end in ("and once more!", "and once more?"):
        (source_root / "changed.md").write_text(
            f"the lighthouse blinks three times in a row, {end}"
        )
        behind.index(changed)
        behind.catch_up()
    after = behind.searcher().search(SearchRequest(LIGHTHOUSE, explain=True)).results
    assert [result.knowledge_id for result in after] == [r.knowledge_id for r in before]
    assert not any(result.explain.document_penalty for result in after if result.explain)


def test_a_search_of_chunk_types_reads_the_version_whose_types_it_read(
    behind: IndexesBehind, add, source_root
):
    """A new version becomes visible just after the types of the candidates were looked at."""
    item = add("a.md", "the lighthouse blinks, old version")
    for version in ("new", "old"):  # the indexes come to hold both
        behind.catch_up()
        (source_root / "a.md").write_text(f"the lighthouse blinks, {version} version")
        behind.index(item)

    def meanwhile() -> datetime:
        (source_root / "a.md").write_text("the lighthouse blinks, new version")
        behind.index(item)
        return now()

    weighed = RankingWishes(recency_weight=0.1)
    request = SearchRequest(LIGHTHOUSE, chunk_types=("text",), ranking=weighed)
    found = behind.searcher(clock=meanwhile).search(request).results
    assert [result.content for result in found] == ["the lighthouse blinks, old version"]
    assert [r.content for r in behind.searcher().search(request).results] == [
        "the lighthouse blinks, new version"
    ]


def overtaken_searcher(
    container: Container, versions: ContentVersions, publish: Callable[[], None]
) -> Searcher:
    """A searcher to which `publish` happens each time that it asks the indexes."""

    class Overtaken:
        """As the retriever, but a new version comes meanwhile."""

        fingerprint = container.parts.retriever.fingerprint
        searches = container.parts.retriever.searches
        documents_of_tests = container.parts.retriever.documents_of_tests

        def retrieve(self, *args: Any, **wishes: Any) -> Candidates:
            publish()
            return container.parts.retriever.retrieve(*args, **wishes)

    return Searcher(
        database=container.database,
        retriever=cast("Retriever", Overtaken()),
        languages=container.parts.languages,
        versions=versions,
        degraded=tuple,
        metrics=container.metrics,
        vector_index=container.vector_index,
    )


def test_a_search_that_new_versions_overtake_keeps_them_waiting_and_is_answered(
    container: Container, add
):
    """Each version comes while the indexes are asked; without an end, there would be no answer."""
    add("a.md", "a lighthouse")
    versions, asked = ContentVersions(), []

    def change() -> None:
        with versions.changing():
            pass

    def publish() -> None:
        """In a thread of its own, as it waits where it is kept waiting."""
        asked.append(versions.number)
        publishing = threading.Thread(target=change)
        publishing.start()
        is_kept_waiting = len(asked) > HASTY_ATTEMPTS
        publishing.join(0.2 if is_kept_waiting else PATIENCE_SECONDS)

    searcher = overtaken_searcher(container, versions, publish)
    assert searcher.search(SearchRequest("lighthouse")).results
    assert len(asked) == HASTY_ATTEMPTS + 1


def test_a_search_that_every_version_overtakes_is_refused_as_too_much(container: Container, add):
    """Not as a failure: nothing is broken, so the log needs no line for each request."""
    add("a.md", "a lighthouse")

    class NotKept(ContentVersions):
        """Of which a version waited long enough, and goes ahead."""

        @property
        def number(self) -> int:
            return next(numbers)

    numbers = itertools.count()
    searcher = overtaken_searcher(container, NotKept(), lambda: None)
    with pytest.raises(OverloadedError, match="try again"):
        searcher.search(SearchRequest("lighthouse"))


def test_a_search_asks_again_when_a_version_is_published_after_the_indexes_answered(
    container: Container, add, source_root
):
    """SQL holds the old version no more, and the indexes were asked before they held the new."""
    item = add("a.md", "the lighthouse blinks, old version")
    asked = []

    class Overtaken:
        """As the retriever, but a new version is published once it has found the old one."""

        fingerprint = container.parts.retriever.fingerprint
        searches = container.parts.retriever.searches
        documents_of_tests = container.parts.retriever.documents_of_tests

        def retrieve(self, *args: Any, **wishes: Any) -> Candidates:
            found = container.parts.retriever.retrieve(*args, **wishes)
            asked.append(found.chunk_ids)
            (source_root / "a.md").write_text("the lighthouse blinks, new version")
            assert container.indexer.index(item).success
            return found

    searcher = Searcher(
        database=container.database,
        retriever=cast("Retriever", Overtaken()),
        languages=container.parts.languages,
        versions=container.publisher.versions,
        degraded=tuple,
        metrics=container.metrics,
        vector_index=container.vector_index,
    )
    results = searcher.search(SearchRequest(LIGHTHOUSE)).results
    assert [result.content for result in results] == ["the lighthouse blinks, new version"]
    assert len(asked) == 2


def test_the_search_of_a_service_notices_what_its_own_publisher_makes_visible(
    container: Container, add, ask, source_root, monkeypatch: pytest.MonkeyPatch
):
    """A new version becomes visible between the answer of the index and the look at SQL."""
    item = add("a.md", "the lighthouse blinks, old version")
    search, found = container.vector_index.search, []

    def publish_meanwhile(*args: Any) -> Any:
        hits = search(*args)
        if not found:
            (source_root / "a.md").write_text("the lighthouse blinks, new version")
            assert container.indexer.index(item).success
        found.append(hits)
        return hits

    monkeypatch.setattr(container.vector_index, "search", publish_meanwhile)
    results = ask(LIGHTHOUSE, mode="dense")
    assert [result.content for result in results] == ["the lighthouse blinks, new version"]
    assert len(found) == 2


def test_a_deleted_item_is_gone_when_the_answer_arrives(container: Container, add, ask):
    kept, gone = add("k.md", "a lighthouse stays"), add("g.md", "a lighthouse goes")
    container.knowledge.delete(gone)
    assert {result.knowledge_id for result in ask("lighthouse")} == {kept}


def test_a_search_sees_a_document_whole_in_its_old_or_its_new_version(
    container: Container, source_root: Path
):
    path = source_root / "doc.md"

    def write(version: int) -> None:
        path.write_text(
            "\n\n".join(f"version{version} of part {n} tells about the tide " * 3 for n in range(8))
        )

    write(0)
    item = container.knowledge.create(ItemDraft("doc", str(path), "markdown"))
    expected = container.indexer.index(item.id).chunks_indexed
    stop, mixed, answers = threading.Event(), [], []

    def search() -> None:
        request = SearchRequest("tells about the tide", n_results=100)
        while not stop.is_set():
            results = container.searcher.search(request).results
            versions = {result.content.partition("version")[2][:1] for result in results}
            answers.append(len(results))
            if len(versions) != 1 or len(results) != expected:
                mixed.append((versions, len(results)))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    versions = 0
    while versions < 8 or (len(answers) <= 10 and any(thread.is_alive() for thread in threads)):
        versions += 1
        write(1 + versions % 9)
        assert container.indexer.index(item.id).success
    stop.set()
    for thread in threads:
        thread.join()
    assert len(answers) > 10
    assert mixed == []
