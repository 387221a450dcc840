"""Notes in SQL when the source of an item is to be looked at next."""

from datetime import datetime, timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.knowledge.refreshing import LONGEST_RETRY_AFTER_SECONDS, host_of, next_refresh
from app.models import ItemRow, now


def schedule_after_success(item: ItemRow) -> None:
    """The item was brought up to date just now."""
    item.refresh_failures = 0
    item.next_refresh_at = next_refresh(now(), item.refresh_interval, item.uri)


def schedule_after_failure(
    session: Session, item: ItemRow, retry_after_seconds: float | None
) -> None:
    """Indexing the item failed just now; its source may have asked to be left alone for a time."""
    moment = now()
    item.refresh_failures += 1
    item.next_refresh_at = next_refresh(
        moment,
        item.refresh_interval,
        item.uri,
        failures=item.refresh_failures,
        retry_after_seconds=retry_after_seconds,
    )
    if retry_after_seconds:
        seconds = min(retry_after_seconds, LONGEST_RETRY_AFTER_SECONDS)
        _postpone_host(session, host_of(item.uri), moment + timedelta(seconds=seconds))


def _postpone_host(session: Session, host: str | None, until: datetime) -> None:
    """Leave the other pages of a host alone as well."""
    in_web = or_(ItemRow.uri.istartswith("http://"), ItemRow.uri.istartswith("https://"))
    early = select(ItemRow).where(in_web, ItemRow.next_refresh_at < until)
    for item in session.scalars(early):
        if host is not None and host_of(item.uri) == host:
            item.next_refresh_at = until
