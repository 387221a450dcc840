"""What a person names on the command line, as the address, type and title of an item."""

import os
import re
from pathlib import Path

from app.adapters.loading.path_guard import path_as_written, require_text
from app.text_suffixes import MARKDOWN_SUFFIXES

WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
OTHER_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def absolute_uri(source: str) -> str:
    """The source as every later call finds it again: an absolute path, or a web address.

    A web address loses its fragment, which names a place in the page. Links on the way stay:
    `current` may lead elsewhere tomorrow. The home of an unknown user, a loop of links and a path
    that is too long are left for the service to refuse. Raises SourceRefusedError for a `file://`
    address of another machine and a name that is not UTF-8.
    """
    if WEB_ADDRESS.match(source):
        return without_place(source)
    if OTHER_SCHEME.match(source):
        return source
    written = os.path.expanduser(path_as_written(source))  # noqa: PTH111, takes any name
    path = os.path.join(os.getcwd(), written)  # noqa: PTH109, PTH118
    *climbs, rest = re.split(r"(?<=/\.\.)/", f"{path}/")
    if climbs:  # behind a link, `..` is the folder above what it leads to
        rest = f"{os.path.realpath('/'.join(climbs))}/{rest}"
    path = os.path.normpath(rest)
    require_text(path, source)
    return path


def without_place(uri: str) -> str:
    """The same source without the fragment that a web address may have."""
    return uri.partition("#")[0] if WEB_ADDRESS.match(uri) else uri


def without_links(uri: str) -> str:
    """The same source with all links on its way followed."""
    return uri if WEB_ADDRESS.match(uri) or OTHER_SCHEME.match(uri) else os.path.realpath(uri)


def guess_document_type(uri: str) -> str:
    """`folder`, `website` or `markdown`, from the address and what lies there."""
    if WEB_ADDRESS.match(uri):
        path = re.split(r"[?#]", uri, maxsplit=1)[0]
        return "markdown" if path.lower().endswith(MARKDOWN_SUFFIXES) else "website"
    return "folder" if os.path.isdir(uri) else "markdown"  # noqa: PTH112, takes any name


def default_title(uri: str, document_type: str) -> str:
    """A folder's name, a file's name without its suffix, a page's address without the scheme."""
    if WEB_ADDRESS.match(uri):
        return WEB_ADDRESS.sub("", uri).rstrip("/")[:500] or uri
    path = Path(uri)
    return (path.name if document_type == "folder" else path.stem)[:500] or uri
