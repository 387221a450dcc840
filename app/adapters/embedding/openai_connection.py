"""Sends requests to an OpenAI-compatible endpoint, and tries again what may pass by itself."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from app.adapters.embedding.openai_answers import refusal_of
from app.adapters.embedding.timed_transport import TimedTransport
from app.adapters.retry_after import retry_after_seconds
from app.chance import draw
from app.errors import EmbeddingError, SettingError
from app.trusted_authorities import tls_context

logger = logging.getLogger(__name__)

OPENAI_HOST = "api.openai.com"
CLOSED = "The connection to the embedding endpoint has been closed."

ATTEMPTS = 4
RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 20.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""128 vectors of 8,192 numbers, written out in full, are about 25 MB."""

Pause = Callable[[float], bool]
"""Waits so many seconds; True if the connection was closed meanwhile."""


class _RetriableError(Exception):
    """This attempt failed in a way that another one may not; `str` gives what may be logged."""

    def __init__(
        self, reason: str, delay_seconds: float | None = None, *, logged: str | None = None
    ) -> None:
        super().__init__(reason if logged is None else logged)
        self.reason = reason
        self.delay_seconds = delay_seconds


class OpenAIConnection:
    """`POST {base_url}/embeddings` from many threads. Opening it calls nobody.

    `timeout_seconds` bounds each request with its answer as a whole. Raises SettingError for an
    address or a key that cannot be used.
    """

    def __init__(
        self, base_url: str, api_key: str, *, timeout_seconds: float, wait: Pause | None = None
    ) -> None:
        api_key = api_key.strip()  # a blank behind it is refused by HTTP, which quotes it
        self.host = _checked_host(base_url, api_key)
        address = httpx.URL(f"{base_url.rstrip('/')}/embeddings")
        user = httpx.BasicAuth(address.username, address.password) if address.userinfo else None
        self._address = address.copy_with(userinfo=b"")  # httpx logs it, at DEBUG
        self._api_key = api_key
        self._timeout_seconds = timeout_seconds
        self._closed = threading.Event()
        self._under_way = 0
        self._under_way_lock = threading.Lock()
        self._wait: Pause = wait or self._closed.wait
        # The endpoint is the operator's own choice, so the fetch guard does not apply; but neither
        # a proxy variable nor a redirect may send texts and key anywhere else.
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            auth=user,
            timeout=timeout_seconds,
            follow_redirects=False,
            trust_env=False,
            transport=TimedTransport(tls_context()),
        )

    def post(self, body: Mapping[str, Any]) -> bytes:
        """The answer to a body of JSON, once there is one.

        Raises EmbeddingError: refused, failed ATTEMPTS times, or closed.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._request_under_way():
                    return self._attempt(body)
            except _RetriableError as failure:
                if attempt == ATTEMPTS:
                    raise self._gave_up(failure) from failure
                delay_seconds = _delay_seconds(failure, attempt)
                logger.warning(
                    "embedding endpoint %s: %s; trying again in %.1f s",
                    self.host,
                    failure,
                    delay_seconds,
                )
                if self._wait(delay_seconds):
                    raise EmbeddingError(CLOSED) from None
        raise AssertionError("unreachable")

    def require_open(self) -> None:
        """Raise EmbeddingError once it is closed."""
        if self._closed.is_set():
            raise EmbeddingError(CLOSED)

    def close(self) -> None:
        """Release connections; waiting calls fail with EmbeddingError. Twice is no error.

        A request under way is not torn off (a socket that is closed under a reading thread never
        wakes it) but gets its answer or its timeout, and releases the connections then.
        """
        self._closed.set()
        with self._under_way_lock:
            if self._under_way == 0:
                self._client.close()

    @contextmanager
    def _request_under_way(self) -> Iterator[None]:
        with self._under_way_lock:
            self.require_open()
            self._under_way += 1
        try:
            yield
        finally:
            with self._under_way_lock:
                self._under_way -= 1
                if self._closed.is_set() and self._under_way == 0:
                    self._client.close()

    def _attempt(self, body: Mapping[str, Any]) -> bytes:
        try:
            with self._client.stream("POST", self._address, json=body) as response:
                answer = self._read(response)
        except httpx.TimeoutException as error:
            raise _RetriableError(f"no answer within {self._timeout_seconds:g} s") from error
        except httpx.RemoteProtocolError as error:  # it quotes what came
            raise _RetriableError(str(error), logged=type(error).__name__) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise _RetriableError(str(error) or type(error).__name__) from error
        if response.status_code in RETRIED_STATUSES:
            pause = retry_after_seconds(response.headers.get("Retry-After"), datetime.now(UTC))
            raise _RetriableError(f"HTTP {response.status_code}", pause)
        if response.status_code != 200:
            raise refusal_of(self.host, response.status_code, answer, self._api_key)
        return answer

    def _read(self, response: httpx.Response) -> bytes:
        answer = bytearray()
        for block in response.iter_bytes():
            answer += block
            if len(answer) > MAX_ANSWER_BYTES:
                raise EmbeddingError(
                    f"The embedding endpoint {self.host} gave an answer without end."
                )
        return bytes(answer)

    def _gave_up(self, failure: _RetriableError) -> EmbeddingError:
        failed = f"The embedding endpoint {self.host} failed {ATTEMPTS} times"
        advice = "Check that it runs, and OPENAI_BASE_URL."
        return EmbeddingError(
            f"{failed}: {failure.reason}. {advice}", logged=f"{failed}: {failure}. {advice}"
        )


def _delay_seconds(failure: _RetriableError, attempt: int) -> float:
    """What the endpoint asked for, else longer after each attempt; never very long."""
    delay_seconds = failure.delay_seconds
    if delay_seconds is None:
        backoff = FIRST_DELAY_SECONDS * 2 ** (attempt - 1)
        delay_seconds = backoff * (0.8 + 0.4 * draw())
    return min(delay_seconds, LONGEST_DELAY_SECONDS)


def _checked_host(base_url: str, api_key: str) -> str:
    try:
        httpx.URL(base_url)
        parts = urlsplit(base_url)
        host = parts.netloc.rpartition("@")[2].lower()
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx.InvalidURL):
        usable = False
    if not usable:
        raise SettingError(
            "OPENAI_BASE_URL must be an http or https address, such as https://api.openai.com/v1."
        )
    if parts.hostname == OPENAI_HOST and not api_key:
        raise SettingError(
            "EMBEDDING_PROVIDER=openai needs OPENAI_API_KEY for api.openai.com; for another "
            "endpoint set OPENAI_BASE_URL."
        )
    if not api_key.isascii() or not api_key.isprintable():
        raise SettingError("OPENAI_API_KEY holds characters that no key has: copy it again.")
    return host
