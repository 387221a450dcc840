"""Makes an index on disk hold what the exact index holds, while others go on writing."""

from collections.abc import Callable, Sequence
from itertools import islice

from app.adapters.vector_index.exact import ExactVectorIndex
from app.adapters.vector_index.missed_writes import MissedWrites
from app.adapters.vector_index.primary import PrimaryIndex
from app.errors import VectorIndexError
from app.fault_points import FaultPoint, reached
from app.protocols import VectorRecord, VectorSource
from app.slices import slices

FILL_BATCH = 256
"""Records that are written between two looks at what was missed meanwhile."""
COMPARE_BATCH = 500
"""Vectors that are read at a time to compare them."""
SAME_VECTOR = 0.9999
"""Cosine from which on a vector counts as the one that was stored: Chroma normalises again."""
SAMPLED_SEARCHES = 40
LEAST_FOUND = 0.8
"""Share of sampled vectors that must find themselves. Damaged graphs find a part of what they
hold (about half with a truncated length.bin), sound ones miss none or one."""
MENDED_FROM = 0.5
"""An index of which less than this share is right is made anew: that is less work."""


class VectorFilling:
    """One attempt to bring an index up to date.

    `missed` must have been noting since before the exact index was last looked at. `check` is
    called now and then, and raises to end the attempt.
    """

    def __init__(
        self,
        index: PrimaryIndex,
        exact: ExactVectorIndex,
        missed: MissedWrites,
        check: Callable[[], None],
    ) -> None:
        self._index = index
        self._exact = exact
        self._missed = missed
        self._check = check
        self._lacking: set[str] = set()

    def run(self, source: VectorSource) -> int:
        """Compare, then add, replace and remove; gives how many records that took.

        `source` is read only if something is lacking: it knows the metadata, the exact index does
        not. What SQL does not show yet is written without. Raises VectorIndexError: the index
        fails, is mostly wrong, or does not find what it holds.
        """
        held, wanted = self._index.chunk_ids(), self._exact.chunk_ids()
        sound = self._sound_ids(sorted(held & wanted))
        reached(FaultPoint.VECTORS_COMPARED)
        if len(sound) < MENDED_FROM * len(held):
            raise VectorIndexError("Most of what the vector index holds is not what it should.")
        surplus = sorted(held - wanted)
        self._index.remove(surplus)
        self._lacking = wanted - sound
        repaired = len(surplus) + len(self._lacking)
        self._catch_up_and_note()
        if self._lacking:
            for batch in source():
                self._add([record for record in batch if record.chunk_id in self._lacking])
        self._add(self._exact.records(sorted(self._lacking)))
        self._require_that_it_finds_itself()
        return repaired

    def catch_up(self) -> dict[str, VectorRecord | None]:
        """Write what was missed; gives what that was."""
        taken = self._missed.take()
        self._index.upsert([record for record in taken.values() if record is not None])
        self._index.remove([key for key, record in taken.items() if record is None])
        return taken

    def _sound_ids(self, chunk_ids: Sequence[str]) -> set[str]:
        """Ids whose vector the index holds as it should be."""
        sound: set[str] = set()
        for page in slices(chunk_ids, COMPARE_BATCH):
            self._check()
            held = self._index.vectors(page)
            sound.update(
                key
                for key, vector in self._exact.vectors(page).items()
                if key in held and float(vector @ held[key]) >= SAME_VECTOR
            )
        return sound

    def _add(self, records: Sequence[VectorRecord]) -> None:
        for page in slices(records, FILL_BATCH):
            self._check()
            # A write that was caught up with since is newer than what the source gave.
            batch = [record for record in page if record.chunk_id in self._lacking]
            self._index.upsert(batch)
            self._lacking.difference_update(record.chunk_id for record in batch)
            reached(FaultPoint.VECTORS_BATCH_FILLED)
            self._catch_up_and_note()

    def _catch_up_and_note(self) -> None:
        self._lacking.difference_update(self.catch_up())

    def _require_that_it_finds_itself(self) -> None:
        held = self._exact.chunk_ids()
        sample = islice(held, 0, None, max(1, len(held) // SAMPLED_SEARCHES))
        vectors = self._exact.vectors(list(sample)).values()
        found = 0
        for vector in vectors:
            hits = self._index.search(vector, 1)
            found += bool(hits) and hits[0].score >= SAME_VECTOR
        if found < LEAST_FOUND * len(vectors):
            message = f"only {found} of {len(vectors)} searches for what it holds found it"
            raise VectorIndexError(f"The vector index is damaged: {message}.")
