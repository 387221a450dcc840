"""What the tests of knowledge items share: a function that makes items, and one for chunks."""

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from app.clock import now
from app.models import ChunkRow, DocumentRow
from tests.light_service import client, client_options, database, service

__all__ = ["client", "client_options", "database", "service"]

ITEMS = "/api/v1/knowledge"

MakeItem = Callable[..., dict[str, Any]]


def add_chunks(session: Session, item_id: int, count: int) -> set[str]:
    """A document of the item with this many chunks."""
    document = DocumentRow(
        item_id=item_id,
        key="a.md",
        document_id="a.md",
        uri="/srv/docs/a.md",
        tags=[],
        content_hash="",
        first_line=1,
        fetched_at=now(),
        indexed_at=now(),
        content="",
    )
    session.add(document)
    session.flush()
    place = {"start_index": 0, "end_index": 0, "start_line": 1, "end_line": 1, "heading_path": []}
    chunks = [
        ChunkRow(
            id=f"{item_id:08x}{number:024x}",
            item_id=item_id,
            document_id=document.id,
            chunk_index=number,
            text_hash="",
            content="text",
            **place,
        )
        for number in range(count)
    ]
    session.add_all(chunks)
    return {chunk.id for chunk in chunks}


@pytest.fixture
def make_item(client: TestClient) -> MakeItem:
    """Creates an item with the given fields and returns it as the service answered it."""

    def make(**fields: Any) -> dict[str, Any]:
        body = {"title": "Guide", "uri": "/srv/docs", "document_type": "markdown"} | fields
        response = client.post(ITEMS, json=body)
        assert response.status_code == 201, response.text
        item: dict[str, Any] = response.json()
        return item

    return make
