"""What the answers of an OpenAI-compatible endpoint say: vectors, or why there are none."""

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
import numpy as np

from app.errors import EmbeddingError
from app.protocols import Vectors


def vectors_of(answer: bytes, count: int, host: str) -> Vectors:
    """The vectors of an answer, shape (count, dimension), unit length; raises EmbeddingError."""
    try:
        entries = json.loads(answer)["data"]
        by_index = {int(entry["index"]): entry["embedding"] for entry in entries}
        vectors = np.array([by_index[index] for index in range(count)], np.float64)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EmbeddingError(
            f"The embedding endpoint {host} gave an answer that is not a list of {count} vectors. "
            "Check OPENAI_BASE_URL (Ollama: http://host:11434/v1) and EMBEDDING_MODEL."
        ) from error
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if len(entries) != count or vectors.ndim != 2 or vectors.shape[1] == 0:
        raise EmbeddingError(f"The embedding endpoint {host} did not give {count} vectors.")
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbeddingError(f"The embedding endpoint {host} gave a vector that is not a number.")
    unit_vectors: Vectors = (vectors / lengths).astype(np.float32)
    return unit_vectors


def retry_after_seconds(response: httpx.Response) -> float | None:
    """How long the endpoint asks to be left alone, if it does."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


def refusal_of(host: str, status: int, answer: bytes) -> str:
    """What an endpoint says that will not do it, and what to look at."""
    try:
        reason = str(json.loads(answer)["error"]["message"])[:300]
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = "no reason given"
    advice = {
        401: "Check OPENAI_API_KEY.",
        403: "Check OPENAI_API_KEY and what it may do.",
        404: "Check OPENAI_BASE_URL and EMBEDDING_MODEL.",
    }.get(status, "Check OPENAI_BASE_URL and EMBEDDING_MODEL.")
    if 300 <= status < 400:
        reason = "a redirect, which is not followed"
    return f"The embedding endpoint {host} refused: HTTP {status}, {reason}. {advice}"
