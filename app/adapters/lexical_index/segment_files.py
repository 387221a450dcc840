"""Notices that the files of an open tantivy index were replaced, cut or deleted by others."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.adapters.file_states import FileState, file_state
from app.adapters.open_files import is_out_of_files

META_NAME = "meta.json"
SEGMENT_NAME_LENGTH = 32
"""A file of a segment is named by the 32 hex digits of its id, then a suffix."""

_REPLACED = "The folder of the lexical index was replaced."


class SegmentFiles:
    """What tantivy's files in `folder` were like after the last commit of this process.

    Tantivy writes every file of a segment once, and replaces its list of segments at each commit
    and merge; the list says how many operations had been committed, which a merge does not change.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inode = folder.stat().st_ino
        self._operations: int | None = None
        self._seen: dict[str, FileState] = {}

    def remember(self) -> None:
        """The process has just opened the index or committed: take the files as they are.

        Raises OSError or ValueError when they cannot be read.
        """
        meta = _parsed(self._meta_text())
        self._operations, self._seen = meta.get("opstamp"), self._files_of(meta)

    def fault(self) -> str | None:
        """What somebody else has done to the files; None: nothing. Costs a `stat` a file.

        Nobody may commit meanwhile; a merge may end.
        """
        try:
            replaced = self._folder.stat().st_ino != self._inode
            text = self._meta_text()
            meta = _parsed(text)
            now = self._files_of(meta)
            if self._meta_text() != text:
                return None  # a merge ended just now: the next look will do
        except FileNotFoundError:
            return "Files of the lexical index were deleted."
        except (OSError, ValueError) as error:
            if is_out_of_files(error):
                return None  # the next look will do
            return f"The files of the lexical index cannot be read: {error}"
        reason = _REPLACED if replaced else self._difference(meta, now)
        if reason is None:
            self._seen = now
        return reason

    def _difference(self, meta: Mapping[str, Any], now: Mapping[str, FileState]) -> str | None:
        if meta.get("opstamp") != self._operations:
            return "The lexical index has another list of segments than was written."
        if any(name in now and now[name] != state for name, state in self._seen.items()):
            return "Files of the lexical index were changed."
        listed = _segment_ids(meta)
        lost = {name for name in self._seen.keys() - now.keys() if not name.endswith(".del")}
        if any(name[:SEGMENT_NAME_LENGTH] in listed for name in lost):
            return "Files of the lexical index were deleted."
        return None

    def _meta_text(self) -> str:
        return (self._folder / META_NAME).read_text(encoding="utf-8")

    def _files_of(self, meta: Mapping[str, Any]) -> dict[str, FileState]:
        """The files of the segments that the list names; a merge may be writing others."""
        listed = _segment_ids(meta)
        states = {}
        for path in self._folder.iterdir():
            if path.name[:SEGMENT_NAME_LENGTH] in listed:
                with suppress(FileNotFoundError):  # a merge has just replaced it
                    states[path.name] = file_state(path)
        return states


def committed_files(folder: Path) -> list[Path]:
    """What the list of segments names and is there, in order of name.

    A writer that was killed may leave more: parts of segments and of lists of deletions that it
    had not committed, which tantivy does not read and clears away by itself. Raises OSError or
    ValueError when the list cannot be read.
    """
    meta = _parsed((folder / META_NAME).read_text(encoding="utf-8"))
    deletions = {}
    for segment in meta["segments"]:
        deleted = segment.get("deletes")
        segment_id = _plain_id(segment)
        deletions[segment_id] = f"{segment_id}.{deleted['opstamp']}.del" if deleted else None
    return sorted(
        path
        for path in folder.iterdir()
        if path.name[:SEGMENT_NAME_LENGTH] in deletions
        and (path.suffix != ".del" or path.name == deletions[path.name[:SEGMENT_NAME_LENGTH]])
    )


def _parsed(text: str) -> Mapping[str, Any]:
    """Tantivy's list of segments; raises ValueError when it is none."""
    try:
        meta = json.loads(text)
    except RecursionError as error:
        raise ValueError("its list of segments is too deeply nested") from error
    segments = meta.get("segments") if isinstance(meta, dict) else None
    if not isinstance(segments, list) or not all(map(_is_segment, segments)):
        raise ValueError("its list of segments is none")
    return dict(meta)


def _is_segment(segment: object) -> bool:
    if not isinstance(segment, dict) or not isinstance(segment.get("segment_id"), str):
        return False
    deleted = segment.get("deletes")
    return deleted is None or (isinstance(deleted, dict) and "opstamp" in deleted)


def _segment_ids(meta: Mapping[str, Any]) -> set[str]:
    return {_plain_id(segment) for segment in meta["segments"]}


def _plain_id(segment: Mapping[str, Any]) -> str:
    plain: str = segment["segment_id"].replace("-", "")
    return plain
