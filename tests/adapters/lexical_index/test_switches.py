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
