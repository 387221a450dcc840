"""Makes a document of a text file's bytes: decoding, frontmatter, title, hash."""

import hashlib
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from app.adapters.loading.encoding import decode
from app.adapters.loading.frontmatter import Frontmatter, read_frontmatter
from app.adapters.loading.frontmatter_blocks import LINE_BREAK
from app.adapters.loading.titles import find_title
from app.adapters.splitting.markup import Markup, markup_of
from app.errors import SourceUnreadableError
from app.protocols import NO_CONTENT, LoadedDocument
from app.text_suffixes import FRONTMATTER_SUFFIXES

_POINTER_OF_LFS = b"version https://git-lfs.github.com/spec/"
_MOST_POINTER_BYTES = 1024
"""What a file says whose content Git LFS keeps elsewhere, where that was not fetched, and the most
that it says, as git-lfs-spec has it. What tells of pointers is longer, or begins otherwise."""


def content_hash(content: str) -> str:
    """SHA-256 of the content in UTF-8, in hex."""
    return hashlib.sha256(content.encode()).hexdigest()


def document_from_bytes(
    data: bytes, *, name: str, document_id: str, source_uri: str, declared: str | None = None
) -> LoadedDocument:
    """Read a document in Markdown, reStructuredText or plain text, or code.

    `name` is the file's name: its suffix decides how it is read, and it is the last resort for a
    title; of code, the only one. `declared` is the encoding that a server declares. Raises
    SourceUnreadableError when it is binary, a pointer of Git LFS, or nothing but white space.
    """
    if data.startswith(_POINTER_OF_LFS) and len(data) < _MOST_POINTER_BYTES:
        raise SourceUnreadableError(
            "This is a pointer of Git LFS, not the file itself. Fetch that with `git lfs pull`."
        )
    text, encoding = decode(data, declared)
    stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix.lower()
    is_code = markup_of(name) is Markup.NONE
    told = read_frontmatter(text) if suffix in FRONTMATTER_SUFFIXES else Frontmatter(text)
    if not told.text.strip():
        raise SourceUnreadableError(NO_CONTENT)
    warnings = losses(data, text, encoding) + told.warnings
    if told.source_url and (complaint := _complaint_of_source(told.source_url, source_uri)):
        warnings += (f"The frontmatter's source_url {complaint} and is not used.",)
    elif told.source_url:
        source_uri = told.source_url
    return LoadedDocument(
        content=told.text,
        document_id=told.document_id or document_id,
        content_hash=content_hash(told.text),
        source_uri=source_uri,
        title=told.title or (None if is_code else find_title(told.text, suffix)) or stem or None,
        category=told.category,
        tags=told.tags,
        licence=told.licence,
        language=told.language,
        modified_at=told.modified_at,
        warnings=warnings,
        first_line=told.first_line,
    )


def losses(data: bytes, text: str, encoding: str) -> tuple[str, ...]:
    """A warning where bytes could not be read, and stand as U+FFFD in the text made of them."""
    if "\ufffd" not in text:
        return ()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace")
        line = len(LINE_BREAK.findall(before)) + 1
        return (f"In line {line} stand bytes that are no {encoding}; they are read as �.",)
    return ()


def _complaint_of_source(told: str, found_at: str) -> str | None:
    """Why what a document names as its source is not believed; None if it is."""
    if not _names_a_host(told):
        return "is no http(s) address"
    if _names_a_host(found_at) and not is_on_host_of(told, found_at):
        return "is on another host than the page"
    return None


def is_on_host_of(target: str, page: str) -> bool:
    """Whether a page may give this address for itself.

    Another host could claim to be the source of what it did not write.
    """
    if not _names_a_host(target):
        return False
    return urlsplit(target).netloc.lower() == urlsplit(page).netloc.lower()


def _names_a_host(text: str) -> bool:
    """Whether this is an absolute http or https address, with a host to compare."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)
