"""Cuts tear no character as its reader sees it."""

import time

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.graphemes import grapheme_breaks, may_be_torn
from tests.processor_speed import is_within

FLAG_LETTER = "\U0001f1e9"


@pytest.mark.parametrize("count", [1, 2, 127, 128, 129, 256, 257, 300])
@pytest.mark.parametrize("before", ["", "a", "\u0600", "\u00e9", "\r\n"], ids=ascii)
@pytest.mark.parametrize("after", ["", "a", "\u0301", "\u200d" + FLAG_LETTER], ids=ascii)
def test_flags_are_parted_as_unicode_says_however_many_there_are(before, count, after):
    text = before + FLAG_LETTER * count + after
    expected = np.ones(len(text) + 1, dtype=np.bool_)
    for cluster in regex.finditer(r"\X", text):
        expected[cluster.start() + 1 : cluster.end()] = False
    assert (grapheme_breaks(text) == expected).all()


SIGNS = (
    "a \n\u00e9\u0301\u200d\ufe0f\u0600\u093f\u0e33\u1100\u1161\u11a8\uac00\uac01\u6771"
    + FLAG_LETTER
)
SIGNS += "\U0001f44d\U0001f3fd\U0001f469\u0915\u094d"


@given(st.text(SIGNS, min_size=1, max_size=12) | st.text(min_size=1, max_size=12), st.data())
def test_where_a_cluster_reaches_across_an_end_it_may_be_torn_there(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    breaks = grapheme_breaks(text)
    if not (breaks[start] and breaks[end]):
        assert may_be_torn(text, start, end) or "\r\n" in text


def test_a_text_of_nothing_but_flags_is_cut_in_good_time():
    started = time.process_time()
    grapheme_breaks(FLAG_LETTER * 100_000)
    assert is_within(5, started)
