"""What the service and the process that holds Chroma say to each other, and how it is framed."""

import json
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from app.protocols import Vectors

HEADER = struct.Struct("!III")
"""Bytes of JSON, rows and columns of the matrix of float32 that follows it."""
MOST_BYTES_AT_ONCE = 1 << 20

NO_VECTORS: Vectors = np.empty((0, 0), np.float32)

AnyMessage = TypeVar("AnyMessage", "Request", "Response")


class Operation(StrEnum):
    """What can be asked for."""

    UPSERT = "upsert"
    REMOVE = "remove"
    SEARCH = "search"
    CHUNK_IDS = "chunk_ids"
    VECTORS = "vectors"
    COUNT = "count"
    CLEAR = "clear"
    CLOSE = "close"


@dataclass(frozen=True)
class Request:
    """A call. Lists that belong to records are equally long; vectors one row a record."""

    operation: Operation
    seconds: float
    """After so long the process ends itself, whatever it is doing."""
    chunk_ids: Sequence[str] = ()
    item_ids: Sequence[int] = ()
    document_numbers: Sequence[int] = ()
    metadata: Sequence[Mapping[str, Any]] = ()
    limit: int = 0
    vectors: Vectors = field(default_factory=lambda: NO_VECTORS)


@dataclass(frozen=True)
class Response:
    """The answer to a call; the first one, without a call, says that the index is open."""

    error: str | None = None
    chunk_ids: Sequence[str] = ()
    scores: Sequence[float] = ()
    count: int = 0
    vectors: Vectors = field(default_factory=lambda: NO_VECTORS)


def send(connection: socket.socket, message: Request | Response, seconds: float) -> None:
    """Send a message. OSError when nobody takes it; TimeoutError after so many seconds."""
    fields = {name: value for name, value in vars(message).items() if name != "vectors"}
    text = json.dumps(fields).encode()
    vectors = np.ascontiguousarray(message.vectors, np.float32)
    connection.settimeout(seconds)
    connection.sendall(HEADER.pack(len(text), *vectors.shape) + text)
    if vectors.size:
        connection.sendall(vectors.data.cast("B"))


def receive(
    connection: socket.socket, message: type[AnyMessage], seconds: float | None
) -> AnyMessage:
    """Wait for a message; None waits for as long as it takes.

    EOFError when the other side is gone; TimeoutError; ValueError or TypeError for what is none.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    text_bytes, rows, columns = HEADER.unpack(_receive(connection, HEADER.size, deadline))
    fields = json.loads(_receive(connection, text_bytes, deadline))
    values = np.frombuffer(_receive(connection, 4 * rows * columns, deadline), np.float32)
    return message(**fields, vectors=values.reshape(rows, columns))


def _receive(connection: socket.socket, size: int, deadline: float | None) -> bytearray:
    data = bytearray()
    while len(data) < size:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
        else:
            connection.settimeout(None)
        part = connection.recv(min(size - len(data), MOST_BYTES_AT_ONCE))
        if not part:
            raise EOFError
        data += part
    return data
