"""What a person names on the command line, as the address, type and title of an item."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from app.adapters.loading.path_guard import path_as_written

WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
OTHER_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
MARKDOWN_SUFFIXES = (".md", ".markdown")


def absolute_uri(source: str) -> str:
    """The source as every later call finds it again: an absolute path, or a web address.

    Raises SourceRefusedError for a `file://` address of another machine.
    """
    if WEB_ADDRESS.match(source) or OTHER_SCHEME.match(source):
        return source
    return str(Path(path_as_written(source)).expanduser().resolve())


def guess_document_type(uri: str) -> str:
    """`folder`, `website` or `markdown`, from the address and what lies there."""
    if WEB_ADDRESS.match(uri):
        is_markdown = urlsplit(uri).path.lower().endswith(MARKDOWN_SUFFIXES)
        return "markdown" if is_markdown else "website"
    return "folder" if Path(uri).is_dir() else "markdown"


def default_title(uri: str, document_type: str) -> str:
    """A folder's name, a file's name without its suffix, a page's address without the scheme."""
    if WEB_ADDRESS.match(uri):
        return WEB_ADDRESS.sub("", uri).rstrip("/")[:500] or uri
    path = Path(uri)
    return (path.name if document_type == "folder" else path.stem)[:500] or uri
