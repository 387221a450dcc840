"""Embeds again what SQL holds no sound vector of, and has both indexes follow."""

from collections.abc import Sequence

from app.database import Database
from app.indexing import maintenance_queries
from app.indexing.embedded_text import embedded_text
from app.indexing.embedding import TextsUnderWay, embed_unknown
from app.indexing.generation import Generation
from app.knowledge.index_changes import note_chunks
from app.protocols import Embedder
from app.slices import slices
from app.stored_vectors import sound_vector


class VectorRepair:
    """For the chunks of one generation; others may index meanwhile."""

    def __init__(
        self,
        *,
        database: Database,
        embedder: Embedder,
        generation: Generation,
        under_way: TextsUnderWay | None = None,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._generation = generation
        self._under_way = under_way

    @property
    def has_the_model(self) -> bool:
        """Whether the model that is open is the one that embedded the rest."""
        return self._embedder.fingerprint == self._generation.fingerprint

    def embed(self, chunk_ids: Sequence[str]) -> None:
        """Embed what these chunks lack; the publisher's next change brings it into the indexes.

        Raises EmbeddingError, StorageError: what was stored before that stays, and is brought
        there, too.
        """
        with self._database.read() as session:
            rows = maintenance_queries.texts_of(session, chunk_ids)
        texts = {hash_: embedded_text(context, text) for _, hash_, context, text in rows}
        try:
            embed_unknown(self._database, self._embedder, texts, under_way=self._under_way)
        finally:
            with self._database.write() as session:
                note_chunks(session, [row[0] for row in rows])

    def are_sound(self, chunk_ids: Sequence[str]) -> dict[str, bool]:
        """Whether each of the chunks has a sound vector; those that are gone are left out."""
        with self._database.read() as session:
            return {
                state.id: sound_vector(state.vector, self._generation.dimension) is not None
                for some in slices(chunk_ids)
                for state in maintenance_queries.states_of(session, some, self._generation)
            }
