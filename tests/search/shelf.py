"""Documents in SQL without an index, and searches that answer what a test wants."""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import delete

from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.clock import now
from app.database import Database
from app.indexing.documents import document_number
from app.models import ChunkRow, DocumentRow, ItemRow
from app.protocols import TextChunk
from app.search.queries import citation
from app.search.requests import SearchRequest
from app.search.results import SearchAnswer, SearchResult


class Shelf:
    """Stores documents with their chunks as indexing would."""

    def __init__(self, database: Database, chunk_size: int = 60, overlap: int = 15) -> None:
        self.database = database
        self._splitter = RecursiveTextSplitter(chunk_size, overlap)

    def add_item(self, title: str = "Guide", licence: str | None = "MIT") -> int:
        with self.database.write() as session:
            item = ItemRow(
                title=title,
                uri="/srv/docs",
                document_type="folder",
                collection="knowledge_base",
                licence=licence,
                status="active",
            )
            session.add(item)
            session.flush()
            return item.id

    def put(
        self,
        key: str,
        text: str,
        *,
        item_id: int | None = None,
        first_line: int = 1,
        title: str | None = None,
        licence: str | None = None,
        uri: str | None = None,
    ) -> list[SearchResult]:
        """Store a document, or its new version; answers a result for each of its chunks."""
        item_id = self.add_item() if item_id is None else item_id
        with self.database.write() as session:
            item = session.get_one(ItemRow, item_id)
            session.execute(
                delete(DocumentRow).where(DocumentRow.item_id == item_id, DocumentRow.key == key)
            )
            document = DocumentRow(
                item_id=item_id,
                key=key,
                document_id=key,
                number=document_number(item_id, key),
                uri=uri or f"/srv/docs/{key}",
                title=title,
                tags=[],
                licence=licence,
                content_hash="0" * 64,
                first_line=first_line,
                fetched_at=now(),
                indexed_at=now(),
                content=text,
            )
            session.add(document)
            session.flush()
            results = []
            for identity, chunk in identified(item_id, key, self._splitter.split_text(text)):
                row = ChunkRow(
                    id=identity,
                    item_id=item_id,
                    document_id=document.id,
                    chunk_index=chunk.chunk_index,
                    start_index=chunk.start_index,
                    end_index=chunk.end_index,
                    start_line=chunk.start_line + first_line - 1,
                    end_line=chunk.end_line + first_line - 1,
                    heading_path=list(chunk.heading_path),
                    text_hash="0" * 64,
                    content=chunk.content,
                )
                session.add(row)
                results.append(_result(row, document, item))
        return results


def _result(row: ChunkRow, document: DocumentRow, item: ItemRow) -> SearchResult:
    return SearchResult(
        content=row.content,
        knowledge_id=row.item_id,
        title=item.title,
        uri=item.uri,
        score=0.5,
        chunk_index=row.chunk_index,
        chunk_id=row.id,
        document=document.key,
        document_title=document.title,
        document_uri=document.uri,
        start_index=row.start_index,
        end_index=row.end_index,
        start_line=row.start_line,
        end_line=row.end_line,
        heading_path=tuple(row.heading_path),
        category=None,
        tags=(),
        licence=document.licence or item.licence,
        language=None,
        citation=citation(document.key, row.start_line, row.end_line),
    )


def identified(
    item_id: int, key: str, chunks: Sequence[TextChunk]
) -> Iterator[tuple[str, TextChunk]]:
    """Each chunk with an id that stays its own when it merely moves."""
    seen: Counter[str] = Counter()
    for chunk in chunks:
        seen[chunk.content] += 1
        said = f"{item_id} {key} {chunk.content} {seen[chunk.content]}"
        yield hashlib.sha256(said.encode()).hexdigest()[:32], chunk


def scored(result: SearchResult, score: float) -> SearchResult:
    return dataclasses.replace(result, score=score)


class FixedSearcher:
    """Answers the same results again and again; `before_answer` runs after each search."""

    def __init__(
        self,
        results: Sequence[SearchResult],
        *,
        afterwards: Callable[[], object] = lambda: None,
        degraded: tuple[str, ...] = (),
    ) -> None:
        self.results = tuple(results)
        self.searches = 0
        self._afterwards = afterwards
        self._degraded = degraded

    def search(self, request: SearchRequest) -> SearchAnswer:
        self.searches += 1
        answer = SearchAnswer(request.query, self.results, self._degraded, 0.0)
        self._afterwards()
        return answer
