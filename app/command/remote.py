"""A running server, over HTTP."""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from app.command.backend import ITEMS_A_PAGE, Postponed
from app.errors import AppError, UnavailableError
from app.indexing import results
from app.jobs.records import ENDED_STATES
from app.jobs.schemas import Job
from app.knowledge.items import ItemStatus
from app.knowledge.schemas import Item, ItemCreate, ItemPage, ItemUpdate
from app.protocols import Progress, ProgressListener, SourceNote
from app.rag.answer_schemas import SearchAnswer
from app.rag.generation_schemas import GenerationList
from app.rag.schemas import CollectionStats, IndexingResult
from app.rag.search_schemas import SearchBody
from app.trusted_authorities import tls_context

API = "/api/v1"
POLL_SECONDS = 0.3
CONNECT_TIMEOUT_SECONDS = 5.0
ANSWER_TIMEOUT_SECONDS = 60.0
"""Every call answers at once but those that wait for a busy disk; indexing runs as a job."""

Schema = TypeVar("Schema", bound=BaseModel)


class RemoteBackend:
    """A Backend that calls a server. What goes wrong is an AppError with the server's words."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def page(
        self, status: ItemStatus | None, category: str | None, text: str | None, cursor: str | None
    ) -> ItemPage:
        """One page of items; `text` stands in title or uri."""
        wanted = {"status": status, "category": category, "q": text, "cursor": cursor}
        query = {name: value for name, value in wanted.items() if value is not None}
        return self._call(ItemPage, "GET", "/knowledge", query={**query, "limit": ITEMS_A_PAGE})

    def item(self, knowledge_id: int) -> Item:
        """One item."""
        return self._call(Item, "GET", f"/knowledge/{knowledge_id}")

    def create(self, item: ItemCreate) -> Item:
        """Add an item."""
        return self._call(Item, "POST", "/knowledge", body=item)

    def update(self, knowledge_id: int, changes: ItemUpdate) -> Item:
        """Change the fields that were given."""
        return self._call(Item, "PATCH", f"/knowledge/{knowledge_id}", body=changes)

    def remove(self, knowledge_id: int) -> None:
        """Delete an item with everything indexed from it."""
        self._send("DELETE", f"/knowledge/{knowledge_id}")

    def index(
        self, knowledge_id: int, *, force: bool, progress: ProgressListener
    ) -> IndexingResult:
        """Index an item as a job of the server; Ctrl-C cancels the job."""
        query = {"wait": False, "force": force}
        job = self._call(Job, "POST", f"/rag/index/{knowledge_id}", query=query)
        promised = job.retries  # one that failed before is taken, and tried now
        try:
            while job.state not in ENDED_STATES and job.retries <= promised:
                time.sleep(POLL_SECONDS)
                job = self._call(Job, "GET", f"/jobs/{job.id}")
                progress(_progress(job))
        except KeyboardInterrupt:
            self._send("POST", f"/jobs/{job.id}/cancel")
            raise
        if job.state in ENDED_STATES and job.result is not None:
            return self._read(IndexingResult, job.result)
        return _failure(knowledge_id, job)

    def search(self, body: SearchBody) -> SearchAnswer:
        """Find the chunks that answer a question."""
        return self._call(SearchAnswer, "POST", "/rag/search", body=body)

    def stats(self) -> CollectionStats:
        """Count what is stored."""
        return self._call(CollectionStats, "GET", "/rag/stats")

    def generations(self) -> GenerationList:
        """Which model and splitter made what is stored, and how far a change is."""
        return self._call(GenerationList, "GET", "/rag/generations")

    def drop_generation(self, generation_id: int) -> None:
        """Drop a kept generation."""
        self._send("DELETE", f"/rag/generations/{generation_id}")

    def _call(
        self,
        schema: type[Schema],
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | bool] | None = None,
        body: BaseModel | None = None,
    ) -> Schema:
        """Send a request and read its answer."""
        response = self._send(method, path, query=query, body=body)
        try:
            content = response.json()
        except ValueError as error:
            raise self._stranger() from error
        return self._read(schema, content)

    def _read(self, schema: type[Schema], content: object) -> Schema:
        try:
            return schema.model_validate(content)
        except ValidationError as error:
            raise self._stranger() from error

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | bool] | None = None,
        body: BaseModel | None = None,
    ) -> httpx.Response:
        """Send a request; raises AppError unless it succeeds."""
        content = None if body is None else body.model_dump(mode="json", exclude_unset=True)
        try:
            response = self._client.request(method, f"{API}{path}", params=query, json=content)
        except httpx.TimeoutException as error:
            message = f"The server at {self._address} took too long to answer."
            raise UnavailableError(message) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise UnavailableError(self._unreachable(error)) from error
        if not response.is_success:
            raise AppError(self._detail(response))
        return response

    @property
    def _address(self) -> httpx.URL:
        """Of the server, for messages: without a name and password for a proxy."""
        return self._client.base_url.copy_with(username=None, password=None)

    def _unreachable(self, error: Exception) -> str:
        """Why nobody could be asked, and what to do about it."""
        reason = str(error).rstrip(".")
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            given = os.environ.get("SSL_CERT_FILE")
            return (
                f"The certificate of the server at {self._address} is not trusted here: {reason}. "
                "If an authority of your own has signed it, name the PEM file with that "
                f"authority's certificate in SSL_CERT_FILE (which is {given or 'not set'} now), or "
                "add it to those that this machine trusts."
            )
        if reason.startswith("[SSL"):
            return f"The server at {self._address} does not speak https: {reason}."
        if isinstance(error, httpx.ConnectError):
            return (
                f"No server answers at {self._address}. Start one with `groundwork serve`, "
                "or leave --url out to open the data directory itself."
            )
        return f"The server at {self._address} cannot be called: {reason}."

    def _detail(self, response: httpx.Response) -> str:
        """The server's own words for what is wrong."""
        try:
            problem: Any = response.json()
        except ValueError:
            problem = None
        if isinstance(problem, dict) and isinstance(problem.get("detail"), str):
            return str(problem["detail"])
        answer = f"{self._address} answered {response.status_code}: {response.reason_phrase}."
        if response.has_redirect_location:
            answer += f" It leads to {response.headers['location']}."
        return answer

    def _stranger(self) -> AppError:
        return AppError(f"What answers at {self._address} is no Groundwork server.")


def _progress(job: Job) -> Progress:
    counts = job.progress.model_dump(exclude={"skipped"})
    skipped = tuple(SourceNote(note.uri, note.reason) for note in job.progress.skipped)
    return Progress(**counts, skipped=skipped)


def _failure(knowledge_id: int, job: Job) -> IndexingResult:
    error = job.error or "The job was cancelled."
    failure = results.IndexingResult(success=False, knowledge_id=knowledge_id, error=error)
    result = IndexingResult.model_validate(failure)
    if job.not_before is None:
        return result
    promise = f"{error} The server tries again by itself (job {job.id})."
    return Postponed.model_validate(result.model_dump() | {"error": promise, "reason": error})


@contextmanager
def open_remote(url: str) -> Iterator[RemoteBackend]:
    """Call the server at an address, or at that of its API, for the block.

    `http://` may be left out.
    """
    address = (url if "://" in url else f"http://{url}").rstrip("/").removesuffix(API)
    timeout = httpx.Timeout(ANSWER_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS)
    try:
        # No proxy and no .netrc from the environment: what is asked is nobody else's business.
        client = httpx.Client(
            base_url=address, timeout=timeout, trust_env=False, verify=tls_context()
        )
    except httpx.InvalidURL as error:
        reason = str(error).rstrip(".")
        shown = re.sub(r"//[^/]*@", "//", url)
        raise UnavailableError(f"{shown!r} is not the address of a server: {reason}.") from error
    with client:
        yield RemoteBackend(client)
