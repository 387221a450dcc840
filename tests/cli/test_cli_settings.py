"""Settings that a person got wrong, as the command tells them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app
from app.command import choosing
from app.command.serving import listening_socket
from app.database import Database
from app.errors import StartupError
from app.settings import Settings, settings_from_environment
from tests.slow import slow

Start = Callable[..., "subprocess.Popen[str]"]
WAIT_SECONDS = 60


def refusal(process: "subprocess.Popen[str]") -> str:
    """The one sentence that a command with a wrong setting ends with."""
    out, err = process.communicate(timeout=WAIT_SECONDS)
    return complaint(process.returncode, out, err)


def complaint(exit_code: int | None, out: str, err: str) -> str:
    assert (exit_code, out) == (2, "")
    assert err.count("\n") == 1
    return err


@pytest.fixture
def refusal_of_stats(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], str]:
    """What `groundwork stats` ends with, without a process of its own: that takes 0.8 s of CPU."""

    def ask() -> str:
        for name in {*os.environ} - {*environment}:
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(choosing, "end_like_ctrl_c", lambda: None)  # this process goes on
        ended = CliRunner().invoke(app, ["stats"])
        return complaint(ended.exit_code, ended.stdout, ended.stderr)

    return ask


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('PORT=1\nDATA_DIR="/kb\n', "line 2 is no NAME=value, or its quotes do not close"),
        ("# Ours\n\nPORT=1\n\n\nan API key\n", "line 6 is no NAME=value"),
        ("PORT=1\n\nDATA_DIR=/kb\0\n", "line 3 holds a character NUL"),
    ],
)
def test_a_line_of_the_env_file_that_cannot_be_read_is_told_and_not_passed_over(
    refusal_of_stats: Callable[[], str], tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / ".env").write_text(text)
    assert f"{tmp_path / '.env'} cannot be read: {told}" in refusal_of_stats()


def test_what_dotenv_files_may_hold_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '\ufeff# Ours\r\n\r\nexport PORT=4711\r\nHOST = "::1" # here\r\nUNKNOWN\r\n'
    (tmp_path / ".env").write_bytes(text.encode())
    monkeypatch.chdir(tmp_path)
    for name in ("PORT", "HOST"):
        monkeypatch.delenv(name, raising=False)
    settings = settings_from_environment()
    assert (settings.port, settings.host) == (4711, "::1")


@pytest.mark.parametrize("command", ["serve", "stats"])
def test_an_env_file_that_is_no_utf8_is_one_sentence(
    start: Start, tmp_path: Path, command: str
) -> None:
    (tmp_path / ".env").write_bytes("CHUNK_SIZE=900\n".encode("utf-16"))
    assert f"{tmp_path / '.env'} cannot be read: it is not text in UTF-8" in refusal(start(command))


@pytest.mark.parametrize("seconds", ["inf", "1e30"])
@pytest.mark.parametrize(
    "name",
    ["FETCH_TIMEOUT_SECONDS", "EMBEDDING_TIMEOUT_SECONDS", "INDEX_CARE_INTERVAL_SECONDS"],
)
def test_a_time_that_no_clock_can_wait_for_is_refused_at_the_start(
    refusal_of_stats: Callable[[], str], environment: dict[str, str], name: str, seconds: str
) -> None:
    environment[name] = seconds
    assert refusal_of_stats().startswith(f"Error: {name}: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FETCH_ALLOW_HOSTS", "wiki.intern, http://intern/wiki"),
        ("ROBOTS_IGNORE_HOSTS", "intern/wiki"),
        ("FETCH_ALLOW_HOSTS", "*"),
        ("FETCH_ALLOW_HOSTS", "wiki.intern:http"),
        ("FETCH_ALLOW_HOSTS", "wiki.intern:99999"),
        ("FETCH_ALLOW_HOSTS", "wiki.intern:0"),
        ("FETCH_ALLOW_HOSTS", "[::1]:http"),
        ("FETCH_ALLOW_HOSTS", "[wiki.intern]:80"),
        ("FETCH_ALLOW_HOSTS", "wiki.intern:80:80"),
        ("FETCH_ALLOW_HOSTS", ":8080"),
        ("ROBOTS_IGNORE_HOSTS", ".intern"),
        ("ALLOWED_HOSTS", "*.intern"),
        ("ALLOWED_HOSTS", "docs.intern wiki.intern"),
        ("ALLOWED_HOSTS", "docs.intern:8000"),
        ("ALLOWED_HOSTS", "docs.intern:http"),
        ("ALLOWED_HOSTS", "[::1]"),
        ("CORS_ALLOW_ORIGINS", "app.example.com"),
        ("CORS_ALLOW_ORIGINS", "https://app.example.com/start"),
        ("CORS_ALLOW_ORIGINS", "https://*.example.com"),
    ],
)
def test_an_entry_that_could_never_match_is_refused(
    refusal_of_stats: Callable[[], str], environment: dict[str, str], name: str, value: str
) -> None:
    environment[name] = value
    assert refusal_of_stats().startswith(
        f"Error: {name}: {value.rsplit(', ', maxsplit=1)[-1]!r} is no "
    )


@pytest.mark.parametrize("host", ["fd00::1", "[fd00::1]", "[fd00::1]:8080", "10.0.0.7:65535"])
def test_hosts_may_be_addresses_with_and_without_a_port(host: str) -> None:
    assert Settings(fetch_allow_hosts=[host]).fetch_allow_hosts == [host]


def test_an_empty_host_is_refused_and_no_wish_to_listen_everywhere(
    start: Start, environment: dict[str, str]
) -> None:
    environment["HOST"] = ""
    assert refusal(start("serve")).startswith("Error: HOST: ")


ONLY_ITS_USER_REFUSES: list[dict[str, str]] = [
    {"DATABASE_URL": "nonsense"},
    {"DATABASE_URL": "sqlite://"},
    {"EMBEDDING_MODEL": "../no/such/folder"},
    {"EMBEDDING_PROVIDER": "openai", "OPENAI_BASE_URL": "localhost:11434"},
]


@pytest.mark.parametrize("wrong", ONLY_ITS_USER_REFUSES, ids=str)
def test_what_only_its_user_refuses_is_a_wrong_setting_too(
    refusal_of_stats: Callable[[], str], environment: dict[str, str], wrong: dict[str, str]
) -> None:
    environment.update(wrong)
    assert list(wrong)[-1] in refusal_of_stats()


@pytest.mark.parametrize(
    "wrong",
    [
        ONLY_ITS_USER_REFUSES[-1],
        *(slow(wrong) for wrong in ONLY_ITS_USER_REFUSES[:-1]),
    ],
    ids=str,
)
def test_what_only_its_user_refuses_keeps_a_server_from_starting(
    start: Start, environment: dict[str, str], wrong: dict[str, str]
) -> None:
    environment.update(wrong)
    assert list(wrong)[-1] in refusal(start("serve"))


@pytest.mark.parametrize("name", ["DATA_DIR", "MODELS_DIR", "SOURCE_ROOTS"])
def test_the_home_of_an_unknown_user_is_refused(
    refusal_of_stats: Callable[[], str], environment: dict[str, str], name: str
) -> None:
    environment[name] = "~nobody-of-this-name/kb"
    assert refusal_of_stats().startswith(f"Error: {name}: '~nobody-of-this-name/kb' is in ")


def test_a_tilde_is_the_home_folder() -> None:
    settings = Settings(data_dir="~/kb", chroma_persist_directory="~/c", source_roots="~/a, /b")
    home = Path.home()
    assert (settings.data_dir, settings.chroma_directory) == (home / "kb", home / "c")
    assert settings.roots == [home / "a", Path("/b")]


def test_only_who_names_the_whole_disk_opens_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings().roots == [tmp_path]
    monkeypatch.setenv("HOME", "/")
    assert Settings().roots == []
    assert Settings(source_roots="/").roots == [Path("/")]


def test_a_home_and_a_working_directory_that_are_not_there_are_no_places_to_read_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    def deleted() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.setattr(Path, "cwd", deleted)
    assert Settings().roots == []


@pytest.mark.parametrize("name", ["", "lexical", "generations", "../link", "../link/lexical"])
def test_the_chroma_index_lies_in_a_folder_of_its_own(
    refusal_of_stats: Callable[[], str], environment: dict[str, str], name: str
) -> None:
    data = Path(environment["DATA_DIR"])
    data.mkdir(exist_ok=True)
    (data.parent / "link").symlink_to(data)
    environment["CHROMA_PERSIST_DIRECTORY"] = f"{data}/{name}"
    assert refusal_of_stats().startswith("Error: CHROMA_PERSIST_DIRECTORY (")
    assert not any(data.iterdir())


def test_the_chroma_index_may_lie_anywhere_else(tmp_path: Path) -> None:
    for folder in (tmp_path / "chroma", tmp_path / "index", tmp_path.parent):
        settings = Settings(_env_file=None, data_dir=tmp_path, chroma_persist_directory=folder)
        assert settings.chroma_directory == folder


def test_an_empty_data_dir_is_the_default_and_not_the_working_directory() -> None:
    assert Settings(data_dir="").data_dir == Path("data")


@pytest.mark.parametrize("name", ["100%25 % %s", "is it here?a=1&b#c", "für uns: @home"])
def test_the_database_lies_in_the_data_dir_whatever_its_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    database = Database(Settings(_env_file=None, data_dir=folder).resolved_database_url)
    database.migrate()
    database.close()
    assert [file.name for file in folder.iterdir()] == ["groundwork.db"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_data_dir_that_cannot_be_looked_at_is_refused_with_a_sentence(
    start: Start, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["DATA_DIR"] = str(tmp_path / ("long" * 100))
    process = start("stats")
    out, err = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, out) == (3, "")
    assert "cannot be written: File name too long" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("host", ["long" * 20, "a..b", "\udcff"])
def test_a_host_that_can_be_no_name_is_refused_with_a_sentence(host: str) -> None:
    with pytest.raises(StartupError, match="Choose another HOST"):
        listening_socket(host, 0)
