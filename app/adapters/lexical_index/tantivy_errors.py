"""Turns whatever tantivy raises into LexicalIndexError."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import LexicalIndexError


@contextmanager
def translated_errors(doing: str) -> Iterator[None]:
    """Turn the errors of tantivy, its Rust core and the file system into LexicalIndexError."""
    try:
        yield
    except (OSError, ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise LexicalIndexError(f"The lexical index could not {doing}: {error}") from error
    except BaseException as error:
        # A panic in Rust arrives as a BaseException whose class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise LexicalIndexError(f"The lexical index could not {doing}: {error}") from error
