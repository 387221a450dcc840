"""Writes small question sets for tests."""

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """JSON lines; gzipped when the name says so."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_beir(
    folder: Path,
    corpus: Iterable[Mapping[str, object]],
    queries: Iterable[Mapping[str, object]],
    table: str,
    suffix: str = "",
) -> Path:
    """A question set in BEIR's layout."""
    write_lines(folder / f"corpus.jsonl{suffix}", corpus)
    write_lines(folder / f"queries.jsonl{suffix}", queries)
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "qrels" / "test.tsv").write_text(table)
    return folder


FRUIT = ("apple", "pear", "plum", "cherry", "quince")


def write_fruit(folder: Path) -> Path:
    """Five documents, and a question for each that only the words of its text answer."""
    numbers = {name: f"d{number}" for number, name in enumerate(FRUIT)}
    return write_beir(
        folder,
        [{"_id": numbers[name], "text": f"All there is to say of the {name}."} for name in FRUIT],
        [{"_id": f"q-{name}", "text": f"{name}?"} for name in FRUIT],
        "query-id\tcorpus-id\tscore\n"
        + "".join(f"q-{name}\t{numbers[name]}\t1\n" for name in FRUIT),
    )
