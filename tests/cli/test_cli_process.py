"""The command as a process: how it starts, is refused, is interrupted and stops."""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from app.adapters.data_directory import DataDirectory
from app.command.shell import as_utf8
from app.database import Database
from tests.slow import slow

Start = Callable[..., "subprocess.Popen[str]"]
WAIT_SECONDS = 60


def finish(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=WAIT_SECONDS)
    return process.returncode, out, err


@pytest.fixture
def model(environment: dict[str, str], httpserver: HTTPServer) -> dict[str, Any]:
    """An embedding endpoint for the processes; clear `goes_on` to make it wait."""
    state = {"goes_on": threading.Event(), "asked": threading.Event()}
    state["goes_on"].set()

    def embed(request: Request) -> Response:
        texts = request.get_json()["input"]
        if texts != ["dimension"]:
            state["asked"].set()
            state["goes_on"].wait(WAIT_SECONDS)
        data = [
            {"index": index, "embedding": [1.0, len(text), 3.0]} for index, text in enumerate(texts)
        ]
        return Response(json.dumps({"data": data}), content_type="application/json")

    httpserver.expect_request("/v1/embeddings").respond_with_handler(embed)
    environment["EMBEDDING_PROVIDER"] = "openai"
    environment["OPENAI_BASE_URL"] = httpserver.url_for("/v1")
    return state


def address_of(server: "subprocess.Popen[str]") -> str:
    """Waits until the server says where it listens."""
    assert server.stderr is not None
    seen = []
    for text in server.stderr:
        seen.append(text)
        if found := re.search(r"listens on (http://\S+?:\d+)", text):
            return found[1]
    raise AssertionError("".join(seen))


def loaded_by(program: str, libraries: set[str]) -> str:
    """Which of the libraries are there after the program has run."""
    program += f"; import sys; print(sorted({libraries} & {{*sys.modules}}), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stderr.strip()


def test_what_talks_to_a_server_loads_neither_the_service_nor_a_model() -> None:
    service = {"sqlalchemy", "fastapi", "tantivy", "chromadb", "openvino", "torch"}
    program = "import app.cli, app.command.remote, app.command.indexing"
    assert loaded_by(program, service) == "[]"


def test_what_opens_a_data_directory_loads_no_web_server() -> None:
    program = "import app.command.local, app.evaluation.running, app.library"
    assert loaded_by(program, {"fastapi", "starlette", "uvicorn"}) == "[]"


@pytest.mark.parametrize(
    ("command", "setting"), [("stats", {"CHUNK_SIZE": "many"}), ("verify", {})], ids=["", "no data"]
)
def test_what_is_refused_for_its_settings_loads_no_service(
    environment: dict[str, str], command: str, setting: dict[str, str]
) -> None:
    program = (
        f"import os; os.environ.update({environment | setting}); from app.cli import app\n"
        f"try: app(['{command}'])\nexcept SystemExit as end: assert end.code in (2, 3)\npass"
    )
    assert loaded_by(program, {"sqlalchemy", "app.container"}).splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["search", "--help"], ["eval", "--help"]], ids=" ".join
)
def test_help_loads_nothing_that_only_a_command_at_work_needs(arguments: list[str]) -> None:
    program = f"from app.cli import app; app({arguments}, standalone_mode=False)"
    heavy = {"pydantic", "httpx", "numpy", "anyio", "sqlalchemy", "fastapi", "chromadb", "torch"}
    assert loaded_by(program, heavy) == "[]"


def test_version_and_help_need_nothing(start: Start, environment: dict[str, str]) -> None:
    code, out, _ = finish(start("--version"))
    assert code == 0
    assert re.fullmatch(r"groundwork \d+\.\d+\.\d+\n", out)
    code, out, _ = finish(start("--help"))
    assert code == 0
    assert "Exit codes" in out
    assert not Path(environment["DATA_DIR"]).exists()


def test_openapi_is_sorted_json_and_opens_no_data_directory(
    start: Start, environment: dict[str, str]
) -> None:
    code, out, _ = finish(start("openapi"))
    assert code == 0
    document = json.loads(out)
    assert list(document) == sorted(document)
    assert "/api/v1/rag/search" in document["paths"]
    assert not Path(environment["DATA_DIR"]).exists()


def test_a_wrong_setting_is_named(start: Start, environment: dict[str, str]) -> None:
    environment["CHUNK_SIZE"] = "many"
    code, out, err = finish(start("stats"))
    assert (code, out) == (2, "")
    assert err.startswith("Error: CHUNK_SIZE: ")
    assert err.count("\n") == 1


def test_a_directory_in_use_is_refused_with_3_and_the_way_out(
    start: Start, environment: dict[str, str]
) -> None:
    directory = DataDirectory(Path(environment["DATA_DIR"]))
    directory.acquire()
    code, out, err = finish(start("list", "--json"))
    assert (code, out) == (3, "")
    assert "is in use by process" in err
    assert "--url" in err
    code, _, err = finish(start("serve"))
    assert code == 1
    assert err.count("\n") == 1
    directory.release()


def test_an_address_in_use_is_one_sentence(start: Start, environment: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = finish(start("serve", "--port", taken.getsockname()[1]))
    assert code == 1
    assert "Address already in use" in err
    assert err.count("\n") == 1
    assert not Path(environment["DATA_DIR"]).exists()


def stop(server: "subprocess.Popen[str]", number: signal.Signals, data_dir: str) -> str:
    """Stops a server in order; gives what it has said."""
    server.send_signal(number)
    code, out, err = finish(server)
    assert code == 0
    assert "Traceback" not in err
    assert (Path(data_dir) / "stopped-cleanly").exists()
    return out + err


def test_a_server_prints_its_port_and_ctrl_c_stops_it_in_order(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    server = start("serve")
    address = address_of(server)
    assert httpx.get(f"{address}/health/live").json() == {"status": "alive"}
    stop(server, signal.SIGINT, environment["DATA_DIR"])


def test_sigterm_stops_a_server_in_order_and_its_log_holds_no_query(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    server = start("serve")
    httpx.get(f"{address_of(server)}/api/v1/rag/search", params={"q": "secretword"})
    said = stop(server, signal.SIGTERM, environment["DATA_DIR"])
    assert "/api/v1/rag/search" in said
    assert "secretword" not in said


def test_a_locale_of_another_encoding_gives_no_file_another_name(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    environment |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    name = "Käse größe 日本.md"
    folder = Path(environment["SOURCE_ROOTS"])
    (folder / name).write_text("# Käse\n\nRinds are washed.\n", "utf-8")
    raw = {"text": False}
    for arguments in (["index", folder, "--json"], ["search", "Käse", "--json"]):
        out, err = start(*arguments, **raw).communicate(timeout=WAIT_SECONDS)
        assert err.decode() == "" or arguments[0] == "index", err.decode()
    (found,) = json.loads(out)["results"]
    assert found["citation"].startswith(name)


@pytest.mark.parametrize(
    ("argument", "given", "taken"),
    [
        ("Käse", b"K\xe4se", "Käse".encode()),  # typed in a terminal of that encoding
        (
            "KÃ¤se",
            "Käse".encode(),
            "Käse".encode(),
        ),  # the name of a file, as the shell completes it
        ("K\udce4se", b"K\xe4se", b"K\xe4se"),  # in ASCII it is no text
        ("search", b"search", b"search"),
    ],
)
def test_an_argument_of_another_encoding_is_taken_for_what_it_says(
    argument: str, given: bytes, taken: bytes
) -> None:
    assert as_utf8(argument, given) == taken


def test_who_has_no_home_and_no_working_directory_can_use_a_data_directory(
    start: Start, environment: dict[str, str], model: dict[str, Any], tmp_path: Path
) -> None:
    deleted = tmp_path / "deleted"
    deleted.mkdir()
    environment.pop("HOME", None)
    code, out, err = finish(start("stats", "--json", cwd=deleted, preexec_fn=deleted.rmdir))
    assert code == 0, err
    assert json.loads(out)["total_items"] == 0


def test_a_server_whose_log_nobody_reads_can_be_stopped_all_the_same(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    server = start("serve")
    address = address_of(server)
    assert server.stderr is not None
    fcntl.fcntl(server.stderr, fcntl.F_SETPIPE_SZ, 4096)
    with httpx.Client(timeout=2) as client:
        answered = 0
        with suppress(httpx.TimeoutException):
            while client.get(f"{address}/health/live"):
                answered += 1
                assert answered < 10_000
    unread = fcntl.ioctl(server.stderr, termios.FIONREAD, bytes(4))
    assert int.from_bytes(unread, sys.byteorder) > 3500, (
        "else it was not the log that it waited for"
    )
    server.send_signal(signal.SIGTERM)
    assert server.wait(WAIT_SECONDS) == 0


def in_a_terminal(terminal: int) -> None:
    """Makes a terminal that of this process, which then hears when it closes."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_a_terminal_that_closes_stops_a_server_in_order(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    window, terminal = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    server = start(
        "serve", **streams, start_new_session=True, preexec_fn=lambda: in_a_terminal(terminal)
    )
    os.close(terminal)
    said = b""
    while b"listens on" not in said:
        said += os.read(window, 4096)
    os.close(window)
    assert server.wait(WAIT_SECONDS) == 0
    assert (Path(environment["DATA_DIR"]) / "stopped-cleanly").exists()


@pytest.mark.slow
def test_a_server_started_with_nohup_outlives_its_terminal(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    server = start("serve", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    address = address_of(server)
    server.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        server.wait(2)
    assert httpx.get(f"{address}/health/live").json() == {"status": "alive"}
    stop(server, signal.SIGTERM, environment["DATA_DIR"])


def test_the_second_ctrl_c_ends_the_server_at_once(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    source = Path(environment["SOURCE_ROOTS"]) / "a.md"
    source.write_text("# A\n\ntext\n")
    server = start("serve")
    address = address_of(server)
    model["goes_on"].clear()
    item = {"title": "a", "uri": str(source), "document_type": "markdown"}
    httpx.post(f"{address}/api/v1/knowledge", json=item)
    held = threading.Thread(target=_index_in_vain, args=(f"{address}/api/v1/rag/index/1",))
    held.start()
    assert model["asked"].wait(WAIT_SECONDS)
    server.send_signal(signal.SIGINT)
    assert server.stderr is not None
    while "Stopping" not in server.stderr.readline():
        pass
    server.send_signal(signal.SIGINT)
    assert server.wait(WAIT_SECONDS) == 130
    model["goes_on"].set()
    held.join()


def _index_in_vain(address: str) -> None:
    """The server ends without an answer, or had the time to say that it stops."""
    with suppress(httpx.HTTPError):
        assert httpx.post(address, timeout=WAIT_SECONDS).status_code == 503


def test_ctrl_c_during_index_exits_130_and_leaves_the_data_consistent(
    start: Start, environment: dict[str, str], model: dict[str, Any]
) -> None:
    folder = Path(environment["SOURCE_ROOTS"])
    for number in range(3):
        (folder / f"{number}.md").write_text(f"# Document {number}\n\ntext {number}\n")
    model["goes_on"].clear()
    process = start("index", folder)
    assert model["asked"].wait(WAIT_SECONDS)
    process.send_signal(signal.SIGINT)
    try:
        code, out, err = finish(process)  # before the model answers: nothing else can end it
    finally:
        model["goes_on"].set()
    assert (code, out) == (130, "")
    assert "Stopped." in err
    assert "Traceback" not in err

    assert finish(start("verify"))[0] == 0
    code, out, _ = finish(start("index", folder, "--json"))
    assert code == 0
    assert json.loads(out)["documents"] == 3


@pytest.mark.parametrize("arguments", [["--help"], ["version"], slow(["openapi"])])
def test_a_reader_that_leaves_is_no_error(start: Start, arguments: list[str]) -> None:
    process = start(*arguments)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(WAIT_SECONDS) == 0


def test_a_reader_that_leaves_takes_no_exit_code_with_it(start: Start) -> None:
    process = start("list", "--url", "http://127.0.0.1:1")
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(WAIT_SECONDS) == 1


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", *(slow(one) for one in (">&-", "2>&-"))])
def test_standard_streams_may_be_closed(closed: str, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v1/rag/generations").respond_with_json({"generations": []})
    command = [sys.executable, "-m", "app.cli", "generations", "--url", httpserver.url_for("")]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    ended = subprocess.run([*shell, *command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_no_file_gets_the_number_of_a_stream_that_was_closed() -> None:
    look = (
        "import os; from app.command.shell import open_outlets; open_outlets(); "
        "names = [os.readlink(f'/proc/self/fd/{number}') for number in (1, 2)]; "
        "raise SystemExit(names != [os.devnull] * 2)"
    )
    shell = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh"]
    ended = subprocess.run([*shell, sys.executable, "-c", look], check=False)
    assert ended.returncode == 0


def test_a_width_of_0_is_none_known(start: Start, environment: dict[str, str]) -> None:
    environment["COLUMNS"] = "0"
    code, _, err = finish(start("list", "--url", "http://127.0.0.1:1"))
    assert (code, err[:23]) == (1, "Error: No server answer")
    assert "no such command" in finish(start("lst"))[2].lower()


def test_a_message_that_cannot_be_written_changes_nothing() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "app.cli", "list", "--url", "http://127.0.0.1:1"]
        assert subprocess.run(command, stderr=full, check=False).returncode == 1


def test_text_that_the_terminal_cannot_show_is_no_error(
    start: Start, environment: dict[str, str], httpserver: HTTPServer
) -> None:
    environment["PYTHONIOENCODING"] = "ascii"
    item = {"id": 1, "title": "Grüße", "uri": "/a.md", "document_type": "markdown"}
    labels = {"category": None, "tags": [], "collection": "docs", "licence": None}
    rest = {"refresh_interval": None, "importance": None, "content_hash": None, "error": None}
    times = dict.fromkeys(("created_at", "updated_at"), "2026-01-01T00:00:00Z")
    state = {"status": "pending", "last_fetched_at": None, "indexed_at": None, "chunk_count": 0}
    httpserver.expect_request("/api/v1/knowledge/1").respond_with_json(
        item | labels | rest | times | state
    )
    code, out, err = finish(start("show", 1, "--url", httpserver.url_for("")))
    assert (code, err) == (0, "")
    assert "Gr??e" in out


@pytest.mark.parametrize("arguments", [["version"], ["--help"]])
def test_results_that_cannot_be_written_are_an_error_in_a_sentence(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "app.cli", *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "Error: The results cannot be written: No space left on device.\n"


LOOKS_AFTER_A_DATA_DIR = pytest.mark.parametrize(
    "command",
    ["verify", *(slow(other) for other in ("rebuild", "compact"))],
)


@LOOKS_AFTER_A_DATA_DIR
def test_a_mistyped_data_dir_is_refused_by_what_looks_after_one_and_not_made(
    start: Start, environment: dict[str, str], model: dict[str, Any], command: str
) -> None:
    """Made, it would be found clean by whoever asks again."""
    missing = environment["DATA_DIR"]
    told = f"Error: There is no data directory {missing}: check DATA_DIR.\n"
    assert finish(start(command)) == (3, "", told)
    assert not Path(missing).exists()


def test_what_looks_after_a_database_elsewhere_needs_no_data_dir_yet(
    start: Start, environment: dict[str, str], model: dict[str, Any], tmp_path: Path
) -> None:
    """As after a restore of PostgreSQL's on another machine."""
    restored = tmp_path / "restored.db"
    database = Database(f"sqlite:///{restored}")
    database.migrate()
    database.close()
    environment["DATABASE_URL"] = f"sqlite:///{restored}"
    code, out, err = finish(start("verify"))
    assert (code, out[:6]) == (0, "Clean:"), err


@LOOKS_AFTER_A_DATA_DIR
def test_what_finds_neither_a_data_dir_nor_the_database_elsewhere_makes_none(
    start: Start, environment: dict[str, str], model: dict[str, Any], tmp_path: Path, command: str
) -> None:
    missing, mistyped = environment["DATA_DIR"], tmp_path / "restord.db"
    environment["DATABASE_URL"] = f"sqlite:///{mistyped}"
    told = (
        f"Error: There is neither a data directory {missing} nor a database {mistyped}: check "
        "DATA_DIR and DATABASE_URL.\n"
    )
    assert finish(start(command)) == (3, "", told)
    assert not Path(missing).exists()
    assert not mistyped.exists()
