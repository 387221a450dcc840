"""Runs the HTTP server: from an address that is free to a stop in order."""

import asyncio
import logging
import os
import resource
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from types import FrameType

import anyio.to_thread
import uvicorn
from fastapi import FastAPI

from app.assembly.generation_choice import OpenEmbedder
from app.command.display import say
from app.command.ending_signals import ending_signals
from app.command.http_connection import HttpConnection
from app.command.log_lines import write_log
from app.command.memory import spare_collections
from app.container import Container
from app.errors import StartupError
from app.frozen_objects import keep_for_good
from app.main import create_app, operations
from app.rag.service import set_rag_service
from app.settings import Settings

GRACE_SECONDS = 5
"""How long a stop waits for requests under way."""

logger = logging.getLogger(__name__)

MOST_OPEN_FILES = 65_536
"""Each client has a connection, and a thousand may wait for jobs alone; systems grant 1,024 files
to whoever does not ask for more. Past that, nothing opens, and what writes to an index fails."""

STOP_SECONDS = 9.0
"""How long a stop may take in all: container engines kill after 10 s."""

LAST_WORDS_SECONDS = 0.5
"""How long whoever reads the log has for the last line: a pipe may be full."""

QUIET_LOGGERS = ("uvicorn", "httpx", "httpcore", "chromadb", "alembic")
"""They tell of every start, address and statement; what they warn of is still shown."""


class _Server(uvicorn.Server):
    """Closes the container as part of its stop, and ends at once at the second Ctrl-C."""

    def __init__(self, config: uvicorn.Config, container: Container, addresses: str) -> None:
        super().__init__(config)
        self._container = container
        self._addresses = addresses
        self.lost_because: str | None = None
        self._deadline = threading.Timer(STOP_SECONDS, _end_at_once)
        self._deadline.daemon = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        say(self._addresses)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests finish, for GRACE_SECONDS, then close everything.

        The container closes before the event loop does, which would wait for worker threads that
        still index: closing is what makes them stop.
        """
        self._set_deadline()
        say("Stopping …")
        self._container.stop_work()
        await super().shutdown(sockets)
        await anyio.to_thread.run_sync(self._container.close)
        self._deadline.cancel()

    async def on_tick(self, counter: int) -> bool:
        """Whether to end: also once another service has worked on the database."""
        self.lost_because = self._container.database.lost_because
        return await super().on_tick(counter) or self.lost_because is not None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in order at the first signal; the second Ctrl-C is as good as a kill."""
        if self.should_exit and sig == signal.SIGINT:
            os._exit(128 + sig)
        self._set_deadline()  # at once: the event loop may wait for who does not read its log
        super().handle_exit(sig, frame)

    def _set_deadline(self) -> None:
        if self._deadline.ident is None:
            self._deadline.start()


def _end_at_once() -> None:
    """Somebody waits for a source or a model that does not answer: nothing is lost by not waiting.

    What was promised stands in SQL, and the next start goes on with it.
    """
    told = threading.Thread(
        target=logger.warning,
        args=("The stop took over %.0f s: the next start checks the indexes.", STOP_SECONDS),
        daemon=True,
    )
    told.start()
    told.join(LAST_WORDS_SECONDS)
    os._exit(0)


def serve(settings: Settings, open_model: OpenEmbedder) -> None:
    """Serve until a signal ends it; raises StartupError when that cannot begin."""
    _configure_logging(settings.log_level)
    _allow_open_files()
    _name_missing_roots(settings)
    with (
        closing(listening_socket(settings.host, settings.port)) as listener,
        closing(_opened(settings, open_model)) as container,
    ):
        config = server_config(create_app(settings, container))
        server = _Server(config, container, _announcement(listener))
        _heed_signals(server)
        set_rag_service(container.rag)
        try:
            server.run([listener])
        finally:
            set_rag_service(None)
        if server.lost_because:
            raise StartupError(server.lost_because)


def server_config(app: FastAPI) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        http=HttpConnection,
        log_config=None,
        access_log=False,  # a query is private; RequestMeasures logs without it
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _opened(settings: Settings, open_model: OpenEmbedder) -> Container:
    """A running container.

    Compiling its model needs no Python: meanwhile, another thread does what takes Python 0.2 s.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="preparing") as beside, ExitStack() as opening:
        steps = [beside.submit(step) for step in (operations, spare_collections)]
        container = opening.enter_context(closing(Container.open(settings, open_model=open_model)))
        for step in steps:
            step.result()
        opening.pop_all()
    keep_for_good()
    return container


def _heed_signals(server: _Server) -> None:
    """Make each signal that ends a command stop the server in order.

    uvicorn itself handles SIGINT and SIGTERM, but raises them again after its stop: then they are
    ignored, as nothing is left to do.
    """
    if signal.SIGHUP in ending_signals():
        signal.signal(signal.SIGHUP, server.handle_exit)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the signal has been heeded."""


def _configure_logging(level: str) -> None:
    write_log(level, "%(asctime)s %(levelname)-7s %(name)s: %(message)s", anew=True)
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancelled_request)
    if level != "DEBUG":
        for name in QUIET_LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)


def _allow_open_files() -> None:
    """Ask for as many open files as the system grants; some grant less than they say."""
    granted, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if most == resource.RLIM_INFINITY else min(MOST_OPEN_FILES, most)
    if granted != resource.RLIM_INFINITY and granted < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _name_missing_roots(settings: Settings) -> None:
    """Warn of roots that are not there: they may be misspelt, or mounted later."""
    for root in settings.source_roots:
        with suppress(OSError):
            if root.expanduser().is_dir():
                continue
        logger.warning(
            "SOURCE_ROOTS names %s, which is no folder that can be read now; between several "
            "folders stand commas.",
            root,
        )


def _is_no_cancelled_request(record: logging.LogRecord) -> bool:
    """Leave out the traceback of a request that outlasted GRACE_SECONDS; uvicorn counts them."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket bound to the address; of several addresses of a name, IPv4 goes first."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = min(found, key=lambda entry: entry[0])
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:  # the latter for a name that can be none
        raise _cannot_listen(host, port, error) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise _cannot_listen(host, port, error) from error
    return listener


def _cannot_listen(host: str, port: int, error: OSError | UnicodeError) -> StartupError:
    reason = getattr(error, "strerror", None) or error
    return StartupError(
        f"Cannot listen on {host}, port {port}: {reason}. "
        "Choose another HOST or PORT, or stop what uses it."
    )


def _announcement(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    everywhere = host in {"0.0.0.0", "::"}  # noqa: S104, compared, not bound
    name = "127.0.0.1" if everywhere else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{port}"
    places = ", on all addresses of this machine" if everywhere else ""
    return f"Groundwork listens on {address}{places}; try it at {address}/docs. Ctrl-C stops it."
