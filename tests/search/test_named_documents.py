"""Who types a file name or a path wants that document, not those that mention it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.container import Container
from app.knowledge.items import ItemDraft
from app.search.requests import SearchRequest
from app.search.results import SearchResult

Search = Callable[..., tuple[SearchResult, ...]]
Index = Callable[[str, dict[str, str]], int]

PROSE = "Buoys float beyond the quay, where gulls watch the ferry leave for the island at dawn."
FILES = {
    "guide/v1.5.11.md": "Lamps were mended, and the harbour gate turns twice as quickly.",
    "guide/index.md": "Welcome to the harbour.",
    "index.md": "Ropes, lamps and buoys.",
    "notes/long.md": "\n\n".join(f"Paragraph {n} about ropes. " * 30 for n in range(8)),
    "notes/list.md": f"See v1.5.11.md, guide/v1.5.11.md, guide/index.md and index.md. {PROSE}",
    "notes/more.md": f"# v1.5.11.md\n\nWhat v1.5.11.md and notes/long.md say: index.md. {PROSE}",
    "rules/rule-0007.md": f"# 7. On ferries\n\nNobody whistles on a ferry. {PROSE}",
    "rules/rule-0008.md": f"# 8. Against rule 7\n\nRule 7 asks too much: rule 7 must go. {PROSE}",
    **{f"tides/{n}.md": f"Tide {n} is high at noon. {PROSE}" for n in range(12)},
}


@pytest.fixture
def index(container: Container, source_root: Path) -> Index:
    """Indexes a folder of texts by path; gives the id of its item."""

    def indexed(name: str, texts: dict[str, str]) -> int:
        for key, text in texts.items():
            (source_root / name / key).parent.mkdir(parents=True, exist_ok=True)
            (source_root / name / key).write_text(text)
        item = container.knowledge.create(ItemDraft(name, str(source_root / name), "folder"))
        assert container.indexer.index(item.id).success
        return item.id

    return indexed


@pytest.fixture
def search(container: Container) -> Search:
    def found(query: str, **wanted: object) -> tuple[SearchResult, ...]:
        request = SearchRequest(query, **{"n_results": 20, **wanted})  # type: ignore[arg-type]
        return container.searcher.search(request).results

    return found


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("v1.5.11", "guide/v1.5.11.md"),
        ("V1.5.11.md", "guide/v1.5.11.md"),
        ("./guide/v1.5.11.md", "guide/v1.5.11.md"),
        ("what does `guide/v1.5.11.md` say?", "guide/v1.5.11.md"),
        ("guide/index.md", "guide/index.md"),
        ("guide/index", "guide/index.md"),
        ("/srv/docs/guide/index.md#L1", "guide/index.md"),
        ("/srv/docs/index.md", "index.md"),
        ("notes/long.md", "notes/long.md"),
        ("rule 7", "rules/rule-0007.md"),
        ("what does rule 7 say?", "rules/rule-0007.md"),
        ("who is against Rule #8", "rules/rule-0008.md"),
        ("tide 3", "tides/3.md"),
    ],
)
def test_the_document_that_is_named_comes_first(index, search, query, document):
    index("docs", FILES)
    for mode in ("hybrid", "lexical"):
        assert search(query, mode=mode)[0].document == document


def test_all_chunks_of_the_document_come_before_what_mentions_it(index, search):
    index("docs", FILES)
    keys = [result.document for result in search("notes/long.md")]
    assert keys.count("notes/long.md") > 4
    assert set(keys[: keys.count("notes/long.md")]) == {"notes/long.md"}


def test_of_a_name_that_several_share_all_come_before_what_mentions_it(index, search):
    index("docs", FILES)
    assert {result.document for result in search("index.md")[:2]} == {"index.md", "guide/index.md"}


def test_under_a_filter_what_else_may_be_meant_comes_first(index, search):
    index("docs", FILES)
    inner = {"index.md": "Only the guide.", "list.md": f"See guide/index.md. {PROSE}"}
    guide = index("guide", inner)
    assert search("guide/index.md")[0].citation == "guide/index.md#L1-L1"
    first = search("guide/index.md", knowledge_ids=(guide,))[0]
    assert (first.knowledge_id, first.document) == (guide, "index.md")


def test_a_document_that_is_moved_is_called_by_its_new_path(index, search, container, source_root):
    item = index("docs", FILES)
    (source_root / "docs/guide/v1.5.11.md").rename(source_root / "docs/notes/v1.5.12.md")
    assert container.indexer.index(item).success
    assert search("v1.5.12")[0].document == "notes/v1.5.12.md"
    assert search("v1.5.11")[0].document != "notes/v1.5.12.md"


def test_its_score_can_be_computed_again_from_what_explain_shows(index, search):
    index("docs", FILES)
    shown = [result.explain for result in search("guide/v1.5.11.md", explain=True)]
    for how in shown:
        weight = 0.6 * (0.7 + 0.3 * min(how.bm25_highest / how.bm25_ceiling, 1))
        weight *= 0.3 + 0.7 * how.bm25_contrast
        words = (
            weight * how.bm25 / how.bm25_highest + 0.3 * min(how.bm25 / how.bm25_ceiling, 1) ** 4
        )
        assert how.lexical_part == pytest.approx(words)
        assert how.fused_score == pytest.approx(how.dense_part + how.lexical_part)
    assert shown[0].bm25 == shown[0].bm25_highest > 3 * shown[0].bm25_ceiling
