"""Where the tantivy index of a data directory comes from: opened if sound, else made anew."""

import json
import logging
import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import tantivy

from app.adapters.index_files import any_file
from app.adapters.lexical_index.checksums import damaged_file
from app.adapters.lexical_index.fields import LexicalIdentity
from app.adapters.lexical_index.lexical_store import NoLexicalIndexError
from app.adapters.lexical_index.probe import probe_tantivy
from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.text_analysis.languages import Languages
from app.errors import LexicalIndexError
from app.fault_points import FaultPoint, reached

logger = logging.getLogger(__name__)

COMPLETE_NAME = "groundwork-complete.json"
UNFINISHED_NAME = "groundwork-unfinished.json"
PROBE_TIMEOUT_SECONDS = 60.0
_FOLDER = re.compile(r"generation-(\d{1,9})")
"""Each index that is made lies in the next of these. So it is called on the disk, and in the notes;
what is called a generation everywhere else, of a model and a splitter, is something else."""


def lexical_files(directory: Path) -> list[Path]:
    """The files of all indexes below; locks are none of them."""
    folders = (path for path in directory.iterdir() if _FOLDER.fullmatch(path.name))
    below = (path for folder in folders for path in folder.iterdir())
    return sorted(path for path in below if path.suffix != ".lock")


class TantivyStore:
    """Opens and remakes the tantivy index below `directory`, for a HealingLexicalIndex.

    Each index that is made lies in a new folder of its own; a note beside them names the one that
    is complete, or the one whose making has begun. `probe_first` is for after an unclean stop: the
    index is tried out in a child process before this process dares to open it.
    """

    name = "tantivy"

    def __init__(
        self,
        directory: Path,
        *,
        languages: Languages | None = None,
        probe_first: bool = False,
    ) -> None:
        self._directory = directory
        self._languages = languages or Languages()
        self._probe_first = probe_first
        self._folder: Path | None = None
        """Of the index that was opened or made last."""
        self._latest: TantivyIndex | None = None

    def open(self) -> TantivyIndex:
        """Open what is there; LexicalIndexError when it is missing, incomplete or damaged."""
        folder = self._noted_folder(COMPLETE_NAME)
        if folder is not None:
            return self._open(folder)
        if self.is_outdated():
            raise NoLexicalIndexError(
                "The lexical index is of another version of Groundwork or another LEXICAL_LANGUAGE."
            )
        if not any_file(self._directory, lexical_files):
            raise NoLexicalIndexError("The lexical index has not been built yet.")
        raise LexicalIndexError("The lexical index is not complete.")

    def is_outdated(self) -> bool:
        """Whether what is there was made for another version, or another language."""
        noted = filter(None, map(self._noted, (COMPLETE_NAME, UNFINISHED_NAME)))
        return any(rules != self._identity() for _, rules in noted)

    def open_unfinished(self) -> TantivyIndex | None:
        """Open an index whose making was interrupted; None when there is none of any use."""
        folder = self._noted_folder(UNFINISHED_NAME)
        if folder is None:
            return None
        try:
            return self._open(folder)
        except LexicalIndexError as error:
            logger.warning("The unfinished lexical index is no use: %s", error.detail)
            return None

    def recreate(self) -> TantivyIndex:
        """Delete what is there, unopened, and make an empty index, which counts as unfinished."""
        self.mark_incomplete()
        try:
            known = self._folders()
            for former in known.values():
                shutil.rmtree(former)
        except OSError as error:
            raise LexicalIndexError(f"The lexical index could not be deleted: {error}") from error
        reached(FaultPoint.LEXICAL_DELETED)
        folder = self._directory / f"generation-{max(known, default=0) + 1}"
        index = TantivyIndex(folder, languages=self._languages)
        self._folder, self._latest = folder, index
        self._write_note(UNFINISHED_NAME)
        reached(FaultPoint.LEXICAL_RECREATED)
        return index

    def mark_complete(self) -> None:
        """Note durably that the index holds what SQL holds, so that it may be opened next time."""
        self._write_note(COMPLETE_NAME)
        self._delete_note(UNFINISHED_NAME)

    def mark_incomplete(self) -> None:
        """Take the notes back. Deleting works on a full disk too, where writing would not."""
        self._delete_note(COMPLETE_NAME)
        self._delete_note(UNFINISHED_NAME)

    def fault(self) -> str | None:
        """Why what lies on the disk is not what was opened or made last; None: it is."""
        return self._latest.fault() if self._latest is not None else None

    def damage(self) -> str | None:
        """Which file is not as it was written, bit by bit; None: none. Some 1 ms a megabyte."""
        if self._folder is None:
            return None
        try:
            reason = damaged_file(self._folder)
        except (OSError, ValueError) as error:
            return f"The files of the lexical index cannot be read: {error}"
        return None if reason is None else f"A file of the lexical index has rotted: {reason}."

    # Inside ------------------------------------------------------------------------------------

    def _identity(self) -> dict[str, str | int]:
        return asdict(LexicalIdentity(self._languages.default))

    def _open(self, folder: Path) -> TantivyIndex:
        if self._probe_first:
            reason = probe_tantivy(folder, PROBE_TIMEOUT_SECONDS)
            if reason is not None:
                raise LexicalIndexError(f"The lexical index did not pass its probe: {reason}")
        if not tantivy.Index.exists(str(folder)):
            raise LexicalIndexError("The lexical index has lost its files.")
        self._latest = TantivyIndex(folder, languages=self._languages, must_exist=True)
        self._folder = folder
        return self._latest

    def _write_note(self, name: str) -> None:
        folder = self._folder.name if self._folder is not None else None
        try:
            with (self._directory / name).open("w", encoding="utf-8") as file:
                json.dump({"generation": folder, **self._identity()}, file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LexicalIndexError(f"The lexical index could not be noted: {error}") from error

    def _delete_note(self, name: str) -> None:
        try:
            (self._directory / name).unlink(missing_ok=True)
        except OSError as error:
            raise LexicalIndexError(f"The lexical index cannot be changed: {error}") from error

    def _noted_folder(self, name: str) -> Path | None:
        """The folder that a note names, if it fits the analyser and the schema of today."""
        folder, rules = self._noted(name) or (None, {})
        return folder if rules == self._identity() else None

    def _noted(self, name: str) -> tuple[Path, dict[str, object]] | None:
        """The folder that a note names, if it is there, and by which rules it was made."""
        try:
            noted = json.loads((self._directory / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        folder = noted.pop("generation", None) if isinstance(noted, dict) else None
        if not isinstance(folder, str) or not _FOLDER.fullmatch(folder):
            return None
        path = self._directory / folder
        return (path, noted) if path.is_dir() else None

    def _folders(self) -> dict[int, Path]:
        """The folders that are ours, by number; links and strangers' files are left alone."""
        if not self._directory.exists():
            return {}
        return {
            int(match[1]): path
            for path in self._directory.iterdir()
            if (match := _FOLDER.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()
        }
