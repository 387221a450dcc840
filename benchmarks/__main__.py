"""`make bench`: what is promised of speed, memory and quality, measured, as one report with plots.

    python -m benchmarks DATA [--only PART …] [--output FOLDER] [--txtai PYTHON] …

DATA holds docs_fastapi.tar.gz, docs_peps.tar.gz, scale_passages and the question sets. The parts:
`embedding` (beside sentence-transformers), `service` (two documentation trees), `scale` (search
among --passages over HTTP) and `txtai` (beside txtai, only with --txtai). The report is written
anew after each part, so that a run that is broken off leaves what it has measured.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import beside_txtai, embedding, report, scale, service

EMBEDDED_CHUNKS = 256
EMBEDDING_ROUNDS = 3


def measure_embedding(options: argparse.Namespace) -> dict[str, Any]:
    """The embedder beside sentence-transformers, on the PEPs."""
    with tempfile.TemporaryDirectory(prefix="groundwork-bench-") as folder:
        trees = service.unpack(options.data, Path(folder))
        models = Path(folder) / "models"
        return asdict(
            embedding.measure(trees["docs_peps"], models, EMBEDDED_CHUNKS, EMBEDDING_ROUNDS)
        )


def measure_scale(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Search at each of the sizes."""
    return [scale.measure(options.data, size, options.vectors) for size in options.passages]


def measure_txtai(options: argparse.Namespace) -> dict[str, Any]:
    """Both services, and what they find."""
    return beside_txtai.measure_all(
        options.data,
        options.txtai.absolute(),
        options.txtai_passages,
        with_scifact=not options.without_scifact,
    )


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "embedding": measure_embedding,
    "service": lambda options: service.measure(options.data),
    "scale": measure_scale,
    "txtai": measure_txtai,
}


def main() -> None:
    """Measure part after part, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with docs_peps.tar.gz, scale_passages …")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--output", type=Path, default=Path("reports/bench"))
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000])
    parser.add_argument("--vectors", type=Path, help="vectors of the passages, else embedded first")
    parser.add_argument("--txtai", type=Path, metavar="PYTHON", help="of a venv with txtai[api]")
    parser.add_argument("--txtai-passages", type=int, default=10_000)
    parser.add_argument("--without-scifact", action="store_true")
    options = parser.parse_args()
    wanted = [part for part in PARTS if part in options.only]
    if options.txtai is None and "txtai" in wanted:
        wanted.remove("txtai")
        print("txtai is left out: --txtai PYTHON names the interpreter that has it.")
    parts: dict[str, Any] = {}
    for part in wanted:
        print(f"{part} …", flush=True)
        parts[part] = PARTS[part](options)
        print(json.dumps(parts[part], indent=2), flush=True)
        report.write(options.output, parts)
    print(f"The report is {options.output / report.MARKDOWN_NAME}.")


if __name__ == "__main__":
    main()
