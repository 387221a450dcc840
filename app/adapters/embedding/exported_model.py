"""A model converted for the fast runtime: where it is kept, how checked, how it gets there."""

import errno
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from app.adapters.child_modules import module_command, module_environment
from app.adapters.embedding.model_files import (
    ModelFiles,
    require_reference_libraries,
    sha256_of_file,
)
from app.errors import StartupError

FORMAT_VERSION = 1
MANIFEST = "export.json"
MODEL = "model.xml"
WEIGHTS = "model.bin"
TOKENIZER = "tokenizer.json"
CHECKED_FILES = (MODEL, WEIGHTS, TOKENIZER)

EXPORT_MODULE = "app.adapters.embedding.export"
EXPORT_TIMEOUT_SECONDS = 1800.0
"""Converting MiniLM takes about 25 s on two cores: importing torch, trying ways to run it."""
ABANDONED_SECONDS = 2 * EXPORT_TIMEOUT_SECONDS
"""A work folder this old belongs to an export that was killed."""
WORK_PREFIX = ".export-"

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""For NumPy's matrices: beside other work, its threads wait for each other more than they help."""


@dataclass(frozen=True)
class ExportManifest:
    """What is written beside a converted model; it is complete and undamaged if the files agree."""

    model_name: str
    fingerprint: str
    dimension: int
    window_tokens: int
    padding_id: int
    precision: str | None
    """Inference precision to ask of the runtime; None leaves the choice to it."""
    lowest_cosine: float
    """To the reference, over the texts that the export was checked with."""
    pooling: str
    weights_sha256: str
    tokenizer_sha256: str
    openvino_version: str
    files: Mapping[str, str]
    """SHA-256 of each file, by name."""
    matrices: str = "float"
    """How they are stored and multiplied: `int8`, or `float` in the inference precision."""
    int8_group: int = 128
    """Numbers that share a scale in 8 bits; 0 in `float`. Older manifests leave it out."""
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True)
class ExportedModel:
    """A converted model that has been verified."""

    folder: Path
    manifest: ExportManifest


def ensure_exported(
    model: ModelFiles, models_dir: Path, *, may_write: bool = True
) -> ExportedModel:
    """The converted model in this folder of models, made first where it is missing or damaged.

    Raises StartupError; without `may_write`, also where it would have to be made.
    """
    target = models_dir.absolute() / model.fingerprint
    found = load_export(target)
    if found is not None:
        return found
    if not may_write:
        raise StartupError(f"The embedding model {model.name!r} is not converted in {target}.")
    require_reference_libraries()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target.parent)
        _run_export(model, target)
    except OSError as error:
        raise StartupError(describe_storage_error(error, models_dir)) from error
    found = load_export(target)
    if found is None:
        raise StartupError(
            f"The converted model in {target} is damaged although it was written just now. Check "
            "the disk, remove that folder and start again."
        )
    return found


def load_export(folder: Path) -> ExportedModel | None:
    """The converted model in this folder, or None if there is none or it is damaged."""
    try:
        manifest = ExportManifest(**json.loads((folder / MANIFEST).read_text("utf-8")))
        if manifest.format_version != FORMAT_VERSION or set(manifest.files) != set(CHECKED_FILES):
            return None
        for name, expected in manifest.files.items():
            if sha256_of_file(folder / name) != expected:
                return None
    except (OSError, ValueError, TypeError):
        return None
    return ExportedModel(folder, manifest)


def new_work_folder(target: Path) -> Path:
    """An empty folder beside the target, to be filled and then published."""
    folder = target.parent / f"{WORK_PREFIX}{secrets.token_hex(6)}"
    folder.mkdir()
    return folder


def write_manifest(folder: Path, manifest: ExportManifest) -> None:
    """Write the manifest, and make sure that all files are on the disk."""
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2) + "\n", "utf-8")
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish(work: Path, target: Path) -> None:
    """Put a finished work folder in place in one step; a sound one that is there already stays."""
    while True:
        try:
            work.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return
        if load_export(target) is not None:
            shutil.rmtree(work)
            return
        discarded = target.parent / f"{WORK_PREFIX}{secrets.token_hex(6)}"
        try:
            target.rename(discarded)
        except FileNotFoundError:
            continue  # another process has moved it away first
        shutil.rmtree(discarded)


def describe_storage_error(error: OSError, models_dir: Path) -> str:
    """What is wrong with the disk, and what to do."""
    reason = error.strerror or str(error)
    advice = "Check that DATA_DIR (or MODELS_DIR) is a folder that this user may write to."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "Free some space there, or set DATA_DIR (or MODELS_DIR) to another disk."
    return f"The embedding model cannot be prepared in {models_dir}: {reason}. {advice}"


def _remove_abandoned(folder: Path) -> None:
    for path in folder.glob(f"{WORK_PREFIX}*"):
        with suppress(FileNotFoundError):  # another process is removing it too
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(path)


def _run_export(model: ModelFiles, target: Path) -> None:
    log_path = target.parent / f"export-{model.fingerprint}.log"
    command = module_command(EXPORT_MODULE, model.name, str(model.folder), str(target))
    with log_path.open("w", encoding="utf-8") as log:
        try:
            code = subprocess.run(  # noqa: S603 — our own module, no shell
                command,
                env={**module_environment(), **OFFLINE, **ONE_THREAD},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=EXPORT_TIMEOUT_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
    if code != 0:
        outcome = "took too long" if code is None else f"ended with code {code}"
        lines = log_path.read_text("utf-8", "replace").strip().splitlines()
        raise StartupError(
            f"Converting the embedding model {model.name!r} {outcome}: {' | '.join(lines[-3:])} "
            f"(all output: {log_path}). Try again after putting that right, or set "
            "EMBEDDING_PROVIDER=sentence-transformers to run the model without conversion."
        )
