"""Cuts tear no character as its reader sees it."""

import time

import numpy as np
import pytest
import regex

from app.adapters.splitting.graphemes import grapheme_breaks

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


def test_a_text_of_nothing_but_flags_is_cut_in_good_time():
    started = time.process_time()
    grapheme_breaks(FLAG_LETTER * 100_000)
    assert time.process_time() - started < 5
