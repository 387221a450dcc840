"""All SQL of hosts that asked to be left alone for a time (Retry-After)."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.models import HostPauseRow


def note_host_pause(session: Session, host: str, moment: datetime, until: datetime) -> None:
    """A host asked at `moment` to be left alone `until` then; what it asked for before stays."""
    session.execute(delete(HostPauseRow).where(HostPauseRow.until <= moment))
    row = session.get(HostPauseRow, host)
    if row is None:
        session.add(HostPauseRow(host=host, until=until))
    else:
        row.until = max(row.until, until)


def paused_hosts(session: Session, moment: datetime) -> dict[str, datetime]:
    """The hosts to leave alone at a moment, and until when."""
    left_alone = select(HostPauseRow).where(HostPauseRow.until > moment)
    return {row.host: row.until for row in session.scalars(left_alone)}
