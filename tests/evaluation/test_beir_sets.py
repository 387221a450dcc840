"""Reading question sets in BEIR's layout."""

import json
from pathlib import Path

import pytest

from app.errors import SourceNotFoundError, SourceUnreadableError
from app.evaluation.beir import read_beir, with_title
from app.evaluation.layouts import read_question_set
from tests.evaluation.question_files import write_beir, write_fruit, write_lines

CORPUS = [{"_id": "d1", "title": "One", "text": "first"}, {"_id": "d2", "text": "second"}]
QUERIES = [{"_id": "q1", "text": "first?"}, {"_id": "q2", "text": "second?"}]
TABLE = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\n"


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_are_read_gzipped_or_not(tmp_path: Path, suffix: str) -> None:
    found = read_beir(write_beir(tmp_path / "set", CORPUS, QUERIES, TABLE, suffix), binary=True)
    assert found.name == "set"
    assert [(d.id, d.key, d.title) for d in found.documents] == [
        ("d1", "d1", "One"),
        ("d2", "d2", "d2"),
    ]
    assert [question.text for question in found.questions] == ["first?", "second?"]


def test_binary_judgements_are_0_or_1_and_graded_ones_as_written(tmp_path: Path) -> None:
    folder = write_beir(tmp_path, CORPUS, QUERIES, TABLE)
    assert read_beir(folder, binary=True).judgements["q1"] == {"d1": 1, "d2": 0}
    assert read_beir(folder, binary=False).judgements["q1"] == {"d1": 2, "d2": 0}


def test_a_score_below_0_is_not_relevant(tmp_path: Path) -> None:
    table = "q1\td1\t-1\nq1\td2\t1\n"
    found = read_beir(write_beir(tmp_path, CORPUS, QUERIES, table), binary=False)
    assert found.judgements["q1"] == {"d1": 0, "d2": 1}


def test_a_table_may_have_no_header_and_the_four_columns_of_trec(tmp_path: Path) -> None:
    table = "q1 0 d1 1\nq2 0 d2 1\n"
    found = read_beir(write_beir(tmp_path, CORPUS, QUERIES, table), binary=True)
    assert found.judgements == {"q1": {"d1": 1}, "q2": {"d2": 1}}


def test_blank_lines_above_the_header_are_none(tmp_path: Path) -> None:
    folder = write_beir(tmp_path, CORPUS, QUERIES, f"\n  \n{TABLE}")
    assert len(read_beir(folder, binary=True).questions) == 2


@pytest.mark.parametrize("first", ["q1\td1\t1.0", "q1\td1", "q1 0 d1 0.5", "q1"])
def test_a_broken_first_line_is_not_taken_for_a_header(tmp_path: Path, first: str) -> None:
    folder = write_beir(tmp_path, CORPUS, QUERIES, f"{first}\nq2\td2\t1\n")
    with pytest.raises(SourceUnreadableError, match="line 1: expected query, document and a whole"):
        read_beir(folder, binary=True)


def test_queries_without_a_relevant_document_are_left_out_and_counted(tmp_path: Path) -> None:
    table = "q1\td1\t1\nq2\td2\t0\n"
    found = read_beir(write_beir(tmp_path, CORPUS, QUERIES, table), binary=True)
    assert [question.id for question in found.questions] == ["q1"]
    assert found.remarks == ["1 queries have no relevant document and were left out."]


def test_relevant_documents_that_the_corpus_lacks_are_counted(tmp_path: Path) -> None:
    table = "q1\td1\t1\nq1\tgone\t1\n"
    found = read_beir(write_beir(tmp_path, CORPUS, QUERIES, table), binary=True)
    assert "1 relevant documents are not in the corpus" in found.remarks[0]


def test_repositories_of_queries_group_the_documents_and_leave_their_keys(tmp_path: Path) -> None:
    corpus = [
        {"_id": "a/x.py", "title": "x.py", "text": "x"},
        {"_id": "a/b/y.py", "title": "y.py", "text": "y"},
        {"_id": "ab/z.py", "title": "z.py", "text": "z"},
    ]
    queries = [
        {"_id": "1", "text": "x", "metadata": {"repo": "a"}},
        {"_id": "2", "text": "y", "metadata": {"repo": "a/b"}},
    ]
    found = read_beir(
        write_beir(tmp_path, corpus, queries, "1\ta/x.py\t1\n2\ta/b/y.py\t1\n"), binary=True
    )
    assert [(d.group, d.key) for d in found.documents] == [
        ("a", "x.py"),
        ("a/b", "y.py"),
        (None, "ab/z.py"),
    ]
    assert [question.group for question in found.questions] == ["a", "a/b"]


def test_a_path_is_no_title_and_what_has_none_is_called_by_its_files_name(tmp_path: Path) -> None:
    corpus = [{"_id": "src/a.py", "title": "src/a.py", "text": "x"}, {"_id": "b.md", "text": "y"}]
    found = read_beir(write_beir(tmp_path, corpus, QUERIES, "q1\tb.md\t1\n"), binary=True)
    assert [document.title for document in found.documents] == ["a", "b"]


@pytest.mark.parametrize(
    ("title", "text", "key", "expected"),
    [
        ("Wings", "They lift.", "12", "# Wings\n\nThey lift."),
        ("", "They lift.", "12", "They lift."),
        ("src/a.py", "import b", "src/a.py", "import b"),
        ("a.py", "import b", "src/a.py", "import b"),
        ("wings .", "wings .  they\nlift", "1", "wings .  they\nlift"),
        ("Wings", "# Wings\n\nThey lift.", "w.md", "# Wings\n\nThey lift."),
    ],
)
def test_a_title_stands_above_prose_that_does_not_have_it(
    title: str, text: str, key: str, expected: str
) -> None:
    assert with_title(title, text, key) == expected


def test_of_several_tables_test_is_taken_unless_another_is_named(tmp_path: Path) -> None:
    folder = write_beir(tmp_path, CORPUS, QUERIES, "q1\td1\t1\n")
    (folder / "qrels" / "dev.tsv").write_text("q2\td2\t1\n")
    assert [q.id for q in read_beir(folder, binary=True).questions] == ["q1"]
    assert [q.id for q in read_beir(folder, binary=True, split="dev").questions] == ["q2"]
    with pytest.raises(SourceNotFoundError, match=r"dev, test.*--split"):
        read_beir(folder, binary=True, split="train")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "train.tsv")
    with pytest.raises(SourceNotFoundError, match="--split"):
        read_beir(folder, binary=True)


def test_ids_written_as_numbers_are_text(tmp_path: Path) -> None:
    corpus = [{"_id": 7, "text": "seven"}]
    found = read_beir(
        write_beir(tmp_path, corpus, [{"_id": 1, "text": "?"}], "1\t7\t1\n"), binary=True
    )
    assert found.documents[0].id == "7"


def test_half_surrogates_become_question_marks(tmp_path: Path) -> None:
    corpus = [{"_id": "d1", "text": "a\ud800b"}]
    found = read_beir(write_beir(tmp_path, corpus, QUERIES, "q1\td1\t1\n"), binary=True)
    assert found.documents[0].text == "a?b"


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("corpus.jsonl", b"{", "corpus.jsonl, line 1: this is not JSON"),
        ("corpus.jsonl", b"[1]", "line 1: this is not a JSON object"),
        ("corpus.jsonl", b'{"_id": "a"}', "'text' is not text"),
        ("corpus.jsonl", b'{"_id": "a", "text": ""}\n{"_id": "a", "text": ""}', "line 2.*twice"),
        ("corpus.jsonl", b"\n \n", "has no documents"),
        ("corpus.jsonl", b"\xff\xfe", "not UTF-8"),
        ("corpus.jsonl", b"[" * 100_000, "not JSON"),
        ("queries.jsonl", b'{"_id": "q1", "text": " "}', "line 1: 'text' is empty"),
        ("queries.jsonl", b'{"_id": "other", "text": "?"}', "there is no query 'q1'"),
        (
            "queries.jsonl",
            b'{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}',
            "line 2.*'q1' occurs twice",
        ),
        ("qrels/test.tsv", b"q1\td1\t1\nq2\td2", "test.tsv, line 2"),
        ("qrels/test.tsv", b"q1\td1\t" + b"9" * 5000, "test.tsv, line 1: expected query"),
        ("qrels/test.tsv", b"q1\td1\t0\n", "no query has a relevant document"),
        ("qrels/test.tsv", b"q1\td1\t1\nq1\td1\t0\n", "line 2.*another score further up"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(
    tmp_path: Path, file: str, content: bytes, complaint: str
) -> None:
    folder = write_beir(tmp_path, CORPUS, QUERIES, TABLE)
    (folder / file).write_bytes(content)
    with pytest.raises(SourceUnreadableError, match=complaint):
        read_beir(folder, binary=True)


def test_what_is_judged_twice_in_the_same_way_counts_once(tmp_path: Path) -> None:
    table = "q1\td1\t1\nq1\td1\t1\nq2\td2\t1\nq2\td2\t3\n"
    found = read_beir(write_beir(tmp_path, CORPUS, QUERIES, table), binary=True)
    assert found.judgements == {"q1": {"d1": 1}, "q2": {"d2": 1}}


def test_grades_beyond_what_the_measures_can_count_are_refused(tmp_path: Path) -> None:
    folder = write_beir(tmp_path, CORPUS, QUERIES, "q1\td1\t1000000000\n")
    assert read_beir(folder, binary=True).judgements["q1"] == {"d1": 1}
    with pytest.raises(SourceUnreadableError, match="line 1: a score is 10,000 at most"):
        read_beir(folder, binary=False)


def test_a_file_that_only_claims_to_be_gzipped_is_refused(tmp_path: Path) -> None:
    folder = write_beir(tmp_path, CORPUS, QUERIES, TABLE, ".gz")
    whole = (folder / "corpus.jsonl.gz").read_bytes()
    for broken in (b"plain text", whole[:-9]):
        (folder / "corpus.jsonl.gz").write_bytes(broken)
        with pytest.raises(SourceUnreadableError, match="cannot be read"):
            read_beir(folder, binary=True)


def test_each_layout_is_recognised(tmp_path: Path) -> None:
    assert len(read_question_set(write_fruit(tmp_path / "beir")).questions) == 5

    (tmp_path / "spans" / "corpora").mkdir(parents=True)
    (tmp_path / "spans" / "corpora" / "a.md").write_text("abc")
    question = {"_id": "q", "text": "b?", "corpus_id": "a", "spans": [[1, 2]]}
    write_lines(tmp_path / "spans" / "questions.jsonl", [question])
    assert list(read_question_set(tmp_path / "spans").depths) == [5]

    (tmp_path / "a.md").write_text("There is no phrase like this.")
    asked = {
        "_id": "q",
        "text": "?",
        "metadata": {"answers": [{"file": "a.md", "phrase": "like this"}]},
    }
    write_lines(tmp_path / "phrases" / "queries.jsonl", [asked])
    (tmp_path / "phrases" / "corpus.json").write_text(json.dumps({"root": "..", "files": ["*.md"]}))
    assert read_question_set(tmp_path / "phrases").documents[0].id == "a.md"


def test_any_other_folder_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SourceNotFoundError, match=r"corpus\.jsonl, queries\.jsonl and qrels"):
            read_question_set(folder)
