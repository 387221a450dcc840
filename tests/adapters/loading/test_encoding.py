import codecs
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.loading.encoding import clean, decode
from app.errors import SourceUnreadableError

GERMAN = "Größe und Länge der Straße, für Übung und Ärger. " * 5
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。" * 5


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_taken_off(mark, encoding):
    text, _ = decode(mark + GERMAN.encode(encoding), declared="koi8-r")
    assert text == GERMAN


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251", "iso-8859-5", "utf-16-le"])
def test_a_declared_encoding_that_fits_is_used(encoding):
    assert decode(RUSSIAN.encode(encoding), declared=encoding.upper())[0] == RUSSIAN


@pytest.mark.parametrize(
    "declared",
    ["ascii", "utf-16", "nonsense", "utf-7", "idna", "hex", "rot13", "", "a\0b", "\u20ac"],
)
def test_a_declared_encoding_that_does_not_fit_is_passed_over(declared):
    assert decode(JAPANESE.encode(), declared=declared)[0] == JAPANESE or declared == "ascii"


def test_declared_latin_is_read_as_browsers_do():
    assert decode(b"\x93quoted\x94", declared="iso-8859-1") == ("“quoted”", "cp1252")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-16-be"),
    ],
)
def test_undeclared_encodings_are_detected(text, encoding):
    assert decode(text.encode(encoding))[0] == text


def test_a_few_broken_bytes_do_not_spoil_a_utf8_document():
    data = GERMAN.encode() + b"\xff" + GERMAN.encode()
    assert decode(data) == (f"{GERMAN}\ufffd{GERMAN}", "utf-8")


def test_detection_of_a_large_file_is_bounded():
    data = (GERMAN * 20_000).encode("cp1252")
    started = time.process_time()
    assert decode(data)[0] == GERMAN * 20_000
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        bytes(range(256)) * 4,
        b"text\0text",
        b"\x7fELF\x02\x01\x01" + bytes(100),
        b"\x89PNG\r\n\x1a\n" + bytes(range(200)),
        b"%PDF-1.4\nstream",
        b"\x01\x02\x03\x04" * 100,
    ],
)
@pytest.mark.parametrize("declared", [None, "utf-8", "latin-1"])
def test_binary_data_is_refused(data, declared):
    with pytest.raises(SourceUnreadableError, match="binary"):
        decode(data, declared)


def test_control_characters_become_spaces_and_line_endings_stay():
    assert decode(b"a\x1bb\x0cc\r\nd\te\rf" + b"x" * 100)[0] == "a b c\r\nd\te\rf" + "x" * 100
    assert decode(b"x" * 9000 + b"\0")[0] == "x" * 9000 + " "


@given(st.text(), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_utf8_text_comes_back_but_for_its_control_characters(text, encoding):
    data = text.encode(encoding)
    try:
        decoded, _ = decode(data)
    except SourceUnreadableError:
        return
    assert decoded == clean(text.removeprefix("\ufeff"))
    assert len(decoded) == len(text.removeprefix("\ufeff"))


@given(st.binary(max_size=300), st.sampled_from([None, "utf-8", "utf-16", "shift_jis", "cp1252"]))
def test_any_bytes_give_clean_text_or_a_clear_refusal(data, declared):
    try:
        text, _ = decode(data, declared)
    except SourceUnreadableError:
        return
    text.encode("utf-8")
    assert "\0" not in text


@given(st.text(st.characters()))
def test_cleaning_keeps_length_and_lines(text):
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    assert [i for i, c in enumerate(cleaned) if c in "\r\n\t"] == [
        i for i, c in enumerate(text) if c in "\r\n\t"
    ]
    assert clean(cleaned) == cleaned
