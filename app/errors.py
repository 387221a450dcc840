"""Every error that a client can receive.

AppError
├── NotFoundError (404)              there is no such item, job, …
├── InvalidRequestError (422)        a value that the schema alone cannot refuse
├── ForbiddenRequestError (403)      called under a foreign name, or from a foreign page
├── RequestTooLargeError (413)       the body is larger than is read
├── ConflictError (409)              it contradicts what is stored
│   └── WorkStoppedError             the job was cancelled while it ran
│       └── ItemStoppedError         the item was deleted, or taken out of the index, meanwhile
├── UnavailableError (503)           a part of the service cannot answer now
│   ├── StoppingError                the service is about to end
│   ├── OverloadedError              more is asked for than is done or kept waiting
│   ├── EmbeddingError               the model or its endpoint failed
│   │   └── EmbeddingRefusedError    the endpoint refuses, and will again
│   ├── VectorIndexError             the vector index failed
│   └── LexicalIndexError            the lexical index failed
│       └── LexicalIndexAwayError    it is being made, or was set aside
├── StorageError (507)               the data directory is full, read-only or locked
│   └── DatabaseUnavailableError (503)  PostgreSQL does not answer now
├── SourceError (422)                a document's source cannot be read; shown in `error`
│   ├── SourceNotFoundError          nothing is there
│   │   └── SourceGoneError          … says the source itself: what is known of it goes too
│   ├── SourceRefusedError           the path or fetch guard refused it
│   ├── SourceUnreadableError        it is there, but no text can be had from it
│   └── SourceUnavailableError       it did not answer (now): never a reason to delete
└── StartupError (500)               the service cannot start; for the command line
    └── SettingError                 … for a setting, which only its user can mend
"""

from typing import ClassVar, Literal


class AppError(Exception):
    """An error with a message for the person who caused it: what is wrong, and what to do.

    `detail` is for that person alone where it quotes what may quote a query. The log has `logged`
    instead, and so has a traceback: that is what `str` gives.
    """

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal-error"
    title: ClassVar[str] = "Internal error"
    is_transient: ClassVar[bool] = False
    """Whether it may pass by itself, so that the same is worth trying again later."""
    is_told: ClassVar[bool] = False
    """Whether nothing failed, or the log says so already: it needs no line for each request."""

    def __init__(self, detail: str, *, logged: str | None = None) -> None:
        self.logged = detail if logged is None else logged
        super().__init__(self.logged)
        self.detail = detail


class NotFoundError(AppError):
    """What the path names does not exist."""

    status = 404
    slug = "not-found"
    title = "Not found"


class InvalidRequestError(AppError):
    """A value that is well-formed but cannot be used; `pointer` says where it stands."""

    status = 422
    slug = "invalid-request"
    title = "Invalid request"

    def __init__(
        self, detail: str, pointer: str, location: Literal["body", "query", "path"] = "query"
    ) -> None:
        super().__init__(detail)
        self.pointer = pointer
        self.location: Literal["body", "query", "path"] = location


class ForbiddenRequestError(AppError):
    """The request came under a name or from a page that is not allowed."""

    status = 403
    slug = "forbidden"
    title = "Forbidden"


class RequestTooLargeError(AppError):
    """The body is larger than MAX_REQUEST_BYTES."""

    status = 413
    slug = "request-too-large"
    title = "Request too large"


class ConflictError(AppError):
    """The request contradicts what is stored."""

    status = 409
    slug = "conflict"
    title = "Conflict"


class WorkStoppedError(ConflictError):
    """Indexing stopped half-way because somebody cancelled it."""

    slug = "stopped"
    title = "Stopped"


class ItemStoppedError(WorkStoppedError):
    """Indexing an item stopped half-way because the item was deleted or taken out of the index."""

    def __init__(
        self,
        detail: str = "Indexing was stopped: the item was deleted or removed from the index.",
    ) -> None:
        super().__init__(detail)


class UnavailableError(AppError):
    """A part of the service cannot answer now."""

    status = 503
    slug = "unavailable"
    title = "Temporarily unavailable"
    is_transient = True


class StoppingError(UnavailableError):
    """The service is about to end, and does nothing more."""

    is_told = True

    def __init__(
        self, detail: str = "The service is stopping; try again when it has restarted."
    ) -> None:
        super().__init__(detail)


class OverloadedError(UnavailableError):
    """More is asked for than is done side by side or kept waiting."""

    slug = "overloaded"
    title = "Too much at once"
    is_told = True


class EmbeddingError(UnavailableError):
    """The embedding model or its endpoint failed."""

    slug = "embedding-failed"
    title = "Embedding failed"


class EmbeddingRefusedError(EmbeddingError):
    """The endpoint refuses the key, the model or the request: it will again."""

    is_transient = False


class VectorIndexError(UnavailableError):
    """The vector index failed."""

    slug = "vector-index-failed"
    title = "Vector index failed"


class LexicalIndexError(UnavailableError):
    """The lexical index failed."""

    slug = "lexical-index-failed"
    title = "Lexical index failed"


class LexicalIndexAwayError(LexicalIndexError):
    """There is no lexical index to ask now: it is being made or compared, or was set aside."""

    is_told = True


class StorageError(AppError):
    """The data directory is full, read-only or locked."""

    status = 507
    slug = "storage"
    title = "Storage problem"
    is_transient = True


class DatabaseUnavailableError(StorageError):
    """The database is restarting or out of reach, or all its connections are in use."""

    status = 503
    slug = "unavailable"
    title = "Temporarily unavailable"


class SourceError(AppError):
    """A document's source cannot be read."""

    status = 422
    slug = "source"
    title = "Source cannot be read"


class SourceNotFoundError(SourceError):
    """Nothing is there: no such file or folder, no such page."""


class SourceGoneError(SourceNotFoundError):
    """The source itself says that there is nothing (404, 410): what is known of it goes too."""


class SourceRefusedError(SourceError):
    """The path guard or the fetch guard refused the address."""


class SourceUnreadableError(SourceError):
    """Something is there, but no text can be had from it (binary, too large, empty, forbidden)."""


class SourceUnavailableError(SourceError):
    """The source did not answer (time-out, connection, 5xx): says nothing about its content.

    `retry_after_seconds`: how long it asked to be left alone, if it did; `address`: of what asked,
    which after a redirect is another host than the item's.
    """

    is_transient = True

    def __init__(
        self,
        detail: str,
        retry_after_seconds: float | None = None,
        address: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds
        self.address = address


class StartupError(AppError):
    """The service cannot start, or a command cannot run."""

    slug = "startup"
    title = "Cannot start"


class SettingError(StartupError):
    """A setting has a value that can be used nowhere, which only its user could tell."""
