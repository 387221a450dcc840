"""Both indexes of one generation as one part: made from settings, started, closed, sealed."""

import logging
import shutil
from pathlib import Path

from app.adapters.healing_pauses import HealingPauses
from app.adapters.index_files import any_file
from app.adapters.index_seal import IndexSeal
from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.adapters.lexical_index.keeper import LexicalIndexKeeper
from app.adapters.lexical_index.tantivy_store import TantivyStore, lexical_files
from app.adapters.text_analysis.languages import Languages
from app.adapters.vector_index.chroma_files import IndexIdentity, index_files, wipe
from app.adapters.vector_index.chroma_store import ChromaStore
from app.adapters.vector_index.failover import FailoverVectorIndex
from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.database import Database
from app.errors import AppError, SettingError
from app.fault_points import FaultPoint, reached
from app.generations.records import FIRST_GENERATION, StoredGeneration
from app.indexing.index_sources import lexical_source, vector_row_source, vector_source
from app.indexing.index_stamps import IndexStamps
from app.metrics import Metrics
from app.processor import UnderWay
from app.settings import Settings

logger = logging.getLogger(__name__)

VECTOR, LEXICAL = "vector", "lexical"
"""The names of the indexes in seals and metrics."""

GENERATIONS = "generations"
"""The folder in DATA_DIR that holds the indexes of later ones."""

SETTLING_SECONDS = 4.0
"""How long a stop waits for an index that is being brought up to date; after that, it is left to
the next start. Well below what a stop may take in all."""


class DerivedIndexes:
    """The vector index and the lexical one, caches of what the database holds."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        stored: StoredGeneration,
        metrics: Metrics,
        *,
        was_clean: bool,
    ) -> None:
        """`was_clean`: the last process closed this data directory cleanly.

        Raises SettingError for a language without a stemmer.
        """
        self._settings = settings
        self._database = database
        self._stored = stored
        self._metrics = metrics
        self._was_clean = was_clean
        self.searches = UnderWay()
        """Counts the searches under way; the searching side increments it."""
        self.folders = index_folders(settings, stored.generation.id)
        self.languages = _languages(settings.lexical_language)
        self._lexical_store = TantivyStore(
            self._lexical_folder, languages=self.languages, probe_first=not was_clean
        )
        self.lexical = HealingLexicalIndex(
            self._lexical_store, lexical_source(database, stored.generation)
        )
        self._pauses = {name: HealingPauses() for name in (VECTOR, LEXICAL)}
        self._keeper = LexicalIndexKeeper(
            self.lexical,
            self._pauses[LEXICAL],
            on_healed=lambda: self._note_healed(LEXICAL),
        )
        self._being_made: set[str] = set()
        """Indexes that did not exist yet: making them does not count as healing."""
        self._absent: set[str] = set()
        """Indexes that were not on disk at the start, as when only the database was restored."""
        self._outdated: set[str] = set()
        """Sound indexes made by other rules: rebuilding them does not count as healing."""
        self._stamps = IndexStamps(
            database,
            {
                VECTOR: IndexSeal(self._vector_folder, index_files),
                LEXICAL: IndexSeal(self._lexical_folder, lexical_files),
            },
        )
        self.vector = self._make_vector_index()

    def start(self, *, is_empty: bool, for_command: bool = False) -> None:
        """Open both, if need be in the background; `is_empty`: the database holds no chunks.

        `for_command`: what cannot be opened is given up soon. Raises StorageError.
        """
        if for_command:
            for pauses in self._pauses.values():
                pauses.be_brief()
        self._stamps.take()
        if self._settings.vector_index == "exact":  # what Chroma may have left falls behind
            self._stamps.forget(VECTOR)
        self._absent = set() if is_empty else self._not_on_disk() - self._being_made
        for name in sorted(self._absent):
            logger.warning("The %s index is not there: it is made from the database.", name)
        self.vector.start(trusted=self._was_clean)
        if is_empty:
            self._make_empty_lexical_index()
        elif self._was_clean and LEXICAL not in self._absent:
            self._distrust_exchanged_words()
        if self._lexical_store.is_outdated():
            self._outdated.add(LEXICAL)
        self._keeper.start(trusted=self._was_clean)

    def start_new(self) -> None:
        """Make both in the background, for a generation that has none; ends with `made`."""
        self._being_made = {VECTOR, LEXICAL}
        self.start(is_empty=False)

    def made(self) -> None:
        """Call once both hold everything: what is mended from then on counts as damaged."""
        self._being_made = set()

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until both are loaded, and mended if necessary; returns whether that is so."""
        vectors_settled = self.vector.settle(timeout_seconds)
        return self._keeper.settle(timeout_seconds) and vectors_settled

    def close(self, settling_seconds: float = SETTLING_SECONDS) -> frozenset[str] | None:
        """Flush and close both; returns which were in use, or None if one is not sound."""
        self.settle(settling_seconds)
        are_sound = self.vector.status.ready and self.lexical.status.ready
        in_use = frozenset({LEXICAL} if self.vector.rests else {LEXICAL, VECTOR})
        self.vector.close()
        self.lexical.close()
        self._keeper.close()
        reached(FaultPoint.INDEXES_CLOSED)
        return in_use if are_sound else None

    def seal(self, in_use: frozenset[str]) -> None:
        """Record how the files were left, once they are closed; raises StorageError."""
        self._stamps.renew(set(in_use))

    def degraded_parts(self) -> tuple[str, ...]:
        """Why the vector index is not in use; a failing lexical index is reported by the search."""
        reason = self.vector.degraded_reason
        return (f"vector index: {reason}",) if reason else ()

    def drop_unused(self) -> None:
        """Delete the files of an index that the settings no longer name."""
        if self._settings.vector_index == "exact":  # Chroma may have been in use before
            wipe(self._vector_folder)

    # Inside --------------------------------------------------------------------------------

    @property
    def _vector_folder(self) -> Path:
        return self.folders[0]

    @property
    def _lexical_folder(self) -> Path:
        return self.folders[1]

    def _make_vector_index(self) -> FailoverVectorIndex | LoadedExactIndex:
        settings, generation = self._settings, self._stored.generation
        dimension = generation.dimension
        rows = vector_row_source(self._database, generation)
        exact = LoadedExactIndex(dimension, rows, self.searches)
        if settings.vector_index == "exact":
            return exact
        identity = IndexIdentity(settings.chroma_collection_name, dimension, generation.fingerprint)
        return FailoverVectorIndex(
            ChromaStore(self._vector_folder, identity),
            exact,
            vector_source(self._database, generation),
            healing_pauses=self._pauses[VECTOR],
            on_healed=lambda: self._note_healed(VECTOR),
            is_intact=lambda: self._stamps.is_intact(VECTOR),
        )

    def _not_on_disk(self) -> set[str]:
        looked_for = {LEXICAL: (self._lexical_folder, lexical_files)}
        if self._settings.vector_index != "exact":
            looked_for[VECTOR] = (self._vector_folder, index_files)
        return {name for name, (folder, files) in looked_for.items() if not any_file(folder, files)}

    def _note_healed(self, name: str) -> None:
        if name in self._outdated:
            self._outdated.discard(name)
        elif name not in self._being_made:
            self._metrics.observe_healing(name, was_absent=name in self._absent)
            self._absent.discard(name)

    def _distrust_exchanged_words(self) -> None:
        """Distrust files other than those that were closed last: they may be from a backup."""
        if not self._stamps.is_intact(LEXICAL):
            logger.warning("The lexical index is not the one that was closed: it is made anew.")
            self._lexical_store.mark_incomplete()

    def _make_empty_lexical_index(self) -> None:
        """With nothing to index: so that the first search need not wait for the keeper."""
        try:
            self.lexical.rebuild()
        except AppError as error:
            logger.warning("The lexical index is not usable: %s", error.detail)


def index_folders(settings: Settings, generation_id: int) -> tuple[Path, Path]:
    """The folders of a generation's vector index and lexical index.

    Those of the first generation lie directly in the data directory; those of all others in folders
    of their own, which hold nothing else.
    """
    if generation_id == FIRST_GENERATION:
        return settings.chroma_directory, settings.data_dir / "lexical"
    folder = settings.data_dir / GENERATIONS / str(generation_id)
    return folder / "chroma", folder / "lexical"


def any_index(settings: Settings) -> bool:
    """Whether files of an index, of any generation, lie in the data directory."""
    later = settings.data_dir / GENERATIONS
    _, lexical = index_folders(settings, FIRST_GENERATION)
    return any_file(lexical, lexical_files) or any_file(later, lambda path: [*path.iterdir()])


def delete_index_files(settings: Settings, generation_id: int) -> None:
    """Delete the closed indexes of a generation; what cannot be deleted stays."""
    vectors, words = index_folders(settings, generation_id)
    try:
        wipe(vectors)
    except AppError as error:
        logger.warning("%s", error.detail)
    shutil.rmtree(words, ignore_errors=True)
    if generation_id != FIRST_GENERATION:
        shutil.rmtree(vectors.parent, ignore_errors=True)


def delete_other_index_files(settings: Settings, generation_id: int) -> None:
    """Delete the indexes of all generations but this one; at a start none of them is open."""
    folder = settings.data_dir / GENERATIONS
    found = [int(path.name) for path in folder.glob("*") if path.name.isdecimal()]
    for number in {FIRST_GENERATION, *found} - {generation_id}:
        delete_index_files(settings, number)


def _languages(default: str) -> Languages:
    try:
        return Languages(default)
    except ValueError as error:
        raise SettingError(f"LEXICAL_LANGUAGE cannot be used: {error}") from error
