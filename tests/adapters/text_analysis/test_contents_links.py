"""A link within a page says its name once: a list of contents does not outrank what it lists."""

import time

import pytest

from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.text_analysis.contents_links import without_repeating_anchors
from app.protocols import EVERYWHERE
from tests.contracts.lexical_index_contract import found, record
from tests.processor_speed import is_within


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("- [Rate limits](#rate-limits)", "- [Rate limits]"),
        ("[`getUserName()`](#getusername), [1. C++](#1-c)", "[`getUserName()`], [1. C++]"),
        ("[Größe](#größe) [Größe](#gr%C3%B6%C3%9Fe) [概要](#概要)", "[Größe] [Größe] [概要]"),
        ("see [above](#rate-limits)", "see [above](#rate-limits)"),
        ("[Rate limits](limits.md#rate-limits)", "[Rate limits](limits.md#rate-limits)"),
        ("[Rate\nlimits](#rate-limits)", "[Rate\nlimits](#rate-limits)"),
        ("no link", "no link"),
        ("", ""),
    ],
)
def test_an_anchor_with_the_letters_of_its_link_is_not_counted(text: str, counted: str):
    assert without_repeating_anchors(text) == counted


@pytest.mark.parametrize("sign", ["[", "](#", "[a](#", "[a](#a", "[a]("])
def test_a_text_of_signs_takes_no_long(sign: str):
    started = time.process_time()
    without_repeating_anchors(sign * 5_000 + "](#")
    assert is_within(1, started)


def test_what_a_list_of_contents_points_to_comes_before_the_list(tmp_path):
    others = ["Quotas", "Retries", "Timeouts"]
    links = [f"- [{name}](#{name.lower()})" for name in others]
    index = TantivyIndex(tmp_path)
    index.upsert(
        [
            record("list", "\n".join(["- [Rate limits](#rate-limits)", *links])),
            record("limits", "Rate limits hold clients back. Without rate limits one stops all."),
            *(record(name, f"{name} are told of here, as others are elsewhere") for name in others),
        ]
    )
    hits = index.search("rate limits", 10, EVERYWHERE)
    assert [hit.chunk_id for hit in hits] == ["limits", "list"]
    index.close()


def test_what_an_anchor_alone_says_is_found(tmp_path):
    index = TantivyIndex(tmp_path)
    index.upsert([record("a", "[see above](#rate-limits), [Gateway](#gateway)")])
    for query in ("limits", '"rate limits"', "gateway", '"rate-limits"'):
        assert found(index, query) == {"a"}, query
    for query in ("above -limits", "above -gateway"):
        assert found(index, query) == set(), query
    index.close()


@pytest.mark.parametrize(
    "quoted",
    ["the [Rate limits](#rate-limits)'s window", "Rate limits's window", "#rate-limits)'s"],
)
def test_a_link_is_found_as_it_is_written_and_as_it_is_read(tmp_path, quoted: str):
    index = TantivyIndex(tmp_path)
    index.upsert(
        [
            record("a", "See the [Rate limits](#rate-limits)'s window.", path="guide.md"),
            record("b", "See the rate and its limits, window and all.", path="guide.md"),
        ]
    )
    assert found(index, f'"{quoted}"') == {"a"}
    index.close()
