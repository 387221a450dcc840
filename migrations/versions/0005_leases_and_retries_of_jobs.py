"""Jobs have leases, priorities and retries; of those that are queued, no two are to do the same."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

QUEUED = sa.text("state = 'queued'")


def upgrade() -> None:
    for column in (
        sa.Column("priority", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("arguments_key", sa.String(64), nullable=True),
        sa.Column("retryable", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("retries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempt_token", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problem", sa.String(64), nullable=True),
    ):
        op.add_column("jobs", column)
    _give_keys()
    op.create_index(
        "uq_jobs_queued_kind_arguments_key",
        "jobs",
        ["kind", "arguments_key"],
        unique=True,
        sqlite_where=QUEUED,
        postgresql_where=QUEUED,
    )


def _give_keys() -> None:
    """The oldest queued job of those that are to do the same has the key; the others have none."""
    jobs = sa.table(
        "jobs",
        *map(sa.column, ("id", "kind", "state", "arguments_key")),
        sa.column("arguments", sa.JSON()),
    )
    connection = op.get_bind()
    queued = sa.select(jobs.c.id, jobs.c.kind, jobs.c.arguments).where(jobs.c.state == "queued")
    seen = set()
    for job in connection.execute(queued.order_by(jobs.c.id)).all():
        key = _key(job.arguments)
        if (job.kind, key) not in seen:
            seen.add((job.kind, key))
            connection.execute(sa.update(jobs).where(jobs.c.id == job.id).values(arguments_key=key))


def _key(arguments: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


def downgrade() -> None:
    op.drop_index("uq_jobs_queued_kind_arguments_key", table_name="jobs")
    for name in (
        "problem",
        "lease_expires_at",
        "attempt_token",
        "not_before",
        "retries",
        "retryable",
        "arguments_key",
        "priority",
    ):
        op.drop_column("jobs", name)
