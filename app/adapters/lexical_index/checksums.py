"""Compares the files of a tantivy index with their checksums, which tantivy does not on opening."""

import json
import zlib
from contextlib import suppress
from pathlib import Path

from app.adapters.lexical_index.segment_files import committed_files

READ_BYTES = 1 << 20
FOOTER_MAGIC = b"\x39\x05\x00\x00"
"""How a file of tantivy ends, after a JSON footer with its checksum and the footer's length."""
FOOTER_MAX_BYTES = 50_000


def damaged_file(folder: Path) -> str | None:
    """The first file that is not as tantivy wrote it, in a few words; None: all are.

    A file that a merge deletes meanwhile is none of the index any more. Raises OSError or
    ValueError when the list of segments cannot be read.
    """
    for path in committed_files(folder):
        with suppress(FileNotFoundError):
            reason = _bad_checksum(path)
            if reason is not None:
                return reason
    return None


def _bad_checksum(path: Path) -> str | None:
    """Compare the file with the CRC-32 in its footer.

    A file whose footer cannot be read has been cut, or comes from a version that writes another.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        tail = file.read(8)
        footer_bytes = int.from_bytes(tail[:4], "little")
        if tail[4:] != FOOTER_MAGIC or not 0 < footer_bytes <= min(size - 8, FOOTER_MAX_BYTES):
            return f"{path.name} is cut"
        body_bytes = size - 8 - footer_bytes
        file.seek(body_bytes)
        try:
            expected = json.loads(file.read(footer_bytes))["crc"]
        except (ValueError, KeyError, TypeError):
            return f"{path.name} has a damaged end"
        file.seek(0)
        found = 0
        for start in range(0, body_bytes, READ_BYTES):
            found = zlib.crc32(file.read(min(READ_BYTES, body_bytes - start)), found)
    return None if found == expected else f"{path.name} is damaged"
