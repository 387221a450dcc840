"""Where the Chroma index of a data directory comes from: opened, or made anew."""

from pathlib import Path

from app.adapters.index_files import any_file
from app.adapters.vector_index.child_connection import TimeLimits
from app.adapters.vector_index.chroma_files import (
    IndexIdentity,
    index_files,
    is_complete,
    mark_complete,
    mark_incomplete,
)
from app.adapters.vector_index.chroma_process import ChromaProcessIndex
from app.adapters.vector_index.primary import NoVectorIndexError
from app.fault_points import FaultPoint, reached


class ChromaStore:
    """Opens and remakes the Chroma index in `directory`, each time in a new process.

    The primary of a FailoverVectorIndex. Nothing is done until it is asked to.
    """

    name = "chroma"

    def __init__(
        self, directory: Path, identity: IndexIdentity, limits: TimeLimits | None = None
    ) -> None:
        self._directory = directory
        self._identity = identity
        self._limits = limits or TimeLimits()

    def is_complete(self) -> bool:
        """Whether the index is noted to hold what SQL holds for this model."""
        return is_complete(self._directory, self._identity)

    def open(self) -> ChromaProcessIndex:
        """Open what is there; VectorIndexError when it is missing, damaged or made for others."""
        if not any_file(self._directory, index_files):
            raise NoVectorIndexError("The vector index has not been built yet.")
        return self._start(anew=False)

    def recreate(self) -> ChromaProcessIndex:
        """Delete what is there, unopened, and make an empty index, which counts as incomplete."""
        index = self._start(anew=True)
        reached(FaultPoint.VECTORS_RECREATED)
        return index

    def mark_complete(self) -> None:
        """Note that the index holds what SQL holds, so that it may be trusted next time."""
        mark_complete(self._directory, self._identity)

    def mark_incomplete(self) -> None:
        """Note that the index lacks something, so that it is compared or built anew next time."""
        mark_incomplete(self._directory)

    def _start(self, *, anew: bool) -> ChromaProcessIndex:
        return ChromaProcessIndex.start(
            self._directory,
            self._identity.collection_name,
            self._identity.dimension,
            anew=anew,
            limits=self._limits,
        )
