"""Where the Chroma index of a data directory comes from: opened if sound, else made anew."""

from pathlib import Path

from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.adapters.vector_index.chroma_files import (
    IndexIdentity,
    is_complete,
    mark_complete,
    mark_incomplete,
    wipe,
)
from app.adapters.vector_index.probe import probe_chroma
from app.errors import VectorIndexError

PROBE_TIMEOUT_SECONDS = 60.0


class ChromaStore:
    """Opens and remakes the Chroma index in `directory`; the primary of a FailoverVectorIndex.

    `probe_first` is for after an unclean stop: the index is tried out in a child process before
    this process dares to open it.
    """

    name = "chroma"

    def __init__(
        self, directory: Path, identity: IndexIdentity, *, probe_first: bool = False
    ) -> None:
        self._directory = directory
        self._identity = identity
        self._probe_first = probe_first

    def open(self) -> ChromaVectorIndex:
        """Open what is there; VectorIndexError when it is missing, incomplete or damaged."""
        if not is_complete(self._directory, self._identity):
            raise VectorIndexError("The vector index has not been built yet for this model.")
        name = self._identity.collection_name
        if self._probe_first:
            reason = probe_chroma(self._directory, name, PROBE_TIMEOUT_SECONDS)
            if reason is not None:
                raise VectorIndexError(f"The vector index did not pass its probe: {reason}")
        return ChromaVectorIndex.open(self._directory, name, self._identity.dimension)

    def recreate(self) -> ChromaVectorIndex:
        """Delete what is there, unopened, and make an empty index, which counts as incomplete."""
        wipe(self._directory)
        return ChromaVectorIndex.open(
            self._directory, self._identity.collection_name, self._identity.dimension
        )

    def mark_complete(self) -> None:
        """Note that the index holds what SQL holds, so that it may be opened next time."""
        mark_complete(self._directory, self._identity)

    def mark_incomplete(self) -> None:
        """Note that the index lacks something, so that it is built anew next time."""
        mark_incomplete(self._directory)
