"""Turns whatever tantivy raises into LexicalIndexError."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import LexicalIndexError
from app.surviving import is_panic


@contextmanager
def translated_errors(doing: str) -> Iterator[None]:
    """Turn the errors of tantivy, its Rust core and the file system into LexicalIndexError."""
    try:
        yield
    except (OSError, ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise LexicalIndexError(f"The lexical index could not {doing}: {error}") from error
    except BaseException as error:
        if not is_panic(error):
            raise
        raise LexicalIndexError(f"The lexical index could not {doing}: {error}") from error
