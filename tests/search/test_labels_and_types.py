"""Filters by what a document says of itself, and by what a chunk is: exact, as all filters are."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.container import Container
from app.knowledge.items import ItemDraft
from app.search.requests import SearchRequest
from app.search.results import SearchResult

Find = Callable[..., tuple[SearchResult, ...]]
QUERY = "the harbour gate"


@pytest.fixture
def find(container: Container) -> Find:
    def search(query: str = QUERY, **wanted: object) -> tuple[SearchResult, ...]:
        request = SearchRequest(query, **{"n_results": 100, **wanted})  # type: ignore[arg-type]
        return container.searcher.search(request).results

    return search


@pytest.fixture
def folder(container: Container, source_root: Path) -> Callable[..., int]:
    """Indexes a folder of texts by name."""

    def index(name: str, texts: dict[str, str], **fields: object) -> int:
        (source_root / name).mkdir()
        for key, text in texts.items():
            (source_root / name / key).write_text(text)
        draft = ItemDraft(name, str(source_root / name), "folder", **fields)  # type: ignore[arg-type]
        item = container.knowledge.create(draft)
        assert container.indexer.index(item.id).success
        return item.id

    return index


def keys(results: tuple[SearchResult, ...]) -> set[str]:
    return {result.document for result in results}


def own(category: str | None = None, tags: str | None = None) -> str:
    lines = [f"category: {category}"] if category else []
    lines += [f"tags: {tags}"] if tags else []
    front = "---\n" + "\n".join(lines) + "\n---\n" if lines else ""
    return f"{front}words of the harbour gate\n"


def test_a_documents_own_category_counts_instead_of_its_items(folder, find) -> None:
    folder("a", {"plain.md": own(), "own.md": own("/Sea//Law/")}, category="Eng/Docs")
    folder("b", {"other.md": own()}, category="Sea")
    assert keys(find(category="Eng")) == {"plain.md"}
    assert keys(find(category="Sea")) == {"own.md", "other.md"}
    assert keys(find(category="Sea/Law")) == {"own.md"}
    assert keys(find(category="Se")) == set()
    shown = {result.document: result.category for result in find()}
    assert shown == {"plain.md": "Eng/Docs", "own.md": "Sea/Law", "other.md": "Sea"}


def test_a_documents_own_tags_are_added_to_its_items(folder, find) -> None:
    folder("a", {"plain.md": own(), "own.md": own(tags="[deep, howto]")}, tags=("howto", "x"))
    folder("b", {"other.md": own(tags="deep")})
    assert keys(find(tags=("deep",))) == {"own.md", "other.md"}
    assert keys(find(tags=("deep", "x"))) == {"plain.md", "own.md", "other.md"}
    assert keys(find(tags=("deep", "x"), tags_match="all")) == {"own.md"}
    assert keys(find(tags=("howto",), tags_match="all")) == {"plain.md", "own.md"}
    assert keys(find(tags=("nobody",))) == set()
    shown = {result.document: result.tags for result in find()}
    assert shown == {
        "plain.md": ("howto", "x"),
        "own.md": ("howto", "x", "deep"),
        "other.md": ("deep",),
    }


def test_labels_are_the_same_however_their_accents_are_written(folder, find) -> None:
    apart, together = "A\u0308pfel", "\u00c4pfel"
    folder("a", {"own.md": own(f"Obst/{apart}", apart)})
    shown = find(category=f"Obst/{together}", tags=(together,))
    assert [(result.category, result.tags) for result in shown] == [
        (f"Obst/{together}", (together,))
    ]


def test_own_labels_follow_the_file(container, folder, find, source_root) -> None:
    item = folder("a", {"own.md": own("Sea", "deep")})
    (source_root / "a" / "own.md").write_text(own("Land", "dry"))
    assert container.indexer.index(item).success
    assert keys(find(category="Sea")) == keys(find(tags=("deep",))) == set()
    assert keys(find(category="Land", tags=("dry",))) == {"own.md"}
    container.indexer.remove(item)
    assert find(tags=("dry",)) == ()


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_labels_are_exact_at_a_selectivity_that_no_candidate_list_reaches(
    folder, find, mode
) -> None:
    texts = {f"{number:03}.md": own() for number in range(150)}
    folder("a", texts | {"rare.md": "---\ntags: rare\n---\n" + "rope " * 30 + "gate"})
    found = find(tags=("rare",), mode=mode, dense_depth=3, lexical_depth=3)
    assert keys(found) == {"rare.md"}


CODE = "```python\ndef open_gate(harbour):\n    return harbour.gate\n```\n"
LIST = "- the harbour gate\n- the key of the harbour gate\n"


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_chunks_of_the_wanted_types_are_found_however_few(folder, find, mode) -> None:
    texts = {f"{number:03}.md": own() for number in range(60)}
    folder("a", texts | {"code.md": CODE, "list.md": LIST})
    wanted = {"mode": mode, "dense_depth": 2, "lexical_depth": 2}
    assert keys(find(chunk_types=("code",), **wanted)) == {"code.md"}
    assert keys(find(chunk_types=("code", "list"), **wanted)) == {"code.md", "list.md"}
    assert keys(find(chunk_types=("table",), **wanted)) == set()
    texts_found = find(chunk_types=("text",), **wanted)
    assert keys(texts_found) == set(texts)
    assert {result.chunk_type for result in texts_found} == {"text"}


def test_what_is_nearest_of_a_type_is_found_though_words_alone_have_found_enough(
    folder, find
) -> None:
    said = "the lighthouse blinks three in a row"
    texts = {f"{number:03}.md": f"{said} {number}\n" for number in range(30)}
    nearest = {"nearest.md": "- the lighthouse blinks\n- three in a row\n"}
    by_words = {"words.md": "- tides of nine seas\n- and of their quays, moles and piers\n"}
    folder("a", texts | nearest | by_words)
    wanted = {"chunk_types": ("list",), "n_results": 1, "dense_depth": 1, "lexical_depth": 1}
    (best,) = find(f"{said} tides", **wanted)
    assert best.document == "nearest.md"


def test_what_says_the_words_is_found_of_a_type_though_the_nearest_are_enough(folder, find) -> None:
    """Only the lexical index knows that these words are the same in the plural."""
    texts = {f"{number:03}.md": "tide tide quay quay mole mole\n" for number in range(5)}
    nearest = {"nearest.md": "- of the\n- many old ways and more new ones\n"}
    by_words = {"words.md": "- tide\n- quay\n- mole\n"}
    folder("a", texts | nearest | by_words)
    wanted = {"chunk_types": ("list",), "n_results": 1, "dense_depth": 1, "lexical_depth": 1}
    (best,) = find("tides quays moles of the", **wanted)
    assert best.document == "words.md"


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(depth=st.integers(1, 40), n_results=st.integers(1, 12))
def test_the_nearest_of_a_type_are_those_of_an_exact_scan(shared_mix, depth, n_results) -> None:
    exact = [r.chunk_id for r in shared_mix(n_results=100, mode="dense") if r.chunk_type == "list"]
    found = shared_mix(n_results=n_results, mode="dense", dense_depth=depth, chunk_types=("list",))
    assert [result.chunk_id for result in found] == exact[:n_results]


@pytest.fixture
def shared_mix(folder, find) -> Find:
    texts = {f"{n:02}.md": f"the gate number {n} of the harbour" for n in range(25)}
    texts |= {f"l{n:02}.md": f"- gate {n}\n- rope {n * 7}\n" for n in range(15)}
    folder("mix", texts)
    return find


# Phrases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_phrase_must_stand_in_every_result_in_every_mode(folder, find, mode) -> None:
    folder("a", {f"{n:02}.md": f"the gate of the harbour {n}" for n in range(40)})
    folder(
        "b", {"b.md": "rope and the Harbour Gates", "c.md": "harbourgate", "d.md": "gate harbour"}
    )
    found = find('"harbour gate" of the harbour', mode=mode, dense_depth=2)
    assert keys(found) == {"b.md"}
