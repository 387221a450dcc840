"""Opens the embedder that the settings name; part of the composition root."""

from contextlib import suppress

from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.openai_embedder import OpenAIEmbedder
from app.adapters.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder
from app.errors import StartupError
from app.protocols import Embedder
from app.settings import Settings


def open_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name; raises StartupError if it cannot be opened."""
    if settings.embedding_provider == "openai":
        return OpenAIEmbedder(
            settings.embedding_model,
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key.get_secret_value(),
            timeout_seconds=settings.embedding_timeout_seconds,
        )
    if settings.embedding_provider == "sentence-transformers":
        return SentenceTransformersEmbedder.open(
            settings.embedding_model,
            threads=settings.embedding_threads,
            allow_download=settings.embedding_allow_download,
        )
    return _open_local(settings, may_write=True)


def open_without_writing(settings: Settings) -> Embedder | None:
    """The local model of the settings if it is already converted and sound; else None."""
    if settings.embedding_provider == "local":
        with suppress(StartupError):
            return _open_local(settings, may_write=False)
    return None


def _open_local(settings: Settings, *, may_write: bool) -> LocalEmbedder:
    return LocalEmbedder.open(
        settings.embedding_model,
        settings.models_directory,
        threads=settings.embedding_threads,
        batch_tokens=settings.embedding_batch_tokens,
        allow_download=settings.embedding_allow_download and may_write,
        may_write=may_write,
    )
