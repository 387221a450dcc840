"""Converts a sentence-transformers model for OpenVINO: run once per model, in a child process.

`python -m app.adapters.embedding.export NAME FOLDER TARGET`. Only this process imports torch, so
the service's own never does.
"""

import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from app.adapters.embedding.exported_model import (
    CHECKED_FILES,
    MODEL,
    OFFLINE,
    TOKENIZER,
    ExportManifest,
    describe_storage_error,
    new_work_folder,
    publish,
    write_manifest,
)
from app.adapters.embedding.model_files import ModelFiles, find_model, sha256_of_file
from app.adapters.embedding.openvino_runtime import TokenIds, import_openvino
from app.adapters.embedding.precision_choice import Reference, choose_precision
from app.adapters.embedding.token_meter import load_tokenizer
from app.errors import AppError, StartupError

BLOCK_BYTES = 1024 * 1024

CHECK_TEXTS = (
    "",
    "Where are tokens refreshed?",
    "naïve café — Größe, 東京の天気, Привет, مرحبا, 👩‍🚀",
    "def get_user_name(user_id: int) -> str:\n    return users[user_id].name\n",
    "The quick brown fox jumps over the lazy dog. " * 4,
    "| setting | default |\n| --- | --- |\n| `CHUNK_SIZE` | 1000 |\n| `OVERLAP` | 200 |\n" * 4,
    "Each request opens one transaction, and it is committed before the answer is sent. " * 9,
    "A paragraph that is longer than any window of the model, so that it must be cut. " * 60,
)
"""Empty, short, of many scripts, code, a table, and longer than the window: one padded batch."""

CALIBRATION_TEXTS = (
    "",
    "timeout",
    "How do I read a file line by line?",
    "import json\n\nwith open('settings.json') as file:\n    print(json.load(file)['name'])\n",
    "1. Open the lid.\n2. Fill in *cold* water.\n\n- `kettle --on`\n- wait for 3 minutes\n",
    "Das Wetter war schön, und die Bäume waren schon grün.",
    "Les données sont écrites avant que la réponse parte.",
    "日本語の文章と中文的句子",
    "Вопросы и ответы",
    "HTTP/1.1 404 Not Found: /items?id=42&page=7",
    "The committee met in 1987 and in 1991; its report of 300 pages was never printed. What it "
    "found out about the decline of bees in the north is known from letters alone. " * 5,
)
"""Show how large the numbers inside the model become; none of them is among the texts above."""


def export_model(model: ModelFiles, target: Path) -> None:
    """Convert, compare with the reference, publish. Raises StartupError and OSError."""
    work = new_work_folder(target)
    try:
        _require_space(model, work)
        reference = _load_reference(model)
        _save_graph(reference, work / MODEL)
        reference.tokenizer.backend_tokenizer.save(str(work / TOKENIZER))
        padding_id = int(reference.tokenizer.pad_token_id or 0)
        expected = np.asarray(
            reference.encode(list(CHECK_TEXTS), normalize_embeddings=True, show_progress_bar=False)
        )
        tokenizer = load_tokenizer(work / TOKENIZER)
        tokenizer.enable_truncation(model.window_tokens)
        chosen = choose_precision(
            work,
            Reference(_tokenised(tokenizer, CHECK_TEXTS), padding_id, expected),
            _tokenised(tokenizer, CALIBRATION_TEXTS),
        )
        manifest = ExportManifest(
            model_name=model.name,
            fingerprint=model.fingerprint,
            dimension=expected.shape[1],
            window_tokens=model.window_tokens,
            padding_id=padding_id,
            precision=chosen.precision,
            matrices=chosen.matrices,
            int8_group=chosen.int8_group,
            lowest_cosine=chosen.lowest_cosine,
            pooling=model.pooling,
            weights_sha256=model.weights_sha256,
            tokenizer_sha256=model.tokenizer_sha256,
            openvino_version=str(import_openvino().__version__),
            files={name: sha256_of_file(work / name) for name in CHECKED_FILES},
        )
        write_manifest(work, manifest)
        publish(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _require_space(model: ModelFiles, work: Path) -> None:
    """Find out now that a disk is full, by an OSError, which the later writing does not give."""
    needed_bytes = sum(path.stat().st_size for path in model.weight_files)
    probe = work / "space"
    with probe.open("wb") as file:
        for _ in range(needed_bytes // BLOCK_BYTES + 1):
            file.write(bytes(BLOCK_BYTES))
        file.flush()
        os.fsync(file.fileno())
    probe.unlink()


def _load_reference(model: ModelFiles) -> Any:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 — slow; after the checks

    if "PoolingWithoutPrompt" in model.pooling and model.document_prefix + model.query_prefix:
        raise StartupError(
            "This model leaves its prompt out of pooling, which the converted graph cannot do. Set "
            "EMBEDDING_PROVIDER=sentence-transformers."
        )
    reference = SentenceTransformer(str(model.folder), device="cpu", local_files_only=True)
    reference.max_seq_length = model.window_tokens
    return reference.eval()


def _save_graph(reference: Any, path: Path) -> None:
    """Trace the whole module, pooling included, with free batch size and length."""
    import torch  # noqa: PLC0415 — as above

    openvino = import_openvino()

    class Encoder(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.reference = reference

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            embedding = self.reference(features)["sentence_embedding"]
            return torch.nn.functional.normalize(embedding, p=2, dim=1)

    rows = [[101, 2000, 3000, 4000, 102], [101, 2000, 102, 0, 0], [101, 102, 0, 0, 0]]
    example = torch.tensor(rows) % reference.tokenizer.vocab_size
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing remarks on every branch that it takes
        graph = openvino.convert_model(
            Encoder(),
            example_input={"input_ids": example, "attention_mask": (torch.tensor(rows) > 0).long()},
        )
    # Half-precision weights halve file, start and memory; the check below sees what they cost.
    openvino.save_model(graph, str(path), compress_to_fp16=True)


def _tokenised(tokenizer: Any, texts: Sequence[str]) -> list[TokenIds]:
    return [np.array(tokenizer.encode(text).ids, np.int64) for text in texts]


def main(arguments: Sequence[str]) -> int:
    """Export the model in FOLDER to TARGET; 0 if it stands there afterwards."""
    name, folder, target = arguments
    os.environ.update(OFFLINE)
    try:
        export_model(replace(find_model(folder), name=name), Path(target))
    except OSError as error:
        print(describe_storage_error(error, Path(target).parent), file=sys.stderr)  # noqa: T201
        return 1
    except AppError as error:
        print(error.detail, file=sys.stderr)  # noqa: T201 — the log of the export
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
