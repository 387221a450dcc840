"""All SQL about the history of items."""

from dataclasses import asdict, fields

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from app.knowledge.history_records import IndexingRun
from app.models import IndexingRunRow

KEPT_RUNS = 100
"""Rows that are kept for an item; older ones are deleted as new ones come."""


def add_run(session: Session, item_id: int, run: IndexingRun) -> None:
    """Note a run of an item that exists.

    One that changed nothing and ended as the one before it is counted in the row of that one, so
    that a source which is looked at every five minutes does not push out what happened.
    """
    last = session.scalar(_newest_first(item_id).limit(1))
    if last is not None and _says_the_same(last, run):
        last.runs += 1
        last.finished_at = run.finished_at
        last.documents_unchanged = run.documents_unchanged
        last.documents_skipped = run.documents_skipped
        return
    values = asdict(run)
    del values["id"]
    lists = {name: list(values[name]) for name in ("added", "changed", "removed")}
    session.add(IndexingRunRow(item_id=item_id, **(values | lists)))
    session.flush()
    too_many = _newest_first(item_id).with_only_columns(IndexingRunRow.id).offset(KEPT_RUNS)
    session.execute(
        delete(IndexingRunRow)
        .where(IndexingRunRow.id.in_(list(session.scalars(too_many))))
        .execution_options(synchronize_session=False)
    )


def _says_the_same(last: IndexingRunRow, run: IndexingRun) -> bool:
    same_end = (last.outcome, last.error) == (run.outcome, run.error)
    return same_end and run.changed_nothing and _run(last).changed_nothing


def forget_runs(session: Session, item_id: int) -> None:
    """Delete the history of an item: it names documents that are to be gone."""
    session.execute(delete(IndexingRunRow).where(IndexingRunRow.item_id == item_id))


def list_runs(
    session: Session, item_id: int, limit: int, before_id: int | None
) -> list[IndexingRun]:
    """Runs of an item, newest first, those before `before_id` only."""
    statement = _newest_first(item_id).limit(limit)
    if before_id is not None:
        statement = statement.where(IndexingRunRow.id < before_id)
    return [_run(row) for row in session.scalars(statement)]


def _newest_first(item_id: int) -> Select[IndexingRunRow]:
    return (
        select(IndexingRunRow)
        .where(IndexingRunRow.item_id == item_id)
        .order_by(IndexingRunRow.id.desc())
    )


def _run(row: IndexingRunRow) -> IndexingRun:
    values = {field.name: getattr(row, field.name) for field in fields(IndexingRun)}
    lists = {name: tuple(values[name]) for name in ("added", "changed", "removed")}
    return IndexingRun(**(values | lists))
