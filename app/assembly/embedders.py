"""Opens the embedder that the settings name; part of the composition root."""

from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.openai_embedder import OpenAIEmbedder
from app.adapters.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder
from app.protocols import Embedder
from app.settings import Settings


def open_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name; raises StartupError when it is not to be had."""
    if settings.embedding_provider == "openai":
        return OpenAIEmbedder(
            settings.embedding_model,
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key.get_secret_value(),
            timeout_seconds=settings.embedding_timeout_seconds,
        )
    if settings.embedding_provider == "sentence-transformers":
        return SentenceTransformersEmbedder.open(
            settings.embedding_model, allow_download=settings.embedding_allow_download
        )
    return LocalEmbedder.open(
        settings.embedding_model,
        settings.models_dir or settings.data_dir / "models",
        threads=settings.embedding_threads,
        batch_tokens=settings.embedding_batch_tokens,
        allow_download=settings.embedding_allow_download,
    )
