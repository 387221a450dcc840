"""Turns bytes into clean text: finds the encoding, refuses binaries, removes control characters."""

import codecs
import re
from contextlib import suppress

from charset_normalizer import from_bytes

from app.adapters.loading.alphabets import likelier
from app.adapters.loading.east_asian_text import east_asian_encoding
from app.adapters.loading.terminal_text import as_shown
from app.adapters.loading.western_text import is_scattered, is_western
from app.errors import SourceUnreadableError

BYTE_ORDER_MARKS = (
    # The longer first: UTF-32's little-endian mark begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LATIN = {"iso8859-1", "ascii"}
"""Declared far more often than meant; browsers read both as windows-1252 (WHATWG Encoding)."""

MISDECLARED = {"cp1252", "iso8859-15"}
"""Declared by servers and editors by default, also for texts in UTF-8."""

ENDS_OF_WORDS = re.compile("(?:(?<=[A-Z])[Æ-Þ]|(?<=[a-z])ß)[\u00a0\u2019”»…\u2013—®™]")
"""The last letter of a word and the sign behind it. Any other two characters of windows-1252
whose bytes are UTF-8, such as `Ã©`, stand in texts about wrong encodings alone."""

WIDER = {
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
}
"""What browsers read for the declared encoding: it holds more characters (WHATWG Encoding)."""

NO_CODECS = {
    "windows-874": "cp874",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-x-big5": "big5hkscs",
}
"""Names that the web knows and Python does not."""

NO_CHARSETS = {"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
"""Python codecs, by their own names, that no document is written in: they make text of anything."""

LIKELY_ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "shift_jis", "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "euc_kr", "cp949"),
]
OFTEN_MEANT_WESTERN = {"cp1250", "cp1254", "cp1257", "cp1258"}
"""They share most letters with windows-1252, so detection takes short texts in that for theirs. A
text that it takes for any other encoding must also be `is_scattered`."""

TOLD_ENCODING = re.compile(
    rb"[ \t]*+(?:[^\w\s]{1,4}[^\n]*?coding[:=][ \t]*+|@charset[ \t]++)[\"']?"
    rb"(?P<name>[A-Za-z][\w.-]*?)(?:-(?:unix|dos|mac))?(?![\w.-])"
)
"""A line in which a file says its encoding: Python's `# -*- coding: koi8-r -*-`, which editors
write in comments of any language, the declaration of XML, the first rule of a style sheet."""
TOLD_LINES, MOST_TOLD_BYTES = 2, 400
"""Where Python looks for it, and how much of these lines is read."""

JAPANESE_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\(I)")
"""Begins Japanese characters in ISO-2022-JP, all of whose bytes are ASCII; no terminal reads it."""

PAIR_OF_HALVES = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
"""A character beyond U+FFFF as Java's and Oracle's UTF-8 has it (CESU-8): UTF-16, half by half."""

WESTERN_OR_BROKEN = re.compile("[\u00a0-\u017f\u2010-\u2122\ufffd]")
BESIDE_BROKEN = re.compile("[^\x00-\x7f\ufffd]\ufffd|\ufffd[^\x00-\x7f\ufffd]")
"""Of 20,000 random words of each length in nine encodings of other alphabets, at most 0.4 % have
as many whole letters as broken ones and none of these."""

SAMPLE_BYTES = 32 * 1024
"""Detection reads no more than this: it takes about a second for a megabyte."""

BINARY_SAMPLE_BYTES = 8000
"""Where git, too, looks for a NUL to tell binary from text."""

BINARY_CONTROL_SHARE = 0.05
"""Random bytes hold 11 % of control characters. Those that a terminal heeds are not counted: they
may be a tenth of a page of `man`."""

CONTROL_BYTES = bytes({*range(9), 11, *range(14, 27), *range(28, 32), 127})
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
NOT_SHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""With those of eight bits, of which one begins the escapes of terminals. They tell nothing of
whether data is text."""


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """Decode a document; gives its text and the name of the encoding.

    Tried in this order: byte order mark, UTF-16 without a mark (but a declared UTF-32, or order of
    bytes, comes first), the declared encoding (after UTF-8, if it is Latin-1), the escapes of
    ISO-2022-JP, UTF-8, what the first lines say, detection. The text holds no byte order mark at
    its start, no surrogate and none of the control characters but tab, line feed and carriage
    return: what a terminal heeds is left out, and each other one becomes a space. Line numbers do
    not change. Raises SourceUnreadableError for binary data.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            data = _with_whole_characters(data) if mark == codecs.BOM_UTF8 else data
            text = data.decode(encoding, "replace").lstrip("\ufeff")  # some write it twice
            return clean(as_shown(text)), encoding.removesuffix("-sig")
    decoded = _decode_declared(data, declared) or _decode_utf16(data)
    if decoded is None:
        _refuse_binary(data)
        decoded = _decode_undeclared(data)
    text, encoding = decoded
    return clean(as_shown(text)), encoding


def clean(text: str) -> str:
    """Replace what must not reach an index or an answer; length and lines stay as they are."""
    text = NOT_SHOWN.sub(" ", text)
    # Escapes in YAML can spell half of a surrogate pair, which no UTF-8 can hold.
    return text.encode("utf-8", "replace").decode("utf-8")


def _charset(declared: str) -> str | None:
    """Python's name for a declared encoding that documents are written in."""
    label = declared.strip("\"' \t").lower()
    try:
        codec = codecs.lookup(NO_CODECS.get(label, label))
    except (LookupError, ValueError):
        return None
    if codec.name in NO_CHARSETS or not getattr(codec, "_is_text_encoding", True):
        return None
    return "cp1252" if codec.name in LATIN else WIDER.get(codec.name, codec.name)


def _decode_declared(data: bytes, declared: str | None) -> tuple[str, str] | None:
    name = _charset(declared or "")
    if not name:
        return None
    wide = name.startswith(("utf-16", "utf-32"))
    # No other encoding of text writes NUL; and UTF-16 without a mark, declared as such, would be
    # read by Python in the order of this machine's bytes.
    if (not wide or name == "utf-16") and (found := _decode_utf16(data)):
        return found
    if not wide:
        _refuse_binary(data)
    if name in MISDECLARED and _is_surely_utf8(data):
        return data.decode("utf-8"), "utf-8"
    try:
        text = data.decode(name)
        text.encode("utf-8")
    except UnicodeError:
        return None
    if wide and len(CONTROL_CHARACTERS.findall(text)) > BINARY_CONTROL_SHARE * len(text):
        return None
    return text, name


def _is_surely_utf8(data: bytes) -> bool:
    """Whether bytes that are all UTF-8, and not all ASCII, can hardly be windows-1252."""
    if data.isascii():
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not ENDS_OF_WORDS.sub("", data.decode("cp1252", "replace")).isascii()


def _decode_utf16(data: bytes) -> tuple[str, str] | None:
    """UTF-16 without a mark: every second byte of mostly Latin text is NUL."""
    sample = data[:BINARY_SAMPLE_BYTES]
    if len(sample) < 4 or len(data) % 2:
        return None
    for encoding, high_bytes, low_bytes in (
        ("utf-16-le", sample[1::2], sample[::2]),
        ("utf-16-be", sample[::2], sample[1::2]),
    ):
        if high_bytes.count(0) > 0.7 * len(high_bytes) and not low_bytes.count(0):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            if len(CONTROL_CHARACTERS.findall(text)) <= BINARY_CONTROL_SHARE * len(text):
                return text, encoding
    return None


def _refuse_binary(data: bytes) -> None:
    sample = data[:BINARY_SAMPLE_BYTES]
    shown = as_shown(sample.decode("latin-1")).encode("latin-1")
    controls = len(shown) - len(shown.translate(None, CONTROL_BYTES))
    share = controls / max(len(shown), 1)
    if b"\0" in sample or share > BINARY_CONTROL_SHARE or sample.startswith(b"%PDF-"):
        raise SourceUnreadableError("This is binary, not text.")


def _decode_undeclared(data: bytes) -> tuple[str, str]:
    if data.isascii() and JAPANESE_ESCAPE.search(data):
        with suppress(UnicodeDecodeError):
            return data.decode("iso2022_jp_ext"), "iso2022_jp_ext"
    whole = _with_whole_characters(data)
    try:
        return whole.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    text = whole.decode("utf-8", "replace")
    if _is_damaged_utf8(text):
        return text, "utf-8"
    return _decode_told(data) or _detect(data)


def _decode_told(data: bytes) -> tuple[str, str] | None:
    """The text in the encoding that its first lines say, if they do and it can be."""
    for line in data[:MOST_TOLD_BYTES].splitlines()[:TOLD_LINES]:
        told = TOLD_ENCODING.match(line)
        name = _charset(told["name"].decode("ascii", "replace")) if told else None
        if name and not name.startswith(("utf-16", "utf-32")):
            with suppress(UnicodeError):
                return data.decode(name), name
    return None


def _with_whole_characters(data: bytes) -> bytes:
    """CESU-8 as UTF-8, which stays what it is."""
    return PAIR_OF_HALVES.sub(_whole, data)


def _whole(pair: re.Match[bytes]) -> bytes:
    """The character of two halves, in UTF-8."""
    halves = pair[0].decode("utf-8", "surrogatepass")
    return halves.encode("utf-16", "surrogatepass").decode("utf-16").encode("utf-8")


def _is_damaged_utf8(text: str) -> bool:
    """Whether so few bytes became U+FFFD that any other encoding would spoil more.

    A few whole letters are enough if they are Western and none stands beside the damage: read as
    UTF-8, words in another encoding give both, side by side.
    """
    broken = text.count("\ufffd")
    whole = len(text) - len(text.encode("ascii", "ignore")) - broken
    if whole > 4 * broken or whole < broken:
        return whole > broken
    is_plain = all(c.isascii() or WESTERN_OR_BROKEN.match(c) for c in set(text))
    return is_plain and not BESIDE_BROKEN.search(text)


def _detect(data: bytes) -> tuple[str, str]:
    # The sample starts near the first byte that is not ASCII: before it there is nothing to see.
    first = re.search(rb"[\x80-\xff\x1b]", data)
    start = max(0, (first.start() if first else 0) - SAMPLE_BYTES // 4)
    sample = data[start : start + SAMPLE_BYTES]
    # Detection refuses every encoding of two bytes a character in which one of them is broken, be
    # it by the end of the sample, and many a document in Japanese that is whole.
    encoding = east_asian_encoding(sample) or _likeliest(sample)
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return data.decode(encoding, "replace"), encoding


def _likeliest(sample: bytes) -> str:
    best = from_bytes(sample, cp_isolation=LIKELY_ENCODINGS, enable_fallback=False).best()
    encoding = best.encoding if best else "cp1252"
    western = sample.decode("cp1252", "replace")
    if is_western(western) and (encoding in OFTEN_MEANT_WESTERN or is_scattered(western)):
        return "cp1252"
    return likelier(sample, encoding)
