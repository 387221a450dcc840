"""What a source of documents is: it lists them, and reads them as text."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, runtime_checkable

MANY_DOCUMENTS = frozenset({"folder"})
"""The types of items that have a document for each of their files; all others have just one."""


@dataclass(frozen=True)
class LoadedDocument:
    """One document as text, with what its source says about it."""

    content: str
    document_id: str
    """As its frontmatter calls it, else the relative path or the address; not always unique."""
    content_hash: str
    """SHA-256 of the content in UTF-8, in hex."""
    source_uri: str
    title: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    licence: str | None = None
    """SPDX identifier or expression."""
    language: str | None = None
    modified_at: datetime | None = None
    """When it was last changed, by its own account or its server's; with a time zone."""
    warnings: tuple[str, ...] = ()
    first_line: int = 1
    """1-based line of the source at which `content` starts."""
    stamp: str | None = None
    """As in SourceEntry, from a source that tells it only together with the text."""


@dataclass(frozen=True)
class SourceEntry:
    """A document that a source offers, before it is read."""

    key: str
    """Unique within the source and stable between listings: relative path or address."""
    uri: str
    """Where a person finds it: an absolute path or an address."""
    stamp: str | None = None
    """Changes whenever the bytes may have changed (size and times); None: unknown, always read."""
    modified_at: datetime | None = None
    """When the file was last written; with a time zone."""


@dataclass(frozen=True)
class SourceNote:
    """A place in a source, and what to say about it: why it was skipped, or what is odd."""

    uri: str
    reason: str


_NOT_MOUNTED = (
    "the file system that was mounted there is not now; what is known of it stays as it was. Mount "
    "it again; if it is gone for good, leave the place out with .ragignore, or take the item out "
    "of the index and index it again"
)


NO_CONTENT = "No content to index"
"""The detail of the SourceUnreadableError for a document that says nothing; the error of an item
of which nothing could be taken in begins with it."""


@dataclass(frozen=True)
class SourceListing:
    """What a source offers now."""

    entries: tuple[SourceEntry, ...]
    skipped: tuple[SourceNote, ...] = ()
    skipped_unreported: int = 0
    """How many more places were skipped."""
    telling: SourceNote | None = None
    """Of what was skipped, the place that says most about why nothing else may be there."""
    incomplete: tuple[str, ...] = ()
    """Prefixes of keys that could not be listed now: documents below them do not count as gone."""
    mounts: tuple[str, ...] = ()
    """Prefixes of keys at which another file system is mounted; "" for the source itself, and the
    absolute paths of the mount points above it."""
    left_out: tuple[str, ...] = ()
    """Prefixes of keys that rules leave out, whatever is or was mounted there."""

    def without_lost_mounts(self, mounts_before: Collection[str]) -> "SourceListing":
        """The listing, with what is no longer mounted counted as incomplete, and still as a mount.

        Whatever lies at a mount point while its file system is away (nothing, a note, an empty
        folder) says nothing about the files there, and must not replace them. If a mount above the
        source is lost, nothing can be said of any of its files.
        """
        missing = {*mounts_before} - {*self.mounts}
        lost = tuple(sorted(key for key in missing if not key.startswith(self.left_out)))
        hidden = tuple("" if key.startswith("/") else key for key in lost)
        return replace(
            self,
            entries=tuple(entry for entry in self.entries if not entry.key.startswith(hidden)),
            skipped=(*self.skipped, *(SourceNote(key, _NOT_MOUNTED) for key in lost)),
            incomplete=(*self.incomplete, *hidden),
            mounts=(*self.mounts, *lost),
        )


class Source(Protocol):
    """What an item's `uri` points to. Errors are the SourceError family."""

    def scan(self) -> SourceListing:
        """List the documents without reading them."""
        ...

    def read(self, entry: SourceEntry) -> LoadedDocument:
        """Read one listed document."""
        ...


@runtime_checkable
class ConditionalSource(Source, Protocol):
    """A source that can answer that a document has not changed."""

    def read_if_changed(self, entry: SourceEntry, stamp: str) -> LoadedDocument | None:
        """Read a document; None if it has not changed since it had this stamp."""
        ...


@runtime_checkable
class RelistingSource(Source, Protocol):
    """A source whose listing may miss a document that is being replaced just then."""

    def still_there(self, keys: Collection[str]) -> frozenset[str]:
        """Of documents that a listing lacks, those that another one has, or cannot tell of.

        Raises SourceError.
        """
        ...


class SourceOpener(Protocol):
    """Finds the right kind of source for a `uri`."""

    def open(self, uri: str, document_type: str) -> Source:
        """Open a source; raises SourceError when the guards refuse it."""
        ...
