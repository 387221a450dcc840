"""Opens the service as a library: a container from what RAGService's own constructor is given."""

from pathlib import Path

from app.container import Container
from app.settings import settings_from_environment


def open_as_library(
    persist_directory: str | Path | None,
    collection_name: str | None,
    chunk_size: int | None,
    chunk_overlap: int | None,
    embedding_model: str | None,
) -> Container:
    """A container for RAGService's own constructor; what is None comes from the environment."""
    given: dict[str, object] = {
        "chroma_collection_name": collection_name,
        "chunk_size": chunk_size,
        "overlap": chunk_overlap,
        "embedding_model": embedding_model,
    }
    if persist_directory is not None:
        folder = Path(persist_directory)
        # The specification's users name the folder of Chroma; SQL lies beside it, not in it.
        given["data_dir"] = folder.parent if folder.name == "chroma" else folder
        given["chroma_persist_directory"] = ""
    known = {name: value for name, value in given.items() if value is not None}
    return Container.open(settings_from_environment(**known))
