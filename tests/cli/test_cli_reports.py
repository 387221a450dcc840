"""What is printed for a person."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.command.care_schemas import CompactionReport, StorageSizes
from app.command.display import address, line, printable
from app.command.reports import SNIPPET_COLUMNS, SNIPPET_LINES, place, print_compacted, snippet
from app.rag.answer_schemas import Highlight, SearchResult


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


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_file_is_opened_at_what_is_shown_of_it(line_break: str) -> None:
    content = line_break.join(["# Keys", "", "Rotate them.", *["filler"] * 9])
    found = marked(content, "Rotate", sentence="Rotate them.")
    shown = result("/srv/guide.md").model_copy(update={"content": content, "highlights": found})
    start, lines = snippet(content, found)
    assert place(shown, start) == "/srv/guide.md:122  lines 120-135"
    assert lines[0].startswith("Rotate")


def test_a_page_is_cited_by_its_address() -> None:
    assert place(result("https://example.com/a")) == "https://example.com/a  lines 120-135"


def marked(content: str, *words: str, sentence: str = "") -> list[Highlight]:
    """Each of the words where it stands first, behind the sentence, as a search answers them."""
    stretches = [("sentence", sentence)] if sentence else []
    stretches += [("word", word) for word in words]
    places = [(kind, text, content.index(text)) for kind, text in stretches]
    return [Highlight(kind=k, start=at, end=at + len(t), text=t) for k, t, at in places]


def test_a_snippet_shows_the_lines_that_hold_the_highlighted_words() -> None:
    content = "\n".join(f"filler {number}" for number in range(20)) + "\nthe token expires\nend"
    assert "the token expires" in snippet(content, marked(content, "token", "expires"))[1]
    assert snippet(content, [])[1][0] == "filler 0"


def test_a_snippet_shows_what_stands_below_a_question() -> None:
    content = "filler\n\n" * 9 + "**Q: Who mends the lift?**\nA: The porter.\n\nfiller\nfiller\n"
    _, shown = snippet(content, marked(content, "lift", sentence="**Q: Who mends the lift?**"))
    assert shown == ["**Q: Who mends the lift?**", "A: The porter.", "filler", "filler"]


def test_of_lines_with_as_many_words_those_with_the_sentence_are_shown() -> None:
    content = "the lift\n" + "filler\n" * 9 + "our lift stands still.\n" + "filler\n" * 9
    _, shown = snippet(
        content, marked(content, "lift", "stands", sentence="our lift stands still.")
    )
    assert shown[0] == "our lift stands still."


@pytest.mark.parametrize("behind", [0, 5_000])
def test_of_a_long_line_the_part_around_the_words_is_shown(behind: int) -> None:
    content = "\tfiller" * 5_000 + " the walrus password " + "filler " * behind
    _, (shown,) = snippet(content, marked(content, "walrus"))
    assert "walrus password" in shown
    assert (shown[0], shown[-1] == "…") == ("…", bool(behind))


def test_a_snippet_of_a_file_from_windows_shows_its_lines_as_those_of_any_other() -> None:
    assert snippet("one\r\n\r\ntwo\r\n", []) == (0, ["one", "two"])


@given(st.text(), st.data())
def test_a_snippet_is_short_whatever_the_text(content: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, max(len(content) - 1, 0)), max_size=5))
    found = [Highlight(kind="word", start=n, end=n + 1, text=content[n]) for n in places if content]
    _, lines = snippet(content, [one for one in found if not one.text.isspace()])
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
