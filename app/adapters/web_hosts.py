"""Which host a web address is of, written as it is connected to."""

import functools
import ipaddress
import re
from urllib.parse import urlsplit

import httpx

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
    except ValueError:
        return None
    host = normal_host(parts.hostname or "")
    return f"{host}:{port}" if host and host.isascii() and port else None


def normal_host(host: str) -> str:
    """A host as it is compared: lower case, no brackets, no final dot, IPv6 in its short form.

    Names that are not ASCII become punycode, as they are connected to.
    """
    name = host.strip("[]").rstrip(".").lower()
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return name if name.isascii() else httpx.URL(scheme="http", host=name).raw_host.decode()
    except httpx.InvalidURL:
        return name
