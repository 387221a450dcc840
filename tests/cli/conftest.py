"""What the tests of the command share: a service reached both ways, and processes of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from typer.testing import CliRunner, Result

from app.cli import app
from app.command.choosing import Backends
from app.command.local import ContainerBackend
from app.command.remote import open_remote
from app.command.serving import listening_socket, server_config
from app.container import Container
from app.main import create_app

Run = Callable[..., Result]


@contextmanager
def serving(container: Container) -> Iterator[str]:
    """A real server in a thread; gives its address."""
    with running(server_config(create_app(container=container))) as url:
        yield url


@contextmanager
def running(config: uvicorn.Config) -> Iterator[str]:
    """A server of this configuration in a thread; gives its address."""
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list | None = None) -> None:
            await super().startup(sockets)
            started.set()

    server = Server(config)
    with closing(listening_socket("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        assert started.wait(30)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture
def server_url(container: Container) -> Iterator[str]:
    with serving(container) as url:
        yield url


def runner(container: Container, *extra: str) -> Run:
    @contextmanager
    def local(*, any_model: bool = False, must_exist: bool = False) -> Iterator[ContainerBackend]:
        yield ContainerBackend(container)

    backends = Backends(local=local, remote=open_remote)

    def run(*arguments: object) -> Result:
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(app, [*words, *extra], obj=backends, catch_exceptions=False)

    return run


@pytest.fixture
def run_local(container: Container) -> Run:
    """Runs a command on the test's container."""
    return runner(container)


@pytest.fixture(params=["local", "remote"])
def run(request: pytest.FixtureRequest, container: Container) -> Run:
    """Runs a command on the test's container: directly, and through a real server."""
    if request.param == "local":
        return runner(container)
    return runner(container, "--url", request.getfixturevalue("server_url"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a process: a data directory of its own, nothing of the developer's."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    (tmp_path / "sources").mkdir(exist_ok=True)
    return inherited | {
        "DATA_DIR": str(tmp_path / "process-data"),
        "SOURCE_ROOTS": str(tmp_path / "sources"),
        "HOST": "127.0.0.1",
        "PORT": "0",
        "DISABLE_AUTO_INDEXING": "true",
    }


@pytest.fixture
def heeded_ctrl_c() -> Iterator[None]:
    """Ctrl-C ends processes that a test starts, also where the tests themselves ignore it.

    So does whatever a shell starts in the background (`make test &`), and each process hands it on.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def start(
    environment: dict[str, str], tmp_path: Path, heeded_ctrl_c: None
) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts `groundwork …` as a process, in an empty working directory."""
    processes = []

    def start_one(*arguments: object, **changed: Any) -> subprocess.Popen:
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", *map(str, arguments)],
            env=environment | {"PYTHONPATH": str(Path(__file__).parents[2])},
            **how | changed,
        )
        processes.append(process)
        return process

    yield start_one
    for process in processes:
        with process:
            process.kill()
