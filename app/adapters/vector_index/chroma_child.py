"""The process that holds Chroma: opens one index, and answers calls until the service is gone."""

import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from app.adapters.vector_index.chroma import ChromaVectorIndex
from app.adapters.vector_index.chroma_limits import (
    end_this_process_after,
    limit_this_process,
    refuse_implausible_files,
)
from app.adapters.vector_index.chroma_messages import (
    NO_VECTORS,
    Operation,
    Request,
    Response,
    receive,
    send,
)
from app.errors import VectorIndexError
from app.protocols import VectorRecord

SEND_SECONDS = 30.0
CLOSE_SECONDS = 30.0
PREDECESSOR_SECONDS = 15.0
"""A process whose service was killed ends its call and flushes before it lets go of the folder."""


def serve(index: ChromaVectorIndex, connection: socket.socket) -> None:
    """Answer one call after the other until the other side closes or is gone."""
    while True:
        request = receive(connection, Request, None)
        end_this_process_after(request.seconds)
        try:
            response = ANSWERS[request.operation](index, request)
        except VectorIndexError as error:
            response = Response(error=error.detail)
        end_this_process_after(0)
        send(connection, response, SEND_SECONDS)
        if request.operation == Operation.CLOSE:
            return


def _upsert(index: ChromaVectorIndex, request: Request) -> Response:
    index.upsert(
        [
            VectorRecord(*fields)
            for fields in zip(
                request.chunk_ids,
                request.item_ids,
                request.document_numbers,
                request.vectors,
                request.metadata,
                strict=True,
            )
        ]
    )
    return Response()


def _remove(index: ChromaVectorIndex, request: Request) -> Response:
    index.remove(request.chunk_ids)
    return Response()


def _search(index: ChromaVectorIndex, request: Request) -> Response:
    hits = index.search(request.vectors[0], request.limit)
    return Response(chunk_ids=[hit.chunk_id for hit in hits], scores=[hit.score for hit in hits])


def _chunk_ids(index: ChromaVectorIndex, _: Request) -> Response:
    return Response(chunk_ids=list(index.chunk_ids()))


def _vectors(index: ChromaVectorIndex, request: Request) -> Response:
    held = index.vectors(request.chunk_ids)
    vectors = np.stack(list(held.values())) if held else NO_VECTORS
    return Response(chunk_ids=list(held), vectors=vectors)


def _count(index: ChromaVectorIndex, _: Request) -> Response:
    return Response(count=index.count())


def _clear(index: ChromaVectorIndex, _: Request) -> Response:
    index.clear()
    return Response()


def _close(index: ChromaVectorIndex, _: Request) -> Response:
    index.close()
    return Response()


ANSWERS: Mapping[str, Callable[[ChromaVectorIndex, Request], Response]] = {
    Operation.UPSERT: _upsert,
    Operation.REMOVE: _remove,
    Operation.SEARCH: _search,
    Operation.CHUNK_IDS: _chunk_ids,
    Operation.VECTORS: _vectors,
    Operation.COUNT: _count,
    Operation.CLEAR: _clear,
    Operation.CLOSE: _close,
}


def main() -> None:
    """Serve over the socket that is this process's standard input.

    Arguments: folder, collection, dimension, `open` or `anew`, seconds to open in.
    """
    directory, name, dimension, how, seconds = sys.argv[1:]
    end_this_process_after(float(seconds))
    limit_this_process(Path(directory))
    with socket.socket(fileno=os.dup(0)) as connection:
        try:
            if how == "open":
                refuse_implausible_files(Path(directory))
            index = ChromaVectorIndex.open(
                Path(directory),
                name,
                int(dimension),
                lock_seconds=PREDECESSOR_SECONDS,
                anew=how == "anew",
            )
        except VectorIndexError as error:
            with suppress(OSError):  # the service may be gone: then there is nobody to tell
                send(connection, Response(error=error.detail), SEND_SECONDS)
            return
        end_this_process_after(0)
        try:
            send(connection, Response(), SEND_SECONDS)
            serve(index, connection)
        except (OSError, EOFError):
            pass  # the service is gone: all that is left to do is to leave sound files
        finally:
            end_this_process_after(CLOSE_SECONDS)
            index.close()


if __name__ == "__main__":
    main()
