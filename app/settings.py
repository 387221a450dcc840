"""Every setting of Groundwork: typed, described, read from the environment or `.env`."""

import os
import re
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.host_lists import HostNames, HostsAndPorts, Origins

CommaSeparated = NoDecode
"""A list setting is written `a,b,c` in the environment, not as JSON."""

MEBIBYTE = 1024 * 1024

DAY_SECONDS = 24 * 3600.0
"""The most for a time that somebody waits; sockets and locks refuse `inf` and what is near it."""

ENV_FILE = ".env"

TAKEN_FOLDERS = ("", "lexical", "generations")
"""Those of DATA_DIR, itself among them, whose files have names that the Chroma index's have too."""

_CHANGED_LATER = (
    "After a change and a restart, everything that is stored is made anew in the background, from "
    "the text in the database; until that is done, what was made before goes on answering."
)


class Settings(BaseSettings):
    """What can be set, with its default. `.env.example` lists the same fields; a test compares."""

    model_config = SettingsConfigDict(
        env_file=ENV_FILE,
        extra="ignore",
        validate_default=True,
        hide_input_in_errors=True,  # a complaint about two of them shows them all, keys, too
    )

    # Where things are kept
    data_dir: Path = Field(
        Path("./data"), description="Folder of everything that must be kept: back this up."
    )
    database_url: str = Field(
        "", description="SQLAlchemy address; empty means sqlite:///{DATA_DIR}/groundwork.db."
    )

    # The server
    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on.")
    allowed_hosts: Annotated[HostNames, CommaSeparated] = Field(
        default_factory=list,
        description="Domain names under which the service may be called. IP addresses, localhost "
        "and names without a dot always may (they cannot be rebound from outside); * allows all.",
    )
    cors_allow_origins: Annotated[Origins, CommaSeparated] = Field(
        default_factory=list,
        description="Origins of web pages that may call the API, e.g. https://app.example.com.",
    )
    max_request_bytes: int = Field(
        MEBIBYTE, ge=1024, description="Largest request body that is read."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="How much is logged."
    )

    # What may be read
    source_roots: Annotated[list[Path], CommaSeparated] = Field(
        default_factory=list,
        description="Folders that a uri may read from, with commas between them; empty means the "
        "working directory and the user's home, but never /. Hidden files and folders below a root "
        "are never read.",
    )
    file_max_bytes: int = Field(
        10 * MEBIBYTE, ge=1, description="Files over this size are skipped and reported."
    )
    fetch_allow_hosts: Annotated[HostsAndPorts, CommaSeparated] = Field(
        default_factory=list,
        description="host or host:port list that may be fetched though its address is not public.",
    )
    robots_ignore_hosts: Annotated[HostsAndPorts, CommaSeparated] = Field(
        default_factory=list,
        description="host or host:port list of your own sites whose robots.txt need not be heeded.",
    )
    fetch_timeout_seconds: float = Field(
        30.0,
        gt=0,
        le=DAY_SECONDS,
        description="Longest that fetching one page may take, redirects included.",
    )
    fetch_max_bytes: int = Field(
        10 * MEBIBYTE, ge=1, description="Most bytes of one page, after decompression."
    )

    # Chunks
    chunk_size: int = Field(
        1000, ge=1, le=100_000, description=f"Largest chunk, in characters. {_CHANGED_LATER}"
    )
    overlap: int = Field(
        200, ge=0, description=f"Characters that neighbouring chunks share. {_CHANGED_LATER}"
    )

    # Embedding
    embedding_provider: Literal["local", "sentence-transformers", "openai"] = Field(
        "local",
        description="local: fast CPU runtime; sentence-transformers: any model it loads, GPUs; "
        "openai: any OpenAI-compatible endpoint.",
    )
    embedding_model: str = Field(
        "all-MiniLM-L6-v2",
        min_length=1,
        description=f"Name or path of the embedding model. {_CHANGED_LATER}",
    )
    models_dir: Path | None = Field(
        None, description="Folder of converted models; empty means {DATA_DIR}/models."
    )
    embedding_allow_download: bool = Field(
        False, description="Allow fetching a missing model from the Hugging Face hub."
    )
    embedding_batch_tokens: int = Field(
        512, ge=256, description="Padded tokens of one inference batch."
    )
    embedding_threads: int = Field(
        0, ge=0, description="Threads for inference; 0 means one per core, which is the most."
    )
    embedding_timeout_seconds: float = Field(
        30.0,
        gt=0,
        le=DAY_SECONDS,
        description="Longest that one call to an embedding endpoint may take.",
    )
    openai_api_key: SecretStr = Field(
        SecretStr(""), description="Key for the OpenAI-compatible endpoint."
    )
    openai_base_url: str = Field(
        "https://api.openai.com/v1", description="OpenAI-compatible endpoint (Ollama: …/v1)."
    )

    # Indexes
    vector_index: Literal["chroma", "exact"] = Field(
        "chroma", description="chroma: approximate, on disk; exact: a scan in memory."
    )
    chroma_persist_directory: Path | None = Field(
        None, description="Folder of the Chroma index; empty means {DATA_DIR}/chroma."
    )
    chroma_collection_name: str = Field(
        "knowledge_base", description="Chroma collection, and the default collection of an item."
    )
    lexical_language: str = Field(
        "english",
        description="Language whose words are reduced to their stems for the search by words: a "
        "name that Snowball knows (english, german, french, spanish, ...). Collections may name "
        "their own over HTTP. After a change the lexical index is made anew at the next start.",
    )

    index_care_interval_seconds: float = Field(
        3600.0,
        ge=0,
        le=366 * DAY_SECONDS,
        description="Pause in seconds between two comparisons of the indexes with the database, "
        "which mend what differs, in the background and gently; 0 turns them off.",
    )

    # Work in the background
    index_threads: int = Field(2, ge=1, le=32, description="Items that are indexed side by side.")
    most_queued_jobs: int = Field(
        1000, ge=1, description="Jobs that may wait; further ones are answered 503."
    )
    most_waiting_searches: int = Field(
        256,
        ge=0,
        description="Searches that may wait for a free thread, and as many with long queries; "
        "further ones are answered 503.",
    )
    disable_auto_indexing: bool = Field(
        False,
        description="Turn off all indexing that nobody asked for: neither are folders watched nor "
        "sources looked at again after their refresh_interval. A change of EMBEDDING_MODEL, "
        "CHUNK_SIZE or OVERLAP is made all the same: that reads no source.",
    )

    @field_validator(
        "allowed_hosts",
        "cors_allow_origins",
        "source_roots",
        "fetch_allow_hosts",
        "robots_ignore_hosts",
        mode="before",
    )
    @classmethod
    def _split_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("data_dir", "chroma_persist_directory", "models_dir", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object, about: ValidationInfo) -> object:
        return cls.model_fields[str(about.field_name)].default if value == "" else value

    @field_validator("data_dir", "chroma_persist_directory", "models_dir", "source_roots")
    @classmethod
    def _tilde_is_a_home(cls, value: Path | list[Path] | None) -> Path | list[Path] | None:
        if value is None:
            return None
        return [_at_home(path) for path in value] if isinstance(value, list) else _at_home(value)

    @field_validator("chroma_collection_name")
    @classmethod
    def _collection_name_suits_chroma(cls, value: str) -> str:
        if not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,500}[a-zA-Z0-9]", value):
            message = (
                "use 3 to 502 letters, digits, '.', '_' or '-', with a letter or digit at both ends"
            )
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Self:
        if self.overlap >= self.chunk_size:
            message = (
                f"OVERLAP ({self.overlap}) must be smaller than CHUNK_SIZE ({self.chunk_size})"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _chroma_lies_apart(self) -> Self:
        chroma, data = map(os.path.realpath, (self.chroma_directory, self.data_dir))
        if chroma in (str(Path(data, name)) for name in TAKEN_FOLDERS):
            message = (
                f"CHROMA_PERSIST_DIRECTORY ({chroma}) holds other things of Groundwork: name a "
                f"folder for the index alone, or leave it empty to mean {data}/chroma"
            )
            raise ValueError(message)
        return self

    @property
    def resolved_database_url(self) -> str:
        """The database address, with the default filled in."""
        path = str(self.data_dir.absolute() / "groundwork.db")
        # In an address, % begins a character's code and ? what is no path any more.
        return self.database_url or f"sqlite:///{path.replace('%', '%25').replace('?', '%3F')}"

    @property
    def chroma_directory(self) -> Path:
        """The folder of the Chroma index, with the default filled in."""
        return self.chroma_persist_directory or self.data_dir / "chroma"

    @property
    def models_directory(self) -> Path:
        """The folder of the converted models, with the default filled in."""
        return self.models_dir or self.data_dir / "models"

    @property
    def embeds_here(self) -> bool:
        """Whether this process runs the model; elsewhere each question may cost money."""
        return self.embedding_provider != "openai"

    @property
    def roots(self) -> list[Path]:
        """The folders that a local `uri` may read from, with the default filled in.

        That never opens the whole disk: system services run in `/`, and some have it as their home.
        """
        if self.source_roots:
            return self.source_roots
        own = []
        for find in (Path.cwd, Path.home):
            with suppress(OSError, RuntimeError):  # deleted; a user whom the system does not know
                own.append(find())
        return [folder for folder in own if folder != folder.parent]


def _at_home(path: Path) -> Path:
    """The path with `~` written out, which no shell does in `.env`."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError(f"{str(path)!r} is in the home of a user who is not known here") from error


def settings_from_environment(**given: Any) -> Settings:
    """The settings of this process; `given` goes before the environment, and that before `.env`.

    Raises ValidationError for what cannot be used, and where `.env` cannot be read.
    """
    try:
        fault_in_lines = _fault_in_lines()
        if fault_in_lines is None:
            return Settings(**given)
        reason = fault_in_lines
    except UnicodeDecodeError as error:
        reason = f"it is not text in UTF-8 (byte {error.start}); save it in that encoding"
    except OSError as error:
        reason = error.strerror or str(error)
    fault = PydanticCustomError("env_file", "{text}", {"text": _unreadable(reason)})
    raise ValidationError.from_exception_data(
        Settings.__name__, [InitErrorDetails(type=fault, input=ENV_FILE)]
    )


def _fault_in_lines() -> str | None:
    """What is wrong with a line of `.env`, which would be left out, and perhaps others with it."""
    path = Path(ENV_FILE)
    if not path.is_file():
        return None
    from dotenv.parser import parse_stream  # noqa: PLC0415 - few have the file

    with path.open(encoding="utf-8-sig") as file:
        for binding in parse_stream(file):
            text, line = binding.original.string, binding.original.line
            if binding.error:
                line += text[: len(text) - len(text.lstrip())].count("\n")
                return f"line {line} is no NAME=value, or its quotes do not close"
            if "\0" in text:
                line += text.partition("\0")[0].count("\n")
                return f"line {line} holds a character NUL"
    return None


def _unreadable(reason: str) -> str:
    path = Path(ENV_FILE)
    with suppress(OSError):  # in a folder that was deleted
        path = path.absolute()
    return f"The file {path} cannot be read: {reason}."


def env_example() -> str:
    """The text of `.env.example`: every setting with its description and default."""
    lines = [
        "# Every setting of Groundwork with its default. Copy to .env and change what you need."
    ]
    for name, field in Settings.model_fields.items():
        description = textwrap.wrap(str(field.description), 96)
        default = field.get_default(call_default_factory=True)
        if isinstance(default, SecretStr) or default is None or default == []:
            default = ""
        if isinstance(default, bool):
            default = str(default).lower()
        value = "./data" if name == "data_dir" else default
        lines += ["", *(f"# {line}" for line in description), f"{name.upper()}={value}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(env_example())
