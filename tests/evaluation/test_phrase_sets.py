"""Question sets judged by phrases of files that live on."""

import json
from pathlib import Path

import pytest

from app.errors import SourceNotFoundError, SourceUnreadableError
from app.evaluation.phrases import read_phrases
from tests.evaluation.question_files import write_lines
from tests.evaluation.search_results import result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(
        "---\ntitle: A\n---\n# Apples\n\nThey are\nred and round.\n"
    )
    (tmp_path / "b.md").write_text("Pears are red and round, too.\n")
    folder = tmp_path / "questions"
    ask(folder, [{"file": "docs/a.md", "phrase": "are red"}, {"file": "b.md", "phrase": "Pears"}])
    (folder / "corpus.json").write_text(json.dumps({"root": "..", "files": ["docs/*.md", "b.md"]}))
    return folder


def ask(folder: Path, answers: object) -> None:
    write_lines(
        folder / "queries.jsonl", [{"_id": "q", "text": "?", "metadata": {"answers": answers}}]
    )


def ranked(folder: Path, *chunks: tuple[str, str]) -> dict[str, float]:
    """The measures of the question after these chunks were found."""
    found = read_phrases(folder)
    scorer = found.scorer()
    results = [result(file, text, start=place) for place, (file, text) in enumerate(chunks)]
    scorer.add(found.questions[0], results)
    return {measure: values["q"] for measure, values in scorer.scores().items()}


def test_documents_are_the_files_that_the_globs_name_without_their_frontmatter(
    folder: Path,
) -> None:
    documents = read_phrases(folder).documents
    assert [(d.id, d.title, d.text[:8]) for d in documents] == [
        ("b.md", "b", "Pears ar"),
        ("docs/a.md", "A", "# Apples"),
    ]


def test_a_file_without_text_is_one_that_holds_none_as_in_a_folder(folder: Path) -> None:
    (folder.parent / "docs" / "_index.md").write_text("---\ntitle: Fruit\n---\n")
    (folder.parent / "docs" / "b.md").write_bytes(b"\0\1\2\3" * 50)
    documents = read_phrases(folder).documents
    assert [d.id for d in documents if d.text] == ["b.md", "docs/a.md"]
    assert [d.id for d in documents if not d.text] == ["docs/_index.md", "docs/b.md"]


def test_a_chunk_answers_when_it_holds_the_phrase_whole_whatever_the_white_space(
    folder: Path,
) -> None:
    assert ranked(folder, ("docs/a.md", "They are\n  red"))["MRR@10"] == 1.0
    assert ranked(folder, ("docs/a.md", "They are"), ("docs/a.md", "red and round"))["R@5"] == 0.0


def test_the_same_words_in_another_file_are_no_answer(folder: Path) -> None:
    assert ranked(folder, ("b.md", "are red"))["R@5"] == 0.0


def test_a_passage_that_is_shown_again_is_no_second_answer(folder: Path) -> None:
    twice = ranked(folder, ("docs/a.md", "are red"), ("docs/a.md", "They are red"))
    assert (twice["R@5"], twice["P@5"]) == (0.5, 0.2)
    both = ranked(folder, ("docs/a.md", "are red"), ("b.md", "Pears"))
    assert (both["R@5"], both["P@5"], both["nDCG@10"]) == (1.0, 0.4, 1.0)


def test_a_phrase_that_no_longer_stands_in_its_file_is_named(folder: Path) -> None:
    (folder.parent / "b.md").write_text("Plums.\n")
    with pytest.raises(SourceUnreadableError, match=r"1 phrases are no longer in.*b\.md: Pears"):
        read_phrases(folder)


@pytest.mark.parametrize(
    "answers",
    [None, [], "docs/a.md", [1], [{"file": "b.md"}], [{"file": "b.md", "phrase": " \n"}]],
)
def test_a_question_without_answers_is_refused(folder: Path, answers: object) -> None:
    ask(folder, answers)
    with pytest.raises(SourceUnreadableError, match=r"queries\.jsonl, line 1"):
        read_phrases(folder)


def test_a_question_that_asks_nothing_is_refused(folder: Path) -> None:
    answers = [{"file": "b.md", "phrase": "Pears"}]
    row = {"_id": "q", "text": " ", "metadata": {"answers": answers}}
    write_lines(folder / "queries.jsonl", [row])
    with pytest.raises(SourceUnreadableError, match=r"queries\.jsonl, line 1: 'text' is empty"):
        read_phrases(folder)


@pytest.mark.parametrize(
    "corpus", ["{", "[]", '{"root": ".."}', '{"root": "..", "files": ["/etc/*"]}']
)
def test_a_corpus_that_cannot_be_understood_is_refused(folder: Path, corpus: str) -> None:
    (folder / "corpus.json").write_text(corpus)
    with pytest.raises(SourceUnreadableError, match=r"corpus\.json"):
        read_phrases(folder)


def test_globs_that_match_nothing_are_refused(folder: Path) -> None:
    (folder / "corpus.json").write_text('{"root": "..", "files": ["*.rst"]}')
    with pytest.raises(SourceNotFoundError, match="matches its globs"):
        read_phrases(folder)
