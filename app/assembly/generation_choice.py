"""Finds which generation and model answer at a start, and which one the settings want."""

from collections.abc import Callable
from dataclasses import dataclass

from app.assembly.generation_parts import splitter_of_settings
from app.database import Database
from app.errors import AppError, StartupError
from app.generations import queries
from app.generations.records import StoredGeneration
from app.indexing.generation import splitting_rules
from app.protocols import Embedder
from app.settings import Settings

OpenEmbedder = Callable[[Settings], Embedder]


@dataclass(frozen=True)
class GenerationChoice:
    """What a start has found. Both embedders are the same object if the model is the same."""

    current: StoredGeneration
    embedder: Embedder
    """Of the current one."""
    wanted: StoredGeneration
    wanted_embedder: Embedder

    @property
    def needs_renewal(self) -> bool:
        """Whether the settings want another generation than the one that answers."""
        return self.wanted.generation != self.current.generation


def choose_generation(
    settings: Settings,
    database: Database,
    wanted_embedder: Embedder,
    open_embedder: OpenEmbedder,
    *,
    any_model: bool,
) -> GenerationChoice:
    """Find the generation that answers, and open its model; the first one is made here.

    With `any_model`, the former model is not opened, and the model of the settings stands in for
    it: for work that embeds everything again. Raises StartupError if a model cannot be opened.
    """
    rules = splitting_rules(splitter_of_settings(settings, wanted_embedder))
    provider = settings.embedding_provider
    with database.write() as session:
        current = queries.current(session)
        is_empty = not queries.count_documents(session)
        if is_empty and current is not None:
            queries.forget(session)  # nothing is stored: there is nothing to switch from
        wanted = queries.add_generation(session, wanted_embedder, provider, rules)
        if is_empty or current is None:
            queries.make_current(session, wanted.generation.id)
            return GenerationChoice(wanted, wanted_embedder, wanted, wanted_embedder)
        queries.forget_empty(session, but=wanted.generation.id)
    fingerprint = current.generation.fingerprint
    if any_model or fingerprint == wanted_embedder.fingerprint:
        return GenerationChoice(current, wanted_embedder, wanted, wanted_embedder)
    embedder = _open_former(settings, current, open_embedder)
    return GenerationChoice(current, embedder, wanted, wanted_embedder)


def _open_former(
    settings: Settings, current: StoredGeneration, open_embedder: OpenEmbedder
) -> Embedder:
    """The model of what is stored, which answers until everything is embedded again."""
    advice = (
        f"What is stored was embedded by the model {current.embedding_model!r}, which answers "
        f"until everything is embedded by {settings.embedding_model!r}. It cannot be opened any "
        "more: {reason} Set EMBEDDING_MODEL back, or run `groundwork rebuild --embed` to embed "
        "everything again while nothing is served."
    )
    changes = {
        "embedding_model": current.embedding_model,
        "embedding_provider": current.embedding_provider or settings.embedding_provider,
    }
    try:
        embedder = open_embedder(settings.model_copy(update=changes))
        fingerprint = embedder.fingerprint
    except AppError as error:
        raise StartupError(advice.format(reason=error.detail)) from error
    if fingerprint != current.generation.fingerprint:
        embedder.close()
        reason = "under that name there is another model now."
        raise StartupError(advice.format(reason=reason))
    return embedder
