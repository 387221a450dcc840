"""Documents that are numbered: what a query calls them, however their files write the number."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.text_analysis.analyser import Analyser
from app.adapters.text_analysis.numbered_names import asked_numbers, numbered_names
from app.adapters.text_analysis.path_tails import MOST_PATHS
from app.adapters.text_analysis.stop_words import STOP_WORDS

ANALYSER = Analyser()
IDLE = STOP_WORDS["english"]
LATER_DIGITS = [
    digit
    for digit in ("\U00011f52", "\U00010d40", "\U000116d0", "\U00011de0")
    if not digit.isdecimal()
]
"""Of Unicode 15, 16 and 17, those that this Python does not know; Python 3.11 has Unicode 14."""


def names(query: str, key: str) -> bool:
    asked = [term for path in asked_numbers([query], ANALYSER, IDLE) for term in path.ways]
    return not set(numbered_names(key)).isdisjoint(asked)


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("PEP 8", "peps/pep-0008.rst"),
        ("who wrote PEP 8?", "peps/pep-0008.rst"),
        ("pep8 on naming", "peps/pep-0008.rst"),
        ("PEP-008", "peps/pep-0008.rst"),
        ("what do PEPs 8 and 20 say", "peps/pep-0008.rst"),
        ("PEP\t8", "peps/pep-0008.rst"),
        ("PEP #8", "peps/pep-0008.rst"),
        ("PEP 0", "pep-0000.rst"),
        ("the résumé of PEP 8", "peps/pep-0008.rst"),
        ("caching in RFC 2616", "rfc2616.txt"),
        ("ADR 12", "docs/adr/0012-one-queue.md"),
        ("ADR12", "docs/adr/0012-one-queue.md"),
        ("record no. 3", "decision-records/0003.md"),
        ("Issue #45", "issues/45.md"),
        ("what is in chapter 3?", "book/chapter_03-harbours.md"),
        ("section 2", "book/chapter-03-section-2.md"),
        ("release notes 2.3", "release-notes-2.3.md"),
        ("whatsnew 3.11", "whatsnew/3.11.rst"),
        ("Café 3", "Café 03 - Karte.md"),
        ("pep 8", "https://example.org/pep-0008/"),
        ("PEPs 8, 20 and 257", "pep-0008.rst"),
        ("PEPs 8, 20 and 257", "pep-0020.rst"),
        ("PEPs 8, 20, and 257 compared", "pep-0257.rst"),
        ("pep 8 or #20", "pep-0020.rst"),
        ("pep8 & 20", "pep-0020.rst"),
        ("PEP \uff10\uff18", "pep-0008.rst"),
        ("PEP \u0660\u0668", "pep-0008.rst"),
        ("\u0905\u0927\u094d\u092f\u093e\u092f 3", "\u0905\u0927\u094d\u092f\u093e\u092f-03.md"),
        ("what's in 'ADR 12'?", "adr/0012-2fa-login.md"),
        ("ADR 5", "adr/0005-2-phase-commit.md"),
        ("chapter 3", "chapter-03-2nd-edition.md"),
        ("PEP 8", "pep-0008-1.rst"),
    ],
)
def test_a_word_and_a_number_name_a_document(query: str, key: str):
    assert names(query, key)
    assert names(unicodedata.normalize("NFD", query), key)
    assert names(query, unicodedata.normalize("NFD", key))


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("PEP 80", "peps/pep-0008.rst"),
        ("PEP 8.1", "peps/pep-0008.rst"),
        ("PEP 8-12", "peps/pep-0008.rst"),
        ("step 8", "peps/pep-0008.rst"),
        ("8", "peps/pep-0008.rst"),
        ("minutes 2024", "minutes-2024-01-15.md"),
        ("minutes 2024", "minutes/2024-01-15.md"),
        ("minutes 2024", "minutes-2024-01.md"),
        ("minutes 15", "minutes-15-01-2024.md"),
        ("PEP 8\u201312", "pep-0008.rst"),
        ("section 1,000", "section-1.md"),
        ("step 3:12", "step-3.md"),
        ("it's 5 degrees", "s-5.md"),
        ("don\u2019t 5", "t-5.md"),
        ("\u0905\u0927\u094d\u092f\u093e\u092f 3", "\u092f-3.md"),
        ("OAuth2 and passwords", "security/oauth2-jwt.md"),
        ("how long is a sha256 hash", "sha256.md"),
        ("commit a1b2c3", "a1b2c3.md"),
        ("in 3 days", "3.md"),
        ("abc 12", "xabc-12.md"),
        ("PEP 8 in 2001", "pep-2001.rst"),
        ("PEP 8 and 20 others", "others-20.md"),
        ("PEP 8, 1,000 words", "pep-0001.rst"),
        ("PEP 8 and 3:12", "pep-0003.rst"),
        ("PEP 8 and 2nd edition", "pep-0002.rst"),
    ],
)
def test_what_merely_resembles_a_number_names_nothing(query: str, key: str):
    assert not names(query, key)


def test_of_many_numbers_the_first_are_looked_for():
    text = "in 1 of 2 and 3 to 4 of PEP 0, " + " ".join(f"PEP {n} PEP {n}" for n in range(100))
    asked = asked_numbers([text], ANALYSER, IDLE)
    assert [path.ways for path in asked] == [(f"pep#{n}",) for n in range(MOST_PATHS)]


@given(
    st.text(st.sampled_from("xKséñжλ章"), min_size=1, max_size=8),
    st.integers(0, 999_999_999),
    st.sampled_from(["-", "_", " ", "."]),
)
def test_the_zeros_before_a_number_and_the_case_do_not_matter(word: str, number: int, sign: str):
    key = f"docs/{word}{sign}{number:09}.md"
    assert names(f"what does {word.upper()} {number} say", key)


@pytest.mark.parametrize("digit", LATER_DIGITS)
def test_a_digit_of_a_later_unicode_than_pythons_names_nothing(digit: str):
    assert numbered_names(f"peps/pep-{digit}.md") == []
    assert [path.ways for path in asked_numbers([f"pep {digit} pep 5"], ANALYSER, IDLE)] == [
        ("pep#5",)
    ]


@given(st.text(), st.text())
def test_any_text_and_any_key_will_do(text: str, key: str):
    assert len(asked_numbers([text], ANALYSER, IDLE)) <= MOST_PATHS
    assert all(not term.split()[1:] for term in numbered_names(key))
