"""Both sides of a search together: what each finds, what is left when one fails, in which order."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.adapters.vector_index.exact import ExactVectorIndex
from app.container import Container
from app.content_versions import ContentVersions
from app.errors import EmbeddingError, LexicalIndexError
from app.indexing.index_sources import lexical_source, vector_source
from app.knowledge.items import ItemDraft
from app.models import ChunkRow, EmbeddingRow
from app.protocols import EVERYWHERE, LexicalHit, SearchScope, Vector, VectorHit
from app.search import searcher
from app.search.diversity import DIVERSE_DEPTH
from app.search.fusion import COVERAGE_DOCUMENT_SHARE
from app.search.profiles import NO_WISHES, RankingWishes
from app.search.requests import SearchRequest
from app.search.results import SearchAnswer, SearchResult
from app.search.retrieval import Retriever
from app.search.searcher import Searcher
from tests.conftest import settings_on_exact
from tests.contracts.fake_lexical_index import FakeLexicalIndex
from tests.databases import Databases
from tests.fakes import FakeEmbedder
from tests.slow import slow

MODES = ("hybrid", "dense", "lexical")


class Dense(ExactVectorIndex):
    """Counts how often it is searched, and for how long."""

    searches = 0
    seconds = 0.0

    def search(
        self, vector: Vector, limit: int, scope: SearchScope = EVERYWHERE
    ) -> list[VectorHit]:
        self.searches += 1
        started = time.perf_counter()
        found = super().search(vector, limit, scope)
        self.seconds += time.perf_counter() - started
        return found


class Words(FakeLexicalIndex):
    """Counts how often it is searched, and knows on which thread for what last."""

    searches = 0

    def __init__(self) -> None:
        super().__init__()
        self.threads: dict[str, str] = {}

    def search(self, query: str, limit: int, scope: SearchScope = EVERYWHERE) -> list[LexicalHit]:
        self.searches += 1
        self.threads[query] = threading.current_thread().name
        return super().search(query, limit, scope)


class Model(FakeEmbedder):
    """Fails while `broken`, takes its time over what is `slow`, and counts its seconds.

    While `turned`, a query means the opposite, so that no cosine is above 0.
    """

    broken = False
    slow = ""
    turned = False
    seconds = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_end = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> Vector:
        if text == self.slow:
            self.begun.set()
            assert self.may_end.wait(30)
        if self.broken:
            raise EmbeddingError("The model is gone.")
        started = time.perf_counter()
        vector = super().embed_query(text)
        self.seconds += time.perf_counter() - started
        return -vector if self.turned else vector


class Stage:
    """A searcher over the container's documents, whose parts fail on demand."""

    def __init__(self, container: Container, source_root: Path) -> None:
        self._container = container
        self._root = source_root
        self.model, self.words = Model(), Words()
        self.dense = Dense(self.model.dimension)
        self.retriever = Retriever(
            embedder=self.model, vector_index=self.dense, lexical_index=self.words
        )
        self._searcher = Searcher(
            database=container.database,
            retriever=self.retriever,
            languages=container.parts.languages,
            versions=ContentVersions(),
            degraded=tuple,
            metrics=container.metrics,
            vector_index=self.dense,
        )

    def add(self, texts: Sequence[str], first: int = 0) -> int:
        """A folder of documents `00.md`, `01.md`, …; gives the id of its item."""
        folder = self._root / f"folder-{first}-{len(texts)}"
        folder.mkdir()
        for number, text in enumerate(texts, first):
            (folder / f"{number:02}.md").write_text(text)
        item = self._container.knowledge.create(ItemDraft("Folder", str(folder), "folder"))
        assert self._container.indexer.index(item.id).success
        for vectors in vector_source(self._container.database, self._container.generation)():
            self.dense.upsert(vectors)
        for records in lexical_source(self._container.database, self._container.generation)():
            self.words.upsert(records)
        return item.id

    def answer(self, query: str, **wanted: Any) -> SearchAnswer:
        return self._searcher.search(SearchRequest(query, **wanted))

    def ask(self, query: str, **wanted: Any) -> tuple[SearchResult, ...]:
        return self.answer(query, **wanted).results

    def found(self, query: str, **wanted: Any) -> list[str]:
        return [result.content for result in self.ask(query, **wanted)]

    def cosine(self, query: str, text: str) -> float:
        return float(self.model.embed_query(query) @ self.model.embed_query(text))


@pytest.fixture
def stage(container: Container, source_root: Path) -> Iterator[Stage]:
    stage = Stage(container, source_root)
    yield stage
    stage.retriever.close()


KEYS = "rotate the keys of the harbour gate"
FOXES = "brown foxes and other animals sleep"
ROPES = "ropes lie on the quay"
NAME = "the harbour master keeps a brown dog"


@pytest.fixture
def filled(stage: Stage) -> Stage:
    stage.add([KEYS, FOXES, ROPES, NAME])
    return stage


@pytest.fixture(scope="module")
def only_asked(tmp_path_factory: pytest.TempPathFactory, databases: Databases) -> Iterator[Stage]:
    """As `filled`, for tests that change nothing of it and count nothing."""
    root = tmp_path_factory.mktemp("only-asked")
    settings = settings_on_exact(root, root, databases)
    with closing(Container.open(settings, embedder=FakeEmbedder())) as container:
        stage = Stage(container, root)
        stage.add([KEYS, FOXES, ROPES, NAME])
        yield stage
        stage.retriever.close()


def test_each_mode_asks_the_sides_that_it_names(filled):
    assert set(filled.found("brown harbour", mode="lexical")) == {KEYS, FOXES, NAME}
    assert (filled.dense.searches, filled.words.searches) == (0, 1)
    assert len(filled.found("brown harbour", mode="dense", n_results=10)) == 4
    assert (filled.dense.searches, filled.words.searches) == (1, 1)
    assert set(filled.found("brown harbour", n_results=10)) == {KEYS, FOXES, ROPES, NAME}
    assert (filled.dense.searches, filled.words.searches) == (2, 2)
    for hit in filled.ask("brown harbour", mode="lexical", explain=True):
        assert (hit.explain.dense_rank, hit.explain.bm25 > 0) == (None, True)
    for hit in filled.ask("brown harbour", mode="dense", explain=True):
        assert (hit.explain.lexical_rank, hit.explain.bm25) == (None, 0)


@pytest.mark.parametrize("mode", MODES)
def test_every_hit_has_its_exact_cosine_whichever_side_found_it(only_asked, mode):
    query = "brown harbour"
    results = only_asked.ask(query, mode=mode, dense_depth=1, n_results=3, explain=True)
    assert len(results) == 3
    for result in results:
        exact = only_asked.cosine(query, result.content)
        assert result.explain.cosine == pytest.approx(exact, abs=1e-5)
        assert result.score == pytest.approx(max(0, exact), abs=1e-5)
    if mode == "hybrid":
        assert any(result.explain.dense_rank is None for result in results)


def test_a_search_beside_another_needs_no_second_thread_and_answers_the_same(filled):
    alone = filled.ask("brown harbour", explain=True)
    assert filled.words.threads["brown harbour"].startswith("lexical-search")
    filled.model.slow = "rotate the keys"
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(filled.found, "rotate the keys")
        assert filled.model.begun.wait(30)
        assert filled.ask("brown harbour", explain=True) == alone
        assert filled.words.threads["brown harbour"] == threading.current_thread().name
        filled.words.broken = True
        assert filled.answer("brown harbour").degraded
        with pytest.raises(LexicalIndexError):
            filled.ask("brown harbour", mode="lexical")
        filled.words.broken = False
        filled.model.may_end.set()
        assert other.result()[0] == KEYS
    filled.ask("brown harbour")
    assert filled.words.threads["brown harbour"].startswith("lexical-search")


def test_with_weak_ones_left_out_groups_are_as_many_as_there_are_strong_ones(stage):
    """One document has more strong chunks than are read for so few groups."""
    long = "\n\n".join(
        f"# Part {n}\n\n" + "the harbour gate and its keys. " * 4 for n in range(150)
    )
    others = [f"the harbour gate and its keys, number {n}" for n in range(12)]
    stage.add([long, *others, *(f"sheep graze by the gate of meadow {n}" for n in range(5))])
    ranking = RankingWishes(least_share=0.2)

    def documents(n_results: int) -> list[str]:
        found = stage.ask(
            "the harbour gate and its keys",
            n_results=n_results,
            group_by="document",
            ranking=ranking,
        )
        return [result.document for result in found]

    many = documents(20)
    assert len(many) > 10
    for n in (1, 5, 10):
        assert documents(n) == many[:n]


@pytest.mark.parametrize("fusion", ["coverage", "convex", "rrf"])
@pytest.mark.parametrize("query", ["the harbour gate -7", 'the harbour gate -"keys 3"'])
def test_weak_ones_by_words_alone_do_not_hide_that_there_are_more_strong_ones(stage, query, fusion):
    near = [f"the harbour gate and its keys {n}" for n in range(40)]
    far = [f"the {word} " + " ".join(f"{word}{n}" for n in range(30)) for word in ("sea", "land")]
    stage.add([*near, *far])

    def found(dense_depth: int, lexical_depth: int) -> int:
        answer = stage.ask(
            query,
            n_results=60,
            fusion=fusion,
            dense_depth=dense_depth,
            lexical_depth=lexical_depth,
            ranking=RankingWishes(least_share=0.5),
        )
        return len(answer)

    everything = found(1000, 1000)
    assert everything >= 38
    for depths in ((2, 2), (5, 5), (20, 3), (3, 20)):
        assert found(*depths) == everything


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
@pytest.mark.parametrize("min_score", [0.1, 0.3])
def test_all_that_are_near_enough_and_hold_a_phrase_are_found_however_many_hold_it(
    stage, mode, min_score
):
    query = 'brown foxes sleep "harbour"'
    near = [f"brown foxes sleep beside a long wall, far from the harbour {n}" for n in range(6)]
    stage.add([*near, *(f"harbour {n} harbour" for n in range(20)), FOXES])
    holders = stage.found(query, n_results=100, mode=mode, min_score=min_score)
    assert set(near) <= set(holders)
    for depth in (1, 3, 10):
        found = stage.found(
            query, n_results=100, mode=mode, min_score=min_score, lexical_depth=depth
        )
        assert sorted(found) == sorted(holders)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_the_nearest_that_hold_a_phrase_come_first_where_all_are_far(stage, depth):
    stage.add([f"harbour {n % 3 * 'harbour '} {a} {n}" for a in ("keys", "sea") for n in range(12)])
    stage.model.turned = True

    def nearest(depth: int) -> list[str]:
        wanted = {"mode": "dense", "n_results": 4, "dense_depth": depth, "lexical_depth": 4}
        return stage.found('keys and foxes "harbour"', **wanted)

    assert nearest(depth) == nearest(1000)


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_text_whose_vector_is_damaged_is_found_by_its_words(stage, mode):
    stage.add([KEYS, FOXES, ROPES])
    (lost,) = stage.ask("ropes quay", n_results=1)
    stage.dense.remove([lost.chunk_id])
    found = stage.ask("ropes", n_results=5, mode=mode)
    assert [result.score for result in found if result.content == ROPES] == [0.0]


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_text_whose_vector_is_damaged_is_found_by_other_wordings_too(stage, mode):
    stage.add([KEYS, FOXES, "the database lies on the quay", "a db is near"])
    texts = ("the database lies on the quay", "a db is near")
    lost = [stage.ask(text, n_results=1)[0] for text in texts]
    stage.dense.remove([result.chunk_id for result in lost])
    for wishes in ({"expand": True}, {"expand": True, "feedback_weight": 0.5}):
        ranking = RankingWishes(**wishes)
        found = stage.ask("db", n_results=5, mode=mode, ranking=ranking, explain=True)
        told = {result.content: result for result in found if result.content in texts}
        assert told.keys() == set(texts)
        assert {result.score for result in told.values()} == {0.0}
        assert {result.explain.ranking_cosine for result in told.values()} == {0.0}


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_diversity_leaves_out_no_text_whose_vector_is_damaged(stage, container, mode):
    stage.add([KEYS, FOXES, ROPES])
    (lost,) = stage.ask("ropes quay", n_results=1)
    of_text = select(ChunkRow.text_hash).where(ChunkRow.id == lost.chunk_id).scalar_subquery()
    with container.database.write() as session:
        session.execute(
            update(EmbeddingRow).where(EmbeddingRow.text_hash == of_text).values(vector=b"")
        )
    varied = RankingWishes(diversity=0.3)
    assert ROPES in stage.found("ropes harbour", mode=mode, ranking=varied)
    stage.dense.remove([lost.chunk_id])
    assert ROPES in stage.found("ropes harbour", mode=mode, ranking=varied)


def test_diversity_compares_the_best_that_may_answer_however_many_stand_above(stage):
    drafts = [f"the lighthouse blinks, draft {n}" for n in range(DIVERSE_DEPTH + 5)]
    stage.add([*drafts, "the lighthouse of the harbour", "the lighthouse of the quay"])
    twins = stage.ask(
        "the lighthouse blinks -draft",
        mode="dense",
        dense_depth=1000,
        ranking=RankingWishes(diversity=0.5),
        explain=True,
    )
    assert len(twins) == 2
    told = [twin.explain.signals for twin in twins]
    likeness = stage.cosine(*(twin.content for twin in twins))
    assert [signal.repetition for signal in told] == pytest.approx([0, likeness], abs=1e-5)
    for twin, signal in zip(twins, told, strict=True):
        final = 0.5 * signal.boosted_score - 0.5 * signal.repetition
        assert twin.explain.final_score == pytest.approx(final)


def test_feedback_is_by_the_first_that_may_answer_however_many_stand_above(stage):
    drafts = [f"the lighthouse blinks, draft {n}" for n in range(40)]
    stage.add([*drafts, "the lighthouse of the harbour", FOXES])
    best, _ = stage.ask(
        "the lighthouse blinks -draft",
        ranking=RankingWishes(feedback_weight=1.0, feedback_results=1),
        mode="dense",
        n_results=2,
        explain=True,
    )
    assert best.content == "the lighthouse of the harbour"
    assert best.explain.ranking_cosine > best.explain.cosine + 0.05  # the query moved towards it


def test_feedback_is_by_the_nearest_in_a_search_by_meaning_also_for_a_phrase(stage):
    near = "on the quay the lamp keeper"
    loud = "on the quay" + 20 * " lamp"
    stage.add([near, loud])
    asked = {"query": 'lamp keeper "on the quay"', "n_results": 2}
    assert stage.found(**asked) == [loud, near]
    assert stage.found(**asked, mode="dense") == [near, loud]
    ranking = RankingWishes(feedback_weight=9.0, feedback_results=1)
    assert stage.found(**asked, mode="dense", ranking=ranking) == [near, loud]


def test_feedback_is_by_what_is_of_a_type_that_may_answer(stage):
    listed = "- the lighthouse blinks\n- in the harbour\n"
    stage.add([f"the lighthouse blinks, draft {n}" for n in range(5)] + [listed])
    (best,) = stage.ask(
        "the lighthouse blinks",
        ranking=RankingWishes(feedback_weight=1.0, feedback_results=5),
        mode="dense",
        chunk_types=("list",),
        explain=True,
    )
    assert best.content == listed
    towards_it_alone = (1 + best.explain.cosine) / (2 + 2 * best.explain.cosine) ** 0.5
    assert best.explain.ranking_cosine == pytest.approx(towards_it_alone, abs=1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("asked", ["db", 'db "on the quay"'])
def test_other_wordings_end_no_search_before_all_is_found(stage, mode, asked):
    stage.add([f"the database lies on the quay {n}" for n in range(20)])
    found = stage.found(
        asked,
        mode=mode,
        n_results=20,
        dense_depth=2,
        lexical_depth=2,
        ranking=RankingWishes(expand=True),
    )
    assert len(found) == 20


def test_words_of_other_wordings_count_as_if_they_were_the_questions(stage):
    stage.add([KEYS, ROPES, *(f"the user interface of quay {n}" for n in range(3))])
    asked = {"mode": "lexical", "explain": True}
    (other,) = stage.ask("user interface quay 1", n_results=1, **asked)
    asked |= {"ranking": RankingWishes(expand=True)}
    found = {hit.chunk_id: hit.explain for hit in stage.ask("ui quay 1", n_results=9, **asked)}
    own, same = other.explain, found[other.chunk_id]
    assert same.bm25_ceiling < own.bm25_ceiling
    assert same.bm25 / same.bm25_ceiling == pytest.approx(own.bm25 / own.bm25_ceiling)


def test_feedback_brings_results_by_meaning_that_the_question_alone_does_not(stage):
    near, plain = "the lighthouse blinks over rocks and sand", "the lighthouse and other towers"
    alike = "rocks and sand, over rocks and sand it blinks"
    stage.add([near, plain, alike, *(f"some word{n} of no matter" for n in range(9))])
    asked = {"query": "the lighthouse blinks", "mode": "dense", "n_results": 2, "dense_depth": 2}
    assert stage.found(**asked) == [near, plain]
    ranking = RankingWishes(feedback_weight=9.0, feedback_results=1)
    assert stage.found(**asked, ranking=ranking) == [near, alike]


# When a side is missing -------------------------------------------------------------------------


def test_without_the_lexical_index_meaning_answers_alone_and_says_so(filled):
    expected = filled.found("brown harbour", mode="dense")
    filled.words.broken = True
    answer = filled.answer("brown harbour")
    assert [result.content for result in answer.results] == expected
    assert [reason.partition(":")[0] for reason in answer.degraded] == ["lexical index"]
    assert filled.answer("brown harbour", mode="dense").degraded == ()
    with pytest.raises(LexicalIndexError):
        filled.ask("brown harbour", mode="lexical")


def test_without_the_model_words_answer_alone_with_scores_of_0(filled):
    by_words = filled.found("brown harbour", mode="lexical")
    filled.model.broken = True
    for mode in ("hybrid", "lexical"):
        answer = filled.answer("brown harbour master", mode=mode)
        assert answer.results[0].content == NAME
        assert {result.content for result in answer.results} == set(by_words)
        assert {result.score for result in answer.results} == {0.0}
        assert [reason.partition(":")[0] for reason in answer.degraded] == ["embedding"]
        with pytest.raises(EmbeddingError):
            filled.ask("brown harbour master", mode=mode, min_score=0.1)
    for query in ("brown harbour master", '"brown dog"'):
        with pytest.raises(EmbeddingError):
            filled.ask(query, mode="dense")


def test_what_the_model_cannot_read_is_found_by_its_words_alone_with_exact_cosines(filled):
    """To the model all such queries are the same, so what is near to one tells nothing."""
    query = "brown harbour master"
    cosines = {hit.content: hit.score for hit in filled.ask(query, mode="dense", n_results=50)}
    by_words = filled.found(query, mode="lexical")
    filled.model.unreadable = frozenset({query, '"brown dog"'})
    filled.model.turned = True  # by meaning the order would be another
    for wishes in (NO_WISHES, RankingWishes(feedback_weight=0.5), RankingWishes(expand=True)):
        answer = filled.answer(query, ranking=wishes, explain=True)
        assert {hit.content for hit in answer.results} == set(by_words)
        said = [hit.explain.bm25 for hit in answer.results]
        assert said == sorted(said, reverse=True)
        assert {hit.explain.dense_part for hit in answer.results} == {0.0}
        assert [reason.partition(":")[0] for reason in answer.degraded] == ["embedding"]
    filled.model.turned = False
    assert {hit.content: hit.score for hit in filled.ask(query)}.items() <= cosines.items()
    for asked in (query, '"brown dog"'):
        assert filled.answer(asked, mode="dense").degraded == ()
    filled.words.broken = True
    with pytest.raises(LexicalIndexError):
        filled.ask(query)
    assert filled.ask('"brown dog"', mode="dense")


def test_what_was_guessed_of_the_query_lowers_the_contrast_of_what_is_far(filled, monkeypatch):
    def contrasts() -> list[float]:
        hits = filled.ask("brown harbour master", explain=True, n_results=50)
        return [hit.explain.bm25_contrast for hit in sorted(hits, key=lambda hit: hit.chunk_id)]

    typed = contrasts()
    worth = filled.words.worth
    monkeypatch.setattr(filled.words, "worth", lambda query: worth(query)._replace(guessed=1.0))
    guessed = contrasts()
    assert all(now <= before for now, before in zip(guessed, typed, strict=True))
    assert sum(guessed) < sum(typed)


def test_without_the_model_a_known_question_answers_and_its_other_wordings_are_left_out(filled):
    wishes = RankingWishes(expand=True)
    for mode in MODES:
        filled.model.broken = False
        known = filled.answer("the harbour config", mode=mode)
        assert known.results
        filled.model.broken = True
        answer = filled.answer("the harbour config", mode=mode, ranking=wishes)
        assert [hit.chunk_id for hit in answer.results] == [hit.chunk_id for hit in known.results]
        assert [reason.partition(":")[0] for reason in answer.degraded] == ["embedding"]


def test_with_neither_side_there_is_an_error_and_the_next_search_is_whole(filled):
    filled.model.broken = filled.words.broken = True
    with pytest.raises(LexicalIndexError):
        filled.ask("brown")
    filled.model.broken = filled.words.broken = False
    assert filled.answer("brown").degraded == ()


# What a query demands ---------------------------------------------------------------------------


def test_a_phrase_must_stand_in_every_result_that_words_decide(filled):
    assert filled.found('"brown dog"', n_results=10) == [NAME]
    assert filled.found('"brown dog"', mode="lexical") == [NAME]
    assert filled.found('"dog brown"', n_results=10) == []


def test_a_phrase_is_not_looked_for_in_ever_more_texts_once_all_that_hold_it_are_known(filled):
    filled.ask('"brown dog"', dense_depth=1, n_results=10)
    assert (filled.dense.searches, filled.words.searches) == (1, 1)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_excluded_is_left_out_in_every_mode(only_asked, mode):
    found = only_asked.found("harbour brown -dogs", mode=mode, n_results=10)
    assert NAME not in found
    assert {KEYS, FOXES} <= set(found)
    found = only_asked.found('harbour sleep -"brown dog" -keys', mode=mode, n_results=10)
    assert FOXES in found
    assert {NAME, KEYS}.isdisjoint(found)


@pytest.mark.parametrize("mode", MODES)
def test_signs_count_within_a_phrase_whichever_index_answers(stage, mode):
    signed, plain = "start uvicorn --reload here", "start uvicorn reload here"
    stage.add([signed, plain])
    assert stage.found('"uvicorn --reload"', mode=mode, n_results=10) == [signed]
    assert stage.found('start -"uvicorn --reload"', mode=mode, n_results=10) == [plain]
    assert stage.found('"uvicorn --reload" "start uvicorn"', mode=mode) == [signed]
    assert stage.found('"uvicorn --reload" "reload here"', mode=mode) == [signed]


@pytest.mark.parametrize("mode", MODES)
def test_what_only_its_text_tells_is_told_by_headings_and_by_what_a_reader_sees(stage, mode):
    body = "\n\n".join(
        f"rain falls on quay {n} and on the boats all night, again" for n in range(9)
    )
    titled = f"---\ntitle: Rain --with hail\n---\n## Stop uvicorn --reload first\n\n{body}"
    stage.add([titled, "another text"])
    for phrase in ("stop uvicorn --reload", "rain --with hail"):
        found = stage.ask(f'"{phrase}"', mode=mode, n_results=20)
        assert {result.document for result in found} == {"00.md"}
        assert any("--" not in result.content for result in found)
    shown, other = "start [uvicorn](a/b.md) `--reload` here", "start [uvicorn](a/b.md) here"
    stage.add([shown, other], first=2)
    assert stage.found('"start uvicorn --reload"', mode=mode, n_results=20)[:1] == [shown]
    left = stage.found('start -"start uvicorn here"', mode=mode, n_results=20)
    assert shown in left
    assert other not in left


@pytest.mark.parametrize("mode", MODES)
def test_however_much_is_excluded_or_in_quotes_all_of_it_counts(stage, mode):
    stage.add(["harbour keys and wordq", "harbour keys alone"])
    many = " ".join(f"-word{letter}" for letter in "abcdefghijklmnopq")
    assert stage.found(f"harbour keys {many}", mode=mode) == ["harbour keys alone"]
    long = "b c d f g h j k " * 7 + "b c d f g h j k"
    stage.add([f"{long} tail", f"{long} other"], first=2)
    assert stage.found(f'"{long} tail"', mode=mode) == [f"{long} tail"]
    assert f"{long} other" in stage.found(f'other -"{long} tail"', mode=mode, n_results=10)


@pytest.mark.parametrize("mode", MODES)
def test_no_result_is_under_min_score_and_none_above_is_missing(only_asked, mode):
    query = "the harbour gate"
    cosines = {text: only_asked.cosine(query, text) for text in (KEYS, FOXES, ROPES, NAME)}
    least = sorted(cosines.values())[2] - 0.001
    expected = {text for text, cosine in cosines.items() if cosine >= least}
    assert len(expected) == 2
    assert set(only_asked.found(query, mode=mode, min_score=least, dense_depth=1)) == expected


# Enough results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_stale_candidates_and_exclusions_never_shorten_an_answer(stage, container, mode):
    """The nearest are 60 chunks that SQL lost and 60 that are excluded; 100 more are wanted."""
    lost = stage.add([f"the lighthouse blinks {n}" for n in range(60)])
    stage.add([f"the lighthouse blinks draft {n}" for n in range(60)], first=100)
    stage.add([f"a lighthouse and so many other words {n}" for n in range(100)], first=200)
    container.knowledge.delete(lost)
    found = stage.found(
        "the lighthouse blinks -draft", mode=mode, n_results=100, dense_depth=7, lexical_depth=5
    )
    assert len(set(found)) == 100
    assert not any("blinks" in text for text in found)


@pytest.mark.parametrize(
    ("mode", "depth", "searches"),
    [("dense", 1, 4), ("hybrid", 1, 4), slow("dense", 50, 2), slow("dense", 100, 1)],
    ids=["1, 8, 64, 128", "none by words", "50, 150", "100"],
)
def test_what_nearly_everything_holds_is_not_excluded_from_ever_more_texts(
    stage, monkeypatch, mode, depth, searches
):
    monkeypatch.setattr(searcher, "MOST_REJECTED", 64)
    stage.add([f"the lighthouse blinks draft {n}" for n in range(300)])
    found = stage.found("lighthouse -draft", mode=mode, n_results=5, dense_depth=depth)
    assert found == []
    assert stage.dense.searches == searches


@pytest.mark.parametrize("mode", MODES)
def test_what_hardly_anything_holds_is_excluded_from_all_that_is_wanted(stage, monkeypatch, mode):
    """However deep is read for other reasons: into a long document, and past other types."""
    monkeypatch.setattr(searcher, "MOST_REJECTED", 20)
    long = "\n\n".join(f"the lighthouse blinks {n} times in a row, slowly " * 3 for n in range(90))
    drafts = [f"```\nlighthouse blinks draft {n}\n```" for n in range(9)]
    codes = [f"```\nlighthouse of code {n}\n```" for n in range(9)]
    stage.add([long, *drafts, *codes])
    asked = "the lighthouse blinks -draft"
    grouped = stage.found(asked, mode=mode, group_by="document", n_results=10, dense_depth=1000)
    assert len(grouped) == 10
    typed = stage.found(asked, mode=mode, chunk_types=("code",), n_results=9, dense_depth=3)
    assert set(typed) == set(codes)
    assert len(stage.found(asked, mode=mode, n_results=60, dense_depth=1000, lexical_depth=1)) == 60


@pytest.mark.parametrize(("chunk_type", "found", "searches"), [("list", 1, 2), ("table", 0, 1)])
def test_a_rare_type_is_looked_for_in_the_documents_that_have_it(
    stage, chunk_type, found, searches
):
    stage.add([*(f"the harbour gate number {n}" for n in range(40)), "- a gate\n- a harbour\n"])
    wanted = {"chunk_types": (chunk_type,), "dense_depth": 2, "lexical_depth": 2}
    assert len(stage.found("the harbour gate", **wanted)) == found
    assert (stage.dense.searches, stage.words.searches) == (searches, searches)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_a_stretch_of_blanks_is_no_result(stage, mode):
    stage.add([f"the lighthouse{' ' * 3000}blinks", "another text"])
    found = stage.found("lighthouse", mode=mode, n_results=9)
    assert len(found) == 3
    assert all(text.strip() for text in found)


def test_grouping_gives_as_many_documents_as_are_wanted(stage):
    long = "\n\n".join(f"the lighthouse blinks {n} times in a row, slowly " * 3 for n in range(30))
    stage.add([long, *(f"some lighthouse of {n} others" for n in range(8))])
    results = stage.ask(
        "the lighthouse blinks", group_by="document", n_results=9, dense_depth=3, lexical_depth=3
    )
    assert Counter(result.document for result in results) == {f"{n:02}.md": 1 for n in range(9)}
    first = results[0]
    assert first.document == "00.md"
    assert first.group.count > 20
    assert len(first.group.others) == min(20, first.group.count - 1)
    assert first.chunk_id not in {other.chunk_id for other in first.group.others}
    assert all(result.group.count == 1 for result in results[1:])


@pytest.mark.parametrize("mode", MODES)
def test_documents_below_a_very_long_one_are_found_though_nothing_is_left_to_retrieve(stage, mode):
    long = "\n\n".join(f"the lighthouse blinks {n} times in a row, slowly " * 3 for n in range(150))
    stage.add([long, *(f"some lighthouse of {n} others" for n in range(8))])
    results = stage.ask(
        "the lighthouse blinks",
        mode=mode,
        group_by="document",
        n_results=9,
        dense_depth=1000,
        lexical_depth=1000,
    )
    assert Counter(result.document for result in results) == {f"{n:02}.md": 1 for n in range(9)}
    assert results[0].group.count > 100


@pytest.mark.parametrize("mode", MODES)
def test_grouping_by_text_shows_copies_once_and_fills_their_places(stage, mode):
    stage.add(["the lighthouse blinks"] * 30 + [f"some lighthouse of {n} others" for n in range(8)])
    results = stage.ask(
        "the lighthouse blinks",
        mode=mode,
        group_by="text",
        n_results=9,
        dense_depth=3,
        lexical_depth=3,
    )
    assert len({result.content for result in results}) == len(results) == 9
    copies = results[0].group
    assert (results[0].content, copies.count) == ("the lighthouse blinks", 30)
    assert len({(other.knowledge_id, other.document) for other in copies.others}) == 20
    assert all(result.group.count == 1 for result in results[1:])


# Order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fusion", ["coverage", "convex", "rrf"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_results", [10, 1])
def test_the_order_can_be_recomputed_from_what_explain_shows(only_asked, mode, fusion, n_results):
    results = only_asked.ask(
        "brown harbour keys",
        mode=mode,
        fusion=fusion,
        n_results=n_results,
        explain=True,
        dense_depth=2,
    )
    shown = [result.explain for result in results]
    assert [how.rank for how in shown] == list(range(1, len(shown) + 1))
    scores = [how.fused_score for how in shown]
    assert scores == sorted(scores, reverse=True)
    assert max(how.bm25 for how in shown) <= shown[0].bm25_highest
    for how in shown:
        assert how.fused_score == pytest.approx(how.dense_part + how.lexical_part)
        if (mode, fusion) == ("hybrid", "coverage"):
            share = COVERAGE_DOCUMENT_SHARE
            dense = (1 - share) * how.cosine + share * how.document_cosine
            weight = 0.6 * (0.7 + 0.3 * min(how.bm25_highest / how.bm25_ceiling, 1))
            weight *= 0.3 + 0.7 * how.bm25_contrast
            lexical = weight * how.bm25 / how.bm25_highest
            lexical += 0.3 * min(how.bm25 / how.bm25_ceiling, 1) ** 4
        elif (mode, fusion) == ("hybrid", "convex"):
            dense, lexical = 0.7 * how.cosine, 0.3 * how.bm25 / how.bm25_highest
        elif mode == "hybrid":
            dense = 0.5 / (60 + how.dense_rank) if how.dense_rank else 0
            lexical = 0.5 / (60 + how.lexical_rank) if how.lexical_rank else 0
        else:
            dense = how.cosine if mode == "dense" else 0
            lexical = how.bm25 / how.bm25_highest if mode == "lexical" else 0
        assert (how.dense_part, how.lexical_part) == pytest.approx((dense, lexical))


@pytest.mark.parametrize("fusion", ["coverage", "rrf"])
@pytest.mark.parametrize("group_by", ["document", "text", None])
def test_an_answer_of_few_results_is_the_beginning_of_one_of_many(stage, group_by, fusion):
    lamps = ("the lighthouse blinks", "a lamp of the lighthouse", "ships blink back", "blinks")
    stage.add(
        ["\n\n".join(f"{lamps[(n + m) % 4]} {m} " + f"word{n} " * 20 for m in range(n % 5 + 1))
         for n in range(40)]
    )  # fmt: skip
    wished: dict[str, Any] = {"group_by": group_by, "fusion": fusion, "explain": True}
    wished |= {"dense_depth": 3, "lexical_depth": 3}
    all_of_them = stage.ask("the lighthouse blinks", n_results=40, **wished)
    assert len(all_of_them) == 40
    for wanted in (1, 2, 3, 5, 9, 20, 30):
        few = stage.ask("the lighthouse blinks", n_results=wanted, **wished)
        assert [hit.chunk_id for hit in few] == [hit.chunk_id for hit in all_of_them[:wanted]]
    places = [(hit.explain.deeper, -hit.explain.final_score) for hit in all_of_them]
    assert places == sorted(places)
    assert len({deeper for deeper, _ in places}) > 1


def test_a_documents_cosine_is_that_of_its_best_chunk(stage):
    stage.add(["\n\n".join(f"the lighthouse {n} " + f"word{n} " * 25 for n in range(4)), "other"])
    shown = [hit.explain for hit in stage.ask("lighthouse 2 word2", n_results=10, explain=True)
             if hit.document == "00.md"]  # fmt: skip
    assert len(shown) > 2
    assert {how.document_cosine for how in shown} == {max(how.cosine for how in shown)}


@pytest.mark.parametrize("mode", MODES)
def test_equal_results_keep_their_order(stage, mode):
    stage.add(["the very same words"] * 12)
    all_of_them = [hit.chunk_id for hit in stage.ask("same words", mode=mode, n_results=12)]
    assert len(set(all_of_them)) == 12
    for wanted in (12, 5, 1):
        again = [hit.chunk_id for hit in stage.ask("same words", mode=mode, n_results=wanted)]
        assert again == all_of_them[:wanted]


# What is shown ----------------------------------------------------------------------------------


@pytest.fixture
def told(stage: Stage) -> Callable[..., SearchResult]:
    text = "\n\n".join(f"Paragraph {n} says. " + f"filler{n} " * 15 for n in range(9))
    stage.add([text])

    def ask(without: str = "", **wanted: Any) -> SearchResult:
        return stage.ask(f"paragraph 4 filler4{without}", n_results=1, **wanted)[0]

    return ask


def test_neighbours_come_when_they_are_asked_for(told):
    plain, wide = told(), told(context_chunks=1)
    assert (plain.before, plain.after) == (None, None)
    assert wide.content == plain.content
    assert "filler3" in wide.before.content
    assert "filler5" in wide.after.content
    assert wide.before.end_index == wide.start_index
    assert wide.after.start_index == wide.end_index


def test_a_neighbour_that_says_what_the_query_excludes_is_left_out(told):
    wide = told(" -filler3", context_chunks=1)
    assert wide.content == told().content
    assert wide.before is None
    assert "filler5" in wide.after.content


def test_a_neighbour_that_says_what_is_excluded_together_with_its_hit_is_left_out(told):
    plain = told(context_chunks=1)
    last, first = plain.content.split()[-1].strip("."), plain.after.content.split()[0]
    wide = told(f' -"{last} {first}"', context_chunks=1)
    assert (wide.content, wide.before) == (plain.content, plain.before)
    assert wide.after is None


def test_highlights_and_explanations_come_when_they_are_wanted(told):
    assert {found.kind for found in told().highlights} == {"sentence", "word"}
    assert told(highlight=False).highlights == ()
    assert told().explain is None
    assert told(explain=True).explain.rank == 1
    assert told().group is None


# How long it takes ------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "sides"), [("dense", {"dense"}), ("lexical", {"lexical"})])
def test_a_side_that_is_not_asked_is_not_timed(only_asked, mode, sides):
    """In metrics, a time of 0 would count as a search that took none."""
    timed = dict(only_asked.answer("rotate the keys", mode=mode).timings_ms)
    assert timed.keys() == {"embed", *sides, "fuse", "join"}


def test_a_side_that_fails_is_not_timed(filled):
    filled.words.broken = True
    answer = filled.answer("rotate the keys")
    assert answer.degraded
    assert dict(answer.timings_ms).keys() == {"embed", "dense", "fuse", "join"}


@pytest.mark.parametrize(
    "wanted",
    [
        {"chunk_types": ("code",), "dense_depth": 1, "lexical_depth": 1},
        {"group_by": "document", "n_results": 50, "dense_depth": 1, "lexical_depth": 1},
        {"ranking": RankingWishes(expand=True)},
        {"ranking": RankingWishes(feedback_weight=0.5)},
    ],
    ids=["deeper for a type", "deeper for groups", "other wordings", "feedback"],
)
def test_the_time_of_a_stage_is_that_of_all_rounds(filled, wanted):
    filled.add(["```\nunload(ship)\n```\n"], first=10)
    of_model = filled.model.seconds
    answer = filled.answer("delete the keys of the db", **wanted)
    assert filled.dense.searches > 1
    rounding = 0.001
    timed = dict(answer.timings_ms)
    assert timed["dense"] >= 1000 * filled.dense.seconds - rounding
    assert timed["embed"] >= 1000 * (filled.model.seconds - of_model) - rounding
