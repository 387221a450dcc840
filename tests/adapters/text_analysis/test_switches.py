"""Switches are names, and their capitals tell them apart."""

from pathlib import Path

import pytest

from app.adapters.lexical_index.tantivy_index import TantivyIndex
from tests.contracts.lexical_index_contract import record


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("tar -c", "create"),
        ("what does tar -C do", "folder"),
        ("tar (-C, -z)", "folder"),
        ("-c", "create"),
        ("see -xzf here, tar -c", "create"),
    ],
)
def test_what_shows_the_switch_comes_first(tmp_path: Path, query: str, first: str):
    index = TantivyIndex(tmp_path)
    index.upsert(
        [
            record("create", "`tar -c` makes a new archive, which is a single file"),
            record("folder", "`tar -C` goes to a folder first, e.g. to one with a longer name"),
            record("letter", "tar, c, C"),
            record("other", "tar -t"),
        ]
    )
    assert index.search(query, 4)[0].chunk_id == first
    index.close()


@pytest.mark.parametrize("query", ["find -name", "what does find -name do", "find -name, -draft"])
def test_what_shows_a_longer_one_comes_first_and_what_only_says_its_word_is_left_out(
    tmp_path: Path, query: str
):
    index = TantivyIndex(tmp_path)
    index.upsert(
        [
            record("option", "-name pattern: base of file name, without the folders"),
            record("often", "find, find and find again"),
            record("word", "find a file by its name"),
            record("capital", "find -Name, a name"),
        ]
    )
    assert [hit.chunk_id for hit in index.search(query, 4)] == ["option", "often"]
    index.close()
