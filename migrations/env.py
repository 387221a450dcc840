"""Alembic's entry: runs the migrations on the connection it is handed, or on the configured one."""

from alembic import context
from sqlalchemy import Connection, create_engine

from app.models import Base
from app.settings import Settings


def run(connection: Connection) -> None:
    """Run the migrations in the connection's transaction."""
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


handed_over: Connection | None = context.config.attributes.get("connection")
if handed_over is not None:
    run(handed_over)
else:
    settings = Settings()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with create_engine(settings.resolved_database_url).begin() as own_connection:
        run(own_connection)
