"""The stored text of items: which documents there are, and their lines."""

import re

from sqlalchemy import Connection

from app.database import Database
from app.errors import InvalidRequestError, NotFoundError
from app.knowledge import content_queries
from app.knowledge.content_lines import split_lines
from app.knowledge.content_records import Content, DocumentPage, DocumentText
from app.knowledge.existing_items import require_item
from app.web.pagination import Cursor

LINES_PATTERN = r"^L?[0-9]{1,9}(-(L?[0-9]{1,9})?)?$"
"""`120`, `120-160`, `120-` (to the end), or as citations have it: `L120-L160`."""

MOST_CHARACTERS = 200_000
"""In one answer, unless a single line has more: about 3,000 lines of prose or 5,000 of code."""

NAMED_DOCUMENTS = 10
"""How many documents an error names; an item may have a hundred thousand."""

_END_OF_CITATION = re.compile(r"#(L[0-9]{1,9}(?:-L[0-9]{1,9})?)$")
_LINES = re.compile(r"L?(?P<start>[0-9]{1,9})((?P<dash>-)(L?(?P<end>[0-9]{1,9}))?)?")


class ContentService:
    """Reads stored text. Each call is one snapshot; archived items can be read like others."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_documents(self, item_id: int, limit: int, cursor: str | None) -> DocumentPage:
        """One page of an item's documents.

        Raises NotFoundError, and InvalidRequestError for a cursor that is not ours.
        """
        name, after = f"documents of {item_id}", None
        if cursor is not None:
            value = Cursor.decode(cursor, name).value
            if not isinstance(value, str):
                raise Cursor.refusal()
            after = value
        with self._database.snapshot() as connection:
            require_item(connection, item_id)
            found = content_queries.list_documents(connection, item_id, limit + 1, after)
            total = content_queries.count_documents(connection, item_id)
        documents, more = found[:limit], len(found) > limit
        last = documents[-1] if more else None
        next_cursor = Cursor(name, last.key, last.row_id).encode() if last else None
        return DocumentPage(tuple(documents), next_cursor, total)

    def read(self, item_id: int, document: str | None, lines: str | None) -> Content:
        """Lines of a document, or all of it, as far as one answer reaches.

        `document` is its key or its address; it may be left out where there is just one. Raises
        NotFoundError for an unknown item or document, InvalidRequestError where the document has
        to be named, or for lines that are no lines of it.
        """
        with self._database.snapshot() as connection:
            require_item(connection, item_id)
            text = _find_text(connection, item_id, document)
        return _content(item_id, text, lines)


def _find_text(connection: Connection, item_id: int, document: str | None) -> DocumentText:
    """The document that is meant. A key comes before an address: it alone is unique."""
    if document is None:
        row_ids = content_queries.first_row_ids(connection, item_id)
    else:
        row_ids = content_queries.row_ids_by_key(connection, item_id, document)
        row_ids = row_ids or content_queries.row_ids_by_uri(connection, item_id, document)
    if len(row_ids) == 1:
        return content_queries.read_text(connection, row_ids[0])
    listed = f"GET /api/v1/knowledge/{item_id}/documents lists them"
    if document is not None and not row_ids:
        hint = _hint_at_lines(document)
        raise NotFoundError(f"Item {item_id} has no document {document[:200]!r}; {listed}.{hint}")
    if not row_ids:
        raise NotFoundError(
            f"Nothing of item {item_id} is stored yet: POST /api/v1/rag/index/{item_id}."
        )
    raise InvalidRequestError(_which(connection, item_id, listed), pointer="#/document")


def _hint_at_lines(document: str) -> str:
    """What to say to whoever took a whole citation for the key of its document."""
    cited = _END_OF_CITATION.search(document)
    if cited is None:
        return ""
    return f" Of a citation, the document is what stands before #: ?document=…&lines={cited[1]}"


def _which(connection: Connection, item_id: int, listed: str) -> str:
    """Ask for the document's key, and name the first ones."""
    keys = content_queries.first_keys(connection, item_id, NAMED_DOCUMENTS)
    total = content_queries.count_documents(connection, item_id)
    names = ", ".join(repr(key[:200]) for key in keys)
    more = f" and {total - len(keys)} more; {listed}" if total > len(keys) else ""
    return f"Say which document, by its key, as in ?document=…: {names}{more}."


def _content(item_id: int, text: DocumentText, lines: str | None) -> Content:
    all_lines = split_lines(text.content)
    total = text.first_line + len(all_lines) - 1
    first, last = (
        _range(lines, text.first_line, total) if lines is not None else (text.first_line, total)
    )
    wanted = all_lines[first - text.first_line : last - text.first_line + 1]
    taken = _as_many_as_fit(wanted)
    return Content(
        knowledge_id=item_id,
        document=text.key,
        title=text.title,
        uri=text.uri,
        first_line=first,
        last_line=first + len(taken) - 1,
        total_lines=total,
        content="".join(taken),
        content_hash=text.content_hash,
        truncated=len(taken) < len(wanted),
    )


def _as_many_as_fit(lines: list[str]) -> list[str]:
    """The first line, and those that follow up to MOST_CHARACTERS."""
    characters = 0
    for number, line in enumerate(lines):
        characters += len(line)
        if characters > MOST_CHARACTERS and number:
            return lines[:number]
    return lines


def _range(lines: str, first_line: int, last_line: int) -> tuple[int, int]:
    """The lines asked for, of a text with these; raises InvalidRequestError.

    An end behind the last line stands for the last, as in ranges of bytes (RFC 9110, 14.1.2), and
    a start within the frontmatter for the first: whoever wants some lines around a hit need not
    know how many there are on each side.
    """
    written = _LINES.fullmatch(lines)
    if not written:
        raise _bad_lines("Write lines as 120-160, 120 or 120-.")
    start = int(written["start"])
    end = int(written["end"] or (last_line if written["dash"] else start))
    if 1 <= start <= end < first_line:
        raise _bad_lines(
            f"Lines 1 to {first_line - 1} are the document's frontmatter, which is not stored; its "
            f"text has lines {first_line}-{last_line}."
        )
    if not 1 <= start <= min(end, last_line):
        raise _bad_lines(f"The document has lines {first_line}-{last_line}, not {lines}.")
    return max(start, first_line), min(end, last_line)


def _bad_lines(detail: str) -> InvalidRequestError:
    return InvalidRequestError(detail, pointer="#/lines")
