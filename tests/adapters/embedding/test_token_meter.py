"""The meter counts as the model does, in places of the text as given."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.embedding.model_files import find_model
from app.adapters.embedding.token_meter import (
    PIECE_CHARACTERS,
    TokenizerMeter,
    load_tokenizer,
    well_formed,
)

TOKENIZER_PATH: Path = find_model("all-MiniLM-L6-v2").folder / "tokenizer.json"
METER = TokenizerMeter(load_tokenizer(TOKENIZER_PATH), window_tokens=256)
TOKENIZER = load_tokenizer(TOKENIZER_PATH)


@given(st.text(max_size=300))
@settings(deadline=None)
def test_spans_stand_in_order_inside_the_text(text: str) -> None:
    spans = METER.spans(text)
    assert len(spans) == METER.count(text)
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert (spans[1:, 0] >= spans[:-1, 0]).all()
    assert ((spans >= 0) & (spans <= len(text))).all()


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=200))
@settings(deadline=None)
def test_each_span_of_ascii_text_is_its_token(text: str) -> None:
    tokens = TOKENIZER.encode(text, add_special_tokens=False).tokens
    for (start, end), token in zip(METER.spans(text).tolist(), tokens, strict=True):
        assert token in ("[UNK]", text[start:end].lower(), "##" + text[start:end].lower()) or (
            token == text[start:end]  # a special token, written out in the text
        )


@given(st.text())
def test_well_formed_text_keeps_its_places(text: str) -> None:
    broken = text + "\ud800" + text
    assert len(well_formed(broken)) == len(broken)
    assert well_formed(text) == text
    well_formed(broken).encode()


def test_spans_point_into_the_original_past_accents_and_removed_characters() -> None:
    text = "na\u00efve\0 e\u0301tude 東京 end"
    words = [text[start:end] for start, end in METER.spans(text).tolist()]
    assert words[0] == "na\u00efve"
    assert words[-3:] == ["東", "京", "end"]


def test_a_text_of_many_pieces_is_measured_as_a_whole() -> None:
    line = "The 42nd line, of a naïve kind: refresh_tokens(session)…\n"
    text = line * (3 * PIECE_CHARACTERS // len(line))
    whole = TOKENIZER.encode(text, add_special_tokens=False)
    assert METER.count(text) == len(whole)
    assert METER.spans(text).tolist() == [list(span) for span in whole.offsets]


@pytest.mark.parametrize("character", ["x", " ", "\n", "東", "\u0301"])
def test_text_without_a_place_to_cut_is_measured_too(character: str) -> None:
    text = character * (2 * PIECE_CHARACTERS + 7)
    whole = TOKENIZER.encode(text, add_special_tokens=False)
    assert 0 <= METER.count(text) - len(whole) <= 8
    assert len(METER.spans(text)) == METER.count(text)


@given(st.text(min_size=1, max_size=3000))
@settings(deadline=None)
def test_windows_put_together_are_the_text(text: str) -> None:
    small = TokenizerMeter(TOKENIZER, window_tokens=12)
    windows = small.windows(text)
    assert "".join(windows) == text
    assert len(windows) == max(-(-small.count(text) // 10), 1)


def test_a_prefix_takes_its_tokens_from_the_window() -> None:
    meter = TokenizerMeter(TOKENIZER, window_tokens=256, prefix="search query: ")
    assert meter.max_tokens == 256 - 2 - 3


@pytest.mark.parametrize(
    "text", ["除電", "点検の結果", "👍", "请问如何配置服务器", "ไทย", "X" * 200]
)
def test_what_is_unknown_to_the_vocabulary_is_not_read(text: str) -> None:
    assert not METER.reads(text)


@pytest.mark.parametrize(
    "text",
    ["", "how to", "点検 report", "東京タワー", "Привет мир", "안녕하세요", "key " + "X" * 200],
)
def test_what_is_known_in_part_is_read(text: str) -> None:
    assert METER.reads(text)
