"""Letters with accents, which may be written as one character each or as two.

Editors, file names and keyboards differ in it: `é` is U+00E9 in Unicode's form NFC, and `e` with
U+0301 in NFD. Labels are kept in one form; paths stay as the file system has them.
"""

import unicodedata


def composed(text: str) -> str:
    """The text with one character for each such letter (NFC); labels are kept and compared so."""
    return unicodedata.normalize("NFC", text)


def writings(text: str) -> list[str]:
    """Each way in which the text may be stored, in order: as it is given, in NFC and in NFD."""
    return sorted({text, composed(text), unicodedata.normalize("NFD", text)})
