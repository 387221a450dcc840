"""Load and split: finds out what changed at a source, and prepares only that."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from app.errors import (
    AppError,
    SourceError,
    SourceGoneError,
    SourceNotFoundError,
    SourceUnavailableError,
    SourceUnreadableError,
)
from app.indexing.claims import StopSignal
from app.indexing.documents import (
    DocumentDetails,
    KnownDocument,
    PreparedDocument,
    SourceTimes,
    prepare_chunks,
)
from app.indexing.generation import Generation, splitting_rules
from app.protocols import (
    ConditionalSource,
    LoadedDocument,
    RelistingSource,
    Source,
    SourceEntry,
    SourceListing,
    SourceNote,
    TextSplitter,
    TokenMeter,
)
from app.surviving import is_failure

logger = logging.getLogger(__name__)


@dataclass
class Survey:
    """What was found at the source besides the documents to store. Filled while iterating."""

    listing: SourceListing = field(default_factory=lambda: SourceListing(()))
    unreadable: list[SourceNote] = field(default_factory=list)
    """Listed documents that could not be read, and why."""
    warnings: list[SourceNote] = field(default_factory=list)
    """What is odd about documents that were indexed all the same."""
    errors: list[SourceError] = field(default_factory=list)
    """Why listed documents could not be read."""
    restamped: dict[int, SourceTimes] = field(default_factory=dict)
    """New times of documents (by row id) that were touched but say the same."""
    gone: list[KnownDocument] = field(default_factory=list)
    """Documents that the source no longer has, or that say nothing that can be read any more."""
    gone_by_own_account: list[KnownDocument] = field(default_factory=list)
    """Documents of which the source itself says, when asked for them, that they are gone."""
    seen: int = 0
    """Documents looked at so far."""
    loaded: int = 0
    """Documents that were read."""
    split: int = 0
    """Documents that have a new version."""
    chunks: int = 0
    """Chunks of these."""

    @property
    def skipped(self) -> list[SourceNote]:
        """What was skipped: by the listing, as far as it reports that, then as unreadable."""
        return [*self.listing.skipped, *self.unreadable]

    @property
    def skipped_count(self) -> int:
        """How many places were skipped, reported or not."""
        reported = len(self.listing.skipped) + len(self.unreadable)
        return reported + self.listing.skipped_unreported


class DocumentPreparer:
    """Goes through a source's listing and yields the documents that have a new version."""

    def __init__(
        self,
        *,
        item_id: int,
        source: Source,
        listing: SourceListing,
        known: Mapping[str, KnownDocument],
        splitter: TextSplitter,
        token_meter: TokenMeter | None,
        generation: Generation,
        force: bool,
        signal: StopSignal,
    ) -> None:
        self._item_id = item_id
        self._source = source
        self._listing = listing
        self._known = known
        self._splitter = splitter
        self._token_meter = token_meter
        self._generation = generation
        self._rules = splitting_rules(splitter)
        self._force = force
        self._signal = signal
        self.survey = Survey(listing)

    def __iter__(self) -> Iterator[PreparedDocument]:
        """Yield new and changed documents; afterwards the survey is complete."""
        for entry in self._listing.entries:
            self._signal.check()
            document = self._prepare_guarded(entry)
            self.survey.seen += 1
            if document is not None:
                yield document
        self._note_gone()

    def _prepare_guarded(self, entry: SourceEntry) -> PreparedDocument | None:
        """As `_prepare`; a document that trips a bug of ours fails alone, not with the others.

        Its stored version stays.
        """
        try:
            return self._prepare(entry)
        except AppError:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            logger.exception("%s cannot be read because of an unexpected error", entry.uri)
            failure = SourceUnreadableError(
                f"{entry.uri} cannot be read because of a mistake on our side "
                f"({type(error).__name__}); the server's log says more."
            )
            self.survey.errors.append(failure)
            self.survey.unreadable.append(SourceNote(entry.uri, failure.detail))
            return None

    def _prepare(self, entry: SourceEntry) -> PreparedDocument | None:
        known = self._known.get(entry.key)
        # After an upgrade, what the generation in use was cut by are the rules of an older version:
        # a switch cuts all of it anew, and until then what has not changed stays as it is.
        rules = (self._rules, self._generation.rules)
        may_skip = known is not None and known.splitter in rules and not self._force
        if known and may_skip and entry.stamp is not None and entry.stamp == known.stamp:
            return None
        loaded = self._read(entry, known, known.stamp if known and may_skip else None)
        if loaded is None:
            return None
        if loaded.stamp is not None:
            entry = replace(entry, stamp=loaded.stamp)
        if known and may_skip and DocumentDetails.of(loaded) == known.details:
            self.survey.restamped[known.id] = SourceTimes.of(entry, loaded)
            return None
        chunks = self._splitter.split_text(loaded.content, name=entry.key)
        prepared = prepare_chunks(
            self._item_id, entry.key, loaded, chunks, self._token_meter, self._generation
        )
        self.survey.split += 1
        self.survey.chunks += len(prepared)
        return PreparedDocument(entry, loaded, self._rules, prepared)

    def _read(
        self, entry: SourceEntry, known: KnownDocument | None, stamp: str | None
    ) -> LoadedDocument | None:
        """Read a document; None if it is unchanged since it had this stamp, or unreadable."""
        try:
            if stamp is not None and isinstance(self._source, ConditionalSource):
                loaded = self._source.read_if_changed(entry, stamp)
            else:
                loaded = self._source.read(entry)
        except SourceError as error:
            self.survey.errors.append(error)
            self.survey.unreadable.append(SourceNote(entry.uri, error.detail))
            # A source that did not answer may come back; a document without text has none to find.
            if known and not isinstance(error, SourceUnavailableError | SourceNotFoundError):
                self.survey.gone.append(known)
            if known and isinstance(error, SourceGoneError):
                self.survey.gone_by_own_account.append(known)
            return None
        if loaded is None:
            return None
        self.survey.loaded += 1
        self.survey.warnings += [SourceNote(entry.uri, warning) for warning in loaded.warnings]
        return loaded

    def _note_gone(self) -> None:
        listed = {entry.key for entry in self._listing.entries}
        hidden = tuple(self._listing.incomplete)
        gone = {
            key: document
            for key, document in self._known.items()
            if key not in listed and not key.startswith(hidden)
        }
        if gone and isinstance(self._source, RelistingSource):
            for key in self._source.still_there(gone):
                del gone[key]
        self.survey.gone += gone.values()
