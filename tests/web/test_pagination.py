"""The laws of cursors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidRequestError
from app.web.pagination import Cursor

NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=500)


@given(value=NUMBERS | TEXTS, row_id=NUMBERS)
def test_a_cursor_comes_back_as_it_went_out(value: str | int, row_id: int) -> None:
    cursor = Cursor("title", value, row_id)
    text = cursor.encode()
    assert text.replace("-", "").replace("_", "").isalnum()
    assert text.isascii()
    assert len(text) < 4096
    assert Cursor.decode(text, "title") == cursor


@given(value=NUMBERS | TEXTS, row_id=NUMBERS, sort=st.text(max_size=10))
def test_a_cursor_serves_its_own_sorting_only(value: str | int, row_id: int, sort: str) -> None:
    text = Cursor("title", value, row_id).encode()
    if sort != "title":
        with pytest.raises(InvalidRequestError):
            Cursor.decode(text, sort)


@given(text=st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        Cursor.decode(text, "id")
