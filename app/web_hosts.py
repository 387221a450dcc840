"""Which host a web address is of."""

import functools
import re
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)
"""Of a web address: all that stands before its path."""


def host_of(uri: str) -> str | None:
    """Host and port of a web address, normalised; None for another address, or without a host."""
    origin = _ORIGIN.match(uri.strip())
    return _host_of_origin(origin[0]) if origin else None


@functools.lru_cache(maxsize=1024)
def _host_of_origin(origin: str) -> str | None:
    """Thousands of pages have a few hosts among them, and each is asked for again and again."""
    try:
        parts = urlsplit(origin)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
        name = (parts.hostname or "").rstrip(".")
        host = name if name.isascii() else name.encode("idna").decode("ascii")
    except ValueError:  # UnicodeError is one
        return None
    return f"{host}:{port}" if host and port else None
