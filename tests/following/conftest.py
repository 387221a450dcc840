"""What the tests of following share: items without a model, and a clock that is set by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from app.knowledge.items import ItemDraft
from app.knowledge.queries import update_item
from tests.light_service import LightService, database, service

__all__ = ["database", "service"]

AddFollowed = Callable[..., int]


class Clock:
    """A time that passes only when it is told to."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()

    def forward(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def add_followed(service: LightService, clock: Clock) -> AddFollowed:
    """Adds an item as indexing leaves it; `due_in` seconds from now it is to be looked at."""

    def add(
        uri: str = "/srv/docs",
        *,
        due_in: float | None = 0,
        status: str = "active",
        **fields: object,
    ) -> int:
        draft = ItemDraft(uri, uri, "folder", **fields)  # type: ignore[arg-type]
        item_id = service.knowledge.create(draft).id
        due = None if due_in is None else clock.moment + timedelta(seconds=due_in)
        with service.database.write() as session:
            update_item(session, item_id, {"status": status, "next_refresh_at": due})
        return item_id

    return add
