"""What is printed for a person."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.command.care_schemas import CompactionReport, StorageSizes
from app.command.display import address, line, printable
from app.command.reports import SNIPPET_COLUMNS, SNIPPET_LINES, place, print_compacted, snippet
from app.rag.answer_schemas import SearchResult


def result(document_uri: str) -> SearchResult:
    return SearchResult(
        content="text",
        knowledge_id=1,
        title="Guide",
        uri="/srv",
        score=0.5,
        chunk_index=0,
        chunk_type="text",
        chunk_id="c",
        document="guide.md",
        document_title=None,
        document_uri=document_uri,
        start_index=0,
        end_index=4,
        start_line=120,
        end_line=135,
        heading_path=[],
        category=None,
        tags=[],
        licence=None,
        language=None,
        symbol=None,
        highlights=[],
        citation="guide.md#L120-L135",
    )


@pytest.mark.parametrize("text", ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "👩\u200d🚀"])
def test_what_joins_letters_or_keeps_them_apart_is_shown(text: str) -> None:
    assert printable(text) == text


def test_an_address_keeps_its_blanks() -> None:
    assert address("/docs/my  file\u202fof 3.md") == "/docs/my  file\u202fof 3.md"
    assert address("/docs/two\nlines.md") == "/docs/two\ufffdlines.md"


@given(st.text())
def test_nothing_printable_controls_a_terminal(text: str) -> None:
    shown = printable(text)
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\n\t"]
    assert "\n" not in line(text)


def test_a_file_is_cited_so_that_an_editor_can_open_it() -> None:
    assert place(result("/srv/guide.md")) == "/srv/guide.md:120  lines 120-135"


def test_a_page_is_cited_by_its_address() -> None:
    assert place(result("https://example.com/a")) == "https://example.com/a  lines 120-135"


def test_a_snippet_shows_the_lines_that_hold_the_words_of_the_query() -> None:
    content = "\n".join(f"filler {number}" for number in range(20)) + "\nthe token expires\nend"
    assert "the token expires" in snippet(content, "When does a TOKEN expire?")


def test_a_snippet_of_a_file_from_windows_shows_its_lines_as_those_of_any_other() -> None:
    assert snippet("one\r\n\r\ntwo\r\n", "two") == ["one", "two"]


@given(st.text(), st.text())
def test_a_snippet_is_short_whatever_the_text(content: str, query: str) -> None:
    lines = snippet(content, query)
    assert len(lines) <= SNIPPET_LINES
    assert all(len(text) <= SNIPPET_COLUMNS for text in lines)


@pytest.mark.parametrize(
    ("dropped", "said"),
    [
        (0, ""),
        (1, "Dropped 1 former generation: to go back now is to embed again."),
        (2, "Dropped 2 former generations: to go back now is to embed again."),
    ],
)
def test_compacting_says_when_it_drops_the_way_back(
    capsys: pytest.CaptureFixture[str], dropped: int, said: str
) -> None:
    sizes = StorageSizes(database=1, vector_index=1, lexical_index=1, total=3)
    report = CompactionReport(
        before=sizes, after=sizes, generations_dropped=dropped, embeddings_dropped=0
    )
    print_compacted(report)
    printed = capsys.readouterr().out.splitlines()
    assert [text for text in printed if "generation" in text] == ([said] if said else [])
