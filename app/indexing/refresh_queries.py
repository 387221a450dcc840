"""Notes in SQL when the source of an item is to be looked at next."""

from datetime import datetime, timedelta

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from app.adapters.retry_after import LONGEST_RETRY_AFTER_SECONDS
from app.adapters.web_hosts import host_of
from app.clock import now
from app.knowledge.host_queries import note_host_pause
from app.knowledge.refreshing import next_refresh
from app.models import ItemRow
from app.slices import slices


def schedule_after_success(item: ItemRow) -> None:
    """The item was brought up to date just now."""
    item.refresh_failures = 0
    item.next_refresh_at = next_refresh(now(), item.refresh_interval, item.uri)


def schedule_after_failure(item: ItemRow, retry_after_seconds: float | None) -> None:
    """Indexing the item failed just now; its source may have asked to be left alone for a time."""
    item.refresh_failures += 1
    item.next_refresh_at = next_refresh(
        now(),
        item.refresh_interval,
        item.uri,
        failures=item.refresh_failures,
        retry_after_seconds=retry_after_seconds,
    )


def leave_host_alone(session: Session, address: str, seconds: float) -> None:
    """The host of this address asked just now to be left alone: with all its pages.

    Their times are put off once. A host that asks for it page by page, as in a job of all items,
    would have all of them rewritten each time; what falls due meanwhile the schedule puts off.
    """
    moment = now()
    until = moment + timedelta(seconds=min(seconds, LONGEST_RETRY_AFTER_SECONDS))
    host = host_of(address)
    if host is not None and note_host_pause(session, host, moment, until):
        _postpone_host(session, host, until)


def _postpone_host(session: Session, host: str, until: datetime) -> None:
    """As rows of two columns: 20,000 pages take 0.3 s of CPU, during which nobody writes."""
    in_web = or_(ItemRow.uri.istartswith("http://"), ItemRow.uri.istartswith("https://"))
    early = select(ItemRow.id, ItemRow.uri).where(in_web, ItemRow.next_refresh_at < until)
    of_host = [item_id for item_id, uri in session.execute(early) if host_of(uri) == host]
    for some in slices(of_host):
        later = update(ItemRow).where(ItemRow.id.in_(some)).values(next_refresh_at=until)
        session.execute(later.execution_options(synchronize_session=False))
