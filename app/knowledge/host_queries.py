"""All SQL of hosts that asked to be left alone for a time (Retry-After)."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, not_, select
from sqlalchemy.orm import Session

from app.adapters.retry_after import LONGEST_RETRY_AFTER_SECONDS
from app.knowledge.refreshing import JITTER
from app.models import HostPauseRow


def note_host_pause(session: Session, host: str, moment: datetime, until: datetime) -> bool:
    """A host asked at `moment` to be left alone `until` then; what it asked for before stays.

    Returns whether it was not left alone already.
    """
    session.execute(delete(HostPauseRow).where(not_(_holds(moment))))
    row = session.get(HostPauseRow, host)
    if row is None:
        session.add(HostPauseRow(host=host, until=until))
        return True
    row.until = max(row.until, until)
    return False


def paused_hosts(session: Session, moment: datetime) -> dict[str, datetime]:
    """The hosts to leave alone at a moment, and until when."""
    left_alone = select(HostPauseRow).where(_holds(moment))
    return {row.host: row.until for row in session.scalars(left_alone)}


def _holds(moment: datetime) -> ColumnElement[bool]:
    """A pause that ends later than any can was noted before the clock was put back."""
    longest = moment + timedelta(seconds=LONGEST_RETRY_AFTER_SECONDS * (1 + JITTER))
    return and_(HostPauseRow.until > moment, HostPauseRow.until <= longest)
