"""Loads all documents of a `uri` at once, for programs that use the service as a library."""

import logging

import anyio.to_thread

from app.adapters.loading.sources import Sources
from app.errors import SourceNotFoundError, SourceRefusedError, SourceUnreadableError
from app.protocols import MANY_DOCUMENTS, LoadedDocument, SourceOpener
from app.settings import settings_from_environment

logger = logging.getLogger(__name__)


class DocumentLoader:
    """Loads documents from files, folders and web pages.

    `timeout` is the longest that fetching a page may take, in seconds. Without `sources`, roots
    and limits come from the settings (the environment and `.env`), and `timeout` counts; given
    `sources` bring their own.
    """

    def __init__(self, timeout: float = 30.0, sources: SourceOpener | None = None) -> None:
        self._sources = sources or Sources.from_settings(
            settings_from_environment(), fetch_timeout_seconds=timeout
        )

    async def load(self, uri: str, document_type: str) -> list[LoadedDocument]:
        """Load everything that `uri` names, on a worker thread.

        `document_type` is markdown, folder or website. Documents of a folder that are gone, hold no
        text or are too large are left out, with a warning in the log. Raises SourceError when the
        source itself cannot be read, or holds a single document and that cannot, and
        SourceUnavailableError for a document that cannot be read now, as without permission.
        """
        return await anyio.to_thread.run_sync(self._load, uri, document_type)

    def _load(self, uri: str, document_type: str) -> list[LoadedDocument]:
        source = self._sources.open(uri, document_type)
        entries = source.scan().entries
        if document_type not in MANY_DOCUMENTS:
            return [source.read(entry) for entry in entries]
        documents = []
        for entry in entries:
            try:
                documents.append(source.read(entry))
            except (SourceNotFoundError, SourceRefusedError, SourceUnreadableError) as error:
                logger.warning("%s is left out: %s", entry.uri, error.detail)
        return documents
