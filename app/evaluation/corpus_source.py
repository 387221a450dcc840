"""Hands a corpus to the indexing pipeline, as if each group of documents were a folder."""

import hashlib
from collections.abc import Mapping, Sequence

from app.adapters.loading.text_document import content_hash
from app.errors import SourceNotFoundError, SourceUnreadableError
from app.evaluation.question_set import CorpusDocument
from app.protocols import NO_CONTENT, LoadedDocument, Source, SourceEntry, SourceListing


class CorpusSource:
    """The documents of one group; implements Source. A document's address is its id."""

    def __init__(self, documents: Sequence[CorpusDocument]) -> None:
        self._documents = {document.key: document for document in documents}

    def scan(self) -> SourceListing:
        """List the documents; a stamp is a hash of title and text."""
        return SourceListing(
            tuple(
                SourceEntry(document.key, document.id, _stamp(document))
                for document in self._documents.values()
            )
        )

    def read(self, entry: SourceEntry) -> LoadedDocument:
        """One document; raises SourceUnreadableError when it has no text."""
        document = self._documents[entry.key]
        if not document.text.strip():
            raise SourceUnreadableError(NO_CONTENT)
        return LoadedDocument(
            content=document.text,
            document_id=document.key,
            content_hash=content_hash(document.text),
            source_uri=document.id,
            title=document.title,
        )


class CorpusSources:
    """Finds the group that an item's `uri` names; implements SourceOpener."""

    def __init__(self, groups: Mapping[str, Sequence[CorpusDocument]]) -> None:
        """`groups` has the documents of each item by its uri."""
        self._groups = groups

    def open(self, uri: str, document_type: str) -> Source:  # noqa: ARG002 - the protocol's
        """The documents of an item; raises SourceNotFoundError."""
        documents = self._groups.get(uri)
        if documents is None:
            raise SourceNotFoundError(f"The question set has no documents {uri}.")
        return CorpusSource(documents)


def _stamp(document: CorpusDocument) -> str:
    return hashlib.sha256(f"{document.title}\0{document.text}".encode()).hexdigest()
