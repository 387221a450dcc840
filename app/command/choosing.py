"""Which service a command works on: that of a data directory, or a running one."""

from contextlib import AbstractContextManager

import typer

from app.command.backend import Backends, LocalBackend
from app.command.remote import open_remote

# What needs the model or Chroma is imported where it is used: `--help` must not wait for it.
# ruff: noqa: PLC0415


def backends_of(ctx: typer.Context) -> Backends:
    """Those of this run of the command; tests hand in their own."""
    if isinstance(ctx.obj, Backends):
        return ctx.obj
    return Backends(local=_open_local, remote=open_remote)


def _open_local(*, any_model: bool = False) -> AbstractContextManager[LocalBackend]:
    from app.command.local import open_local

    return open_local(any_model=any_model)
