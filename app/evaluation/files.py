"""Reads the files of a question set, gzip or not, with errors that say where."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from app.errors import SourceNotFoundError, SourceUnreadableError


@dataclass(frozen=True)
class JsonLine:
    """One object of a file of JSON lines, and where it stands."""

    place: str
    """`queries.jsonl, line 3`."""
    fields: dict[str, Any]

    def text(self, name: str, default: str | None = None) -> str:
        """A field that is text, as valid Unicode; raises SourceUnreadableError.

        A number counts as text: some sets write their ids so.
        """
        value = self.fields.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise SourceUnreadableError(f"{self.place}: {name!r} is not text.")
        return whole_unicode(value)

    def words(self, name: str) -> str:
        """A field that is text and says something; raises SourceUnreadableError."""
        text = self.text(name)
        if not text.strip():
            raise SourceUnreadableError(f"{self.place}: {name!r} is empty.")
        return text

    def mapping(self, name: str) -> dict[str, Any]:
        """A field that is an object; empty when it is not there."""
        value = self.fields.get(name)
        return value if isinstance(value, dict) else {}


def whole_unicode(text: str) -> str:
    """The text with a `?` for every half of a surrogate pair, which JSON can hold and UTF-8 not."""
    return text.encode("utf-8", "replace").decode()


def find_file(folder: Path, name: str) -> Path | None:
    """The file, or the same with `.gz` behind its name; None when neither is there."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    return None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, numbered from 1, of a UTF-8 file that may be gzipped.

    Raises SourceNotFoundError and SourceUnreadableError.
    """
    try:
        with _opened(path) as stream:
            yield from ((number, line) for number, line in enumerate(stream, 1) if line.strip())
    except FileNotFoundError as error:
        raise SourceNotFoundError(f"File not found: {path}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise SourceUnreadableError(f"{path} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise SourceUnreadableError(f"{path} is not UTF-8: {error}") from error


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def json_lines(path: Path) -> Iterator[JsonLine]:
    """The objects of a file of JSON lines; raises SourceUnreadableError."""
    for number, line in lines_of(path):
        place = f"{path.name}, line {number}"
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SourceUnreadableError(f"{place}: this is not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise SourceUnreadableError(f"{place}: this is not a JSON object.")
        yield JsonLine(place, fields)
