"""Evaluations run through the real pipeline, on a fake model."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from app.container import Container
from app.errors import SourceUnreadableError
from app.evaluation.beir import BeirSet, read_beir
from app.evaluation.question_set import CorpusDocument, Question
from app.evaluation.running import (
    EVALUATED_MODES,
    TIMED_RESULTS,
    ask_all,
    evaluated_mode,
    index_corpus,
)
from app.protocols import Progress
from app.search.profiles import RankingWishes
from app.search.requests import SearchRequest
from app.search.results import SearchAnswer
from tests.evaluation.question_files import FRUIT, write_fruit
from tests.evaluation.search_results import result
from tests.fakes import FakeEmbedder


def ignore(_progress: Progress) -> None:
    pass


@pytest.fixture
def fruit(tmp_path: Path) -> BeirSet:
    return read_beir(write_fruit(tmp_path / "fruit"), binary=True)


def grouped_set() -> BeirSet:
    """The same words in two groups; the question is on the second one's copy."""
    documents = [
        CorpusDocument(f"{group}/a.py", "a.py", "def parse_tokens(): ...", "a.py", group)
        for group in ("one", "two")
    ]
    questions = [Question("q", "parse tokens", "two")]
    return BeirSet("grouped", documents, questions, {"q": {"two/a.py": 1}}, ())


def test_every_mode_finds_what_the_words_alone_decide(container: Container, fruit: BeirSet) -> None:
    indexed = index_corpus(container, fruit, ignore)
    assert indexed.chunks == len(FRUIT)
    modes = ["hybrid", "dense", "lexical", "rrf"]
    runs = ask_all(container.searcher, fruit, fruit.questions, indexed.items, modes)
    for run in runs.values():
        assert run.scores["nDCG@10"] == {f"q-{name}": 1.0 for name in FRUIT}
        assert len(run.milliseconds) == len(FRUIT)
        assert min(run.milliseconds) > 0


def test_a_question_of_a_group_is_answered_by_that_group_alone(container: Container) -> None:
    grouped = grouped_set()
    indexed = index_corpus(container, grouped, ignore)
    assert set(indexed.items) == {"one", "two"}
    run = ask_all(container.searcher, grouped, grouped.questions, indexed.items, ["hybrid"])
    assert run["hybrid"].scores["MRR@10"] == {"q": 1.0}
    assert run["hybrid"].scores["P@5"]["q"] == 0.2


def test_a_group_without_documents_finds_nothing_of_others(container: Container) -> None:
    grouped = dataclasses.replace(grouped_set(), documents=grouped_set().documents[:1])
    indexed = index_corpus(container, grouped, ignore)
    run = ask_all(container.searcher, grouped, grouped.questions, indexed.items, ["hybrid"])
    assert run["hybrid"].scores["R@100"] == {"q": 0.0}


def test_documents_go_in_with_their_path_and_title(container: Container) -> None:
    indexed = index_corpus(container, grouped_set(), ignore)
    request = SearchRequest("parse tokens", knowledge_ids=(indexed.items["two"],))
    found = container.searcher.search(request).results[0]
    assert found.citation.startswith("a.py#L1")
    assert (found.document_title, found.document_uri) == ("a.py", "two/a.py")
    assert found.content == "def parse_tokens(): ..."


def test_a_kept_directory_embeds_only_what_changed(
    open_container: Callable[[], Container], embedder: FakeEmbedder, fruit: BeirSet
) -> None:
    service = open_container()
    index_corpus(service, fruit, ignore)
    embedded = len(embedder.embedded_texts)
    assert index_corpus(service, fruit, ignore).chunks == len(FRUIT)
    assert len(embedder.embedded_texts) == embedded
    changed = dataclasses.replace(fruit.documents[0], text="Something else entirely.")
    smaller = dataclasses.replace(fruit, documents=[changed, *fruit.documents[2:]])
    assert index_corpus(service, smaller, ignore).chunks == len(FRUIT) - 1
    assert len(embedder.embedded_texts) == embedded + 1


def test_items_of_another_corpus_are_gone(container: Container, fruit: BeirSet) -> None:
    index_corpus(container, grouped_set(), ignore)
    index_corpus(container, fruit, ignore)
    found = container.searcher.search(SearchRequest("parse tokens")).results
    assert {hit.document_uri for hit in found} == {document.id for document in fruit.documents}


def test_documents_without_text_are_counted_and_do_not_fail_the_others(
    container: Container, fruit: BeirSet
) -> None:
    blank = CorpusDocument("blank", "blank", " \n")
    indexed = index_corpus(
        container, dataclasses.replace(fruit, documents=[*fruit.documents, blank]), ignore
    )
    assert indexed.remarks == ("1 documents hold no text.",)
    assert indexed.chunks == len(FRUIT)


def test_a_corpus_without_any_text_is_refused(container: Container, fruit: BeirSet) -> None:
    blank = dataclasses.replace(fruit, documents=[CorpusDocument("blank", "blank", "")])
    with pytest.raises(SourceUnreadableError, match="fruit: "):
        index_corpus(container, blank, ignore)


class TopAndTail:
    """A search whose order depends on how many results are asked for, as that of a fusion may."""

    def __init__(self) -> None:
        self.requests: list[SearchRequest] = []

    def search(self, request: SearchRequest) -> SearchAnswer:
        self.requests.append(request)
        documents = [f"d{number}" for number in range(request.n_results)]
        if request.n_results > 100:
            documents.reverse()
        found = tuple(result(document) for document in documents)
        return SearchAnswer(request.query, found, ("a side is missing",), duration_ms=2.5)


def test_the_deep_search_adds_only_below_what_users_see() -> None:
    judged = BeirSet("s", (), [Question("q", "?")], {"q": {"d0": 1}}, ())
    run = ask_all(TopAndTail(), judged, judged.questions, {None: 1}, ["dense"])["dense"]
    assert run.scores["MRR@10"]["q"] == 1.0
    assert run.milliseconds == (2.5,)
    assert run.degraded == ("a side is missing",)


def test_every_mode_is_timed_on_a_query_that_no_other_has_asked() -> None:
    search = TopAndTail()
    judged = BeirSet(
        "s", (), [Question("q", "?"), Question("r", "!")], {"q": {"d0": 1}, "r": {"d1": 1}}, ()
    )
    ask_all(search, judged, judged.questions, {None: 1}, ["hybrid", "rrf"])
    timed = [r.query for r in search.requests if r.n_results == TIMED_RESULTS][2:]
    assert len(set(timed)) == 4
    assert {query.strip() for query in timed} == {"?", "!"}
    fusions = {(request.mode, request.fusion) for request in search.requests}
    assert fusions == {("hybrid", SearchRequest.fusion), ("hybrid", "rrf")}


# Rankings ---------------------------------------------------------------------------------------


def test_a_mode_may_name_a_profile_and_fields_of_a_ranking() -> None:
    assert evaluated_mode("hybrid") == EVALUATED_MODES["hybrid"]
    assert evaluated_mode("profile:code").ranking == RankingWishes(profile="code")
    mode = evaluated_mode("dense+profile:code+recency_weight=0+expand=true+feedback_results=3")
    assert mode.mode == "dense"
    assert mode.ranking == RankingWishes(
        profile="code", recency_weight=0.0, expand=True, feedback_results=3
    )


@pytest.mark.parametrize(
    "name",
    [
        "semantic",
        "profile:best",
        "hybrid+magic=1",
        "diversity=much",
        "expand=yes",
        "",
        "dense+rrf=",
    ],
)
def test_a_mode_that_makes_no_sense_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"^.+\.$"):
        evaluated_mode(name)


def test_a_ranking_is_measured_beside_the_default(container: Container, fruit: BeirSet) -> None:
    indexed = index_corpus(container, fruit, ignore)
    modes = ["hybrid", "profile:code", "hybrid+least_share=1"]
    runs = ask_all(container.searcher, fruit, fruit.questions, indexed.items, modes)
    assert list(runs) == modes
    assert runs["hybrid+least_share=1"].scores["P@5"] == dict.fromkeys(
        runs["hybrid"].scores["P@5"], 0.2
    )
