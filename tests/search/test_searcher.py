"""A search shows what SQL holds and the filter allows: all of it, and nothing else."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.content_versions import ContentVersions
from app.indexing.index_sources import lexical_source, vector_source
from app.knowledge.items import ItemDraft
from app.search.queries import citation
from app.search.requests import SearchRequest, SearchResult
from app.search.retrieval import Candidates, Retriever
from app.search.searcher import HASTY_ATTEMPTS, Searcher
from tests.contracts.fake_lexical_index import FakeLexicalIndex

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
    ("lines", "expected"), [((3, 3), "guide/a.md#L3"), ((3, 9), "guide/a.md#L3-L9")]
)
def test_a_citation_names_document_and_lines(lines, expected):
    assert citation("guide/a.md", *lines) == expected


@pytest.mark.parametrize("key", ["b\r\nc.md", "b\x85c.md", "b\u2028\u2029c.md", "b\tc.md"])
def test_a_citation_is_one_line_whatever_the_file_is_called(add, ask, key):
    add(key, "the pilot boards")
    assert ask("the pilot boards", n_results=1)[0].citation == "b c.md#L1"


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
    container: Container, add, ask, source_root
):
    """The index still holds the chunks of a deleted item, all nearer than the others."""
    stale = "\n\n".join(f"the lighthouse blinks {n} times in a row, slowly" * 3 for n in range(120))
    gone = add("gone.md", stale)
    for number in range(6):
        add(f"{number}.md", f"a lighthouse, number {number}, and some other words about rope")
    vectors, words = ExactVectorIndex(container.embedder.dimension), FakeLexicalIndex()
    for batch in vector_source(container.database, container.generation)():
        vectors.upsert(batch)
    for records in lexical_source(container.database, container.generation)():
        words.upsert(records)
    container.knowledge.delete(gone)
    retriever = Retriever(embedder=container.embedder, vector_index=vectors, lexical_index=words)
    searcher = Searcher(
        database=container.database,
        retriever=retriever,
        languages=container.parts.languages,
        versions=ContentVersions(),
        degraded=tuple,
        metrics=container.metrics,
        vector_index=vectors,
    )
    results = searcher.search(SearchRequest("the lighthouse blinks", n_results=6)).results
    retriever.close()
    assert len(results) == 6
    assert gone not in {result.knowledge_id for result in results}


def test_a_search_that_new_versions_overtake_keeps_them_waiting_and_is_answered(
    container: Container, add
):
    """Each version comes while the indexes are asked; without an end, there would be no answer."""
    add("a.md", "a lighthouse")
    versions, asked = ContentVersions(), []

    class Overtaken:
        """As the retriever, but a new version comes meanwhile, unless it is kept waiting."""

        fingerprint = container.parts.retriever.fingerprint
        searches = container.parts.retriever.searches

        def retrieve(self, *args: Any) -> Candidates:
            asked.append(versions.number)
            publishing = threading.Thread(target=self.publish)
            publishing.start()
            publishing.join(0.2)
            return container.parts.retriever.retrieve(*args)

        def publish(self) -> None:
            with versions.changing():
                pass

    searcher = Searcher(
        database=container.database,
        retriever=cast("Retriever", Overtaken()),
        languages=container.parts.languages,
        versions=versions,
        degraded=tuple,
        metrics=container.metrics,
        vector_index=container.vector_index,
    )
    assert searcher.search(SearchRequest("lighthouse")).results
    assert len(asked) == HASTY_ATTEMPTS + 1


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
    for version in range(1, 9):
        write(version)
        assert container.indexer.index(item.id).success
    stop.set()
    for thread in threads:
        thread.join()
    assert len(answers) > 10
    assert mixed == []
