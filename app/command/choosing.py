"""Which service a command works on: that of a data directory, or a running one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from app.command.ending_signals import end_like_ctrl_c

if TYPE_CHECKING:
    from app.command.backend import Backend, LocalBackend, LocalOpener

# A service is imported when one is opened: `--help` waits for none of them.
# ruff: noqa: PLC0415


@dataclass(frozen=True)
class Backends:
    """How a command reaches a service; tests hand in others."""

    local: "LocalOpener"
    remote: "Callable[[str], AbstractContextManager[Backend]]"
    """Connects to the server at an address."""

    def choose(self, url: str | None) -> "AbstractContextManager[Backend]":
        """The server at the address, or without one the data directory."""
        return self.remote(url) if url else self.local()


def backends_of(ctx: typer.Context) -> Backends:
    """Those of this run of the command; tests hand in their own."""
    if isinstance(ctx.obj, Backends):
        return ctx.obj
    return Backends(local=_open_local, remote=_open_remote)


def _open_local(
    *, any_model: bool = False, must_exist: bool = False
) -> "AbstractContextManager[LocalBackend]":
    from app.settings import settings_from_environment

    # What is wrong with them is told before the service is imported, which takes a second or more.
    settings = settings_from_environment()
    end_like_ctrl_c()  # so that everything is closed in order
    if must_exist:
        from app.command.data_there import require_data

        require_data(settings)
    from app.command.local import open_local

    return open_local(settings, any_model=any_model)


def _open_remote(url: str) -> "AbstractContextManager[Backend]":
    from app.command.remote import open_remote

    return open_remote(url)
