"""README's examples all index `docs`, so they all print the same numbers of it."""

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")

CHUNKS = (
    r'"chunks_(?:indexed|total)": (\d+)',
    r'"chunks_added": (\d+),\s+"chunks_removed": 0',
    r"^    True (\d+)$",
    r"\b(\d+) chunks: \d+ added",
    r"\d chunks: (\d+) added",
)
DOCUMENTS = (r'"documents(?:_found|_done)?": (\d+)', r"\b(\d+) documents, \d+ chunks:")


def printed(*patterns: str) -> list[set[str]]:
    return [set(re.findall(pattern, README, re.MULTILINE)) for pattern in patterns]


def test_the_examples_print_one_number_of_chunks_and_one_of_documents() -> None:
    for patterns in (CHUNKS, DOCUMENTS):
        found = printed(*patterns)
        assert all(len(numbers) == 1 for numbers in found), found
        assert len(set.union(*found)) == 1, found


def test_the_history_of_a_change_counts_all_documents() -> None:
    (documents,) = printed(DOCUMENTS[0])[0]
    ((changed, unchanged),) = re.findall(
        r'"documents_changed": (\d+),\s+"documents_removed": 0,\s+"documents_unchanged": (\d+)',
        README,
    )
    assert int(changed) + int(unchanged) == int(documents)
