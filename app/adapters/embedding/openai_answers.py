"""What the answers of an OpenAI-compatible endpoint say: vectors, or why there are none."""

import json

import numpy as np

from app.errors import EmbeddingError, EmbeddingRefusedError
from app.protocols import Vectors

MOST_REASON_CHARACTERS = 300
"""Shown of the reason that an endpoint gives."""


def vectors_of(answer: bytes, count: int, host: str) -> Vectors:
    """The vectors of an answer, shape (count, dimension), unit length; raises EmbeddingError."""
    try:
        entries = json.loads(answer)["data"]
        by_index = {int(entry["index"]): entry["embedding"] for entry in entries}
        vectors = np.array([by_index[index] for index in range(count)], np.float64)
    except (ValueError, OverflowError, KeyError, TypeError, RecursionError) as error:
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


def refusal_of(host: str, status: int, answer: bytes, secret: str) -> EmbeddingRefusedError:
    """What an endpoint says that will not do it, and what to look at.

    The log has no words of the endpoint's own: many quote the text that they refuse, and that may
    be a query. Nobody is shown the secret, which some quote.
    """
    advice = {
        401: "Check OPENAI_API_KEY.",
        403: "Check OPENAI_API_KEY and what it may do.",
        404: "Check OPENAI_BASE_URL and EMBEDDING_MODEL.",
    }.get(status, "Check OPENAI_BASE_URL and EMBEDDING_MODEL.")
    refused = f"The embedding endpoint {host} refused: HTTP {status}"
    if 300 <= status < 400:
        return EmbeddingRefusedError(f"{refused}, a redirect, which is not followed. {advice}")
    reason = _reason_given(answer)
    if secret:
        reason = reason.replace(secret, "[key]")
    return EmbeddingRefusedError(
        f"{refused}, {reason[:MOST_REASON_CHARACTERS]}. {advice}", logged=f"{refused}. {advice}"
    )


def _reason_given(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no reason given"
