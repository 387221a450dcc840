"""A client made by a public generator from `/openapi.json` does the main job, typed."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server_process import WAIT_SECONDS, ServerProcess

GENERATOR = Path(sys.executable).with_name("openapi-python-client")

GUIDE = """# Harbour guide

## Mooring

Boats moor at the northern quay; the harbour master assigns the berth.

## Fees

A berth costs twelve crowns a night, to be paid at the office before noon.
"""


@pytest.fixture
def generated(server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the client that was generated from the running service."""
    (tmp_path / "openapi.json").write_bytes(server.http.get("/openapi.json").content)
    (tmp_path / "generator.yaml").write_text("post_hooks: []\n")
    subprocess.run(
        [
            *(GENERATOR, "generate", "--fail-on-warning", "--meta", "none"),
            *("--config", tmp_path / "generator.yaml", "--path", tmp_path / "openapi.json"),
            *("--output-path", tmp_path / "generated_groundwork"),
        ],
        check=True,
        capture_output=True,
        timeout=WAIT_SECONDS,
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda name: importlib.import_module(f"generated_groundwork{name}")
    for name in [name for name in sys.modules if name.startswith("generated_groundwork")]:
        del sys.modules[name]


def test_the_main_job_runs_through_a_generated_client(
    server: ServerProcess, shared_sources: Path, generated: Any
) -> None:
    path = shared_sources / "harbour.md"
    path.write_text(GUIDE)
    models = generated(".models")
    knowledge = ".api.knowledge."
    with generated("").Client(
        base_url=server.url, raise_on_unexpected_status=True, timeout=WAIT_SECONDS
    ) as client:
        item = generated(knowledge + "create_knowledge").sync(
            client=client,
            body=models.ItemCreate(
                title="Harbour guide",
                uri=str(path),
                document_type=models.DocumentType.MARKDOWN,
                category="Generated/Harbour",
                tags=["boats"],
            ),
        )
        assert isinstance(item, models.Item)
        assert item.status == "pending"
        changed = generated(knowledge + "update_knowledge").sync(
            item.id, client=client, body=models.ItemUpdate(category="Generated/Quay")
        )
        assert isinstance(changed, models.Item)
        assert (changed.category, changed.title, changed.tags) == (
            "Generated/Quay",
            "Harbour guide",
            ["boats"],
        )

        indexed = generated(".api.rag.index_knowledge").sync(item.id, client=client)
        assert isinstance(indexed, models.IndexingResult)
        assert indexed.success
        assert indexed.chunks_indexed >= 1

        answer = generated(".api.rag.search").sync(
            client=client,
            body=models.SearchBody(
                query="What does a berth cost?", category="Generated", n_results=3
            ),
        )
        assert isinstance(answer, models.SearchAnswer)
        best = answer.results[0]
        assert best.knowledge_id == item.id
        assert "twelve crowns" in best.content
        assert best.citation.startswith("harbour.md#L")
        lines = GUIDE.splitlines()[best.start_line - 1 : best.end_line]
        assert any("twelve crowns" in line for line in lines)

        job = generated(".api.rag.index_knowledge").sync(item.id, client=client, wait=False)
        assert isinstance(job, models.Job)
        assert isinstance(generated(".api.jobs.get_job").sync(job.id, client=client), models.Job)

        deleted = generated(knowledge + "delete_knowledge").sync_detailed(item.id, client=client)
        assert deleted.status_code == 204
        missing = generated(knowledge + "get_knowledge").sync(item.id, client=client)
        assert isinstance(missing, models.Problem)
        assert missing.status == 404
        assert str(item.id) in missing.detail
        refused = generated(knowledge + "list_knowledge").sync(client=client, limit=10_000)
        assert isinstance(refused, models.Problem)
        assert refused.errors[0].pointer == "#/limit"
