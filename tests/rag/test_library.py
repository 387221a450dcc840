"""RAGService as a library: the calls of the specification."""

import anyio
import pytest

from app.container import Container
from app.errors import StartupError
from app.rag.service import RAGService


async def main_job(rag: RAGService, uri: str) -> None:
    indexed = await rag.index_knowledge(
        knowledge_id=123,
        title="OAuth Guide",
        uri=uri,
        document_type="markdown",
        category="security",
        tags="auth,oauth,security",
    )
    assert indexed.success
    assert indexed.knowledge_id == 123
    results = await rag.search(
        query="How to implement OAuth?", n_results=5, category="security", knowledge_ids=[1, 123]
    )
    assert [(result.knowledge_id, result.title) for result in results] == [(123, "OAuth Guide")]
    assert results[0].tags == ("auth", "oauth", "security")
    assert await rag.search("OAuth", tags=["other"]) == []
    stats = rag.get_collection_stats()
    assert (stats.total_chunks, stats.unique_knowledge_items) == (1, 1)
    again = await rag.index_knowledge(123, "New title", uri, "markdown")
    assert (again.chunks_added, again.chunks_unchanged) == (0, 1)
    assert (await rag.search("OAuth"))[0].title == "New title"
    assert await rag.remove_knowledge(knowledge_id=123)
    assert not await rag.remove_knowledge(knowledge_id=123)
    missing = await rag.index_knowledge(124, "None", uri + ".gone", "markdown")
    assert missing.error == f"File not found: {uri}.gone"
    assert rag.verify().clean


def test_the_main_job_runs_through_rag_service(container: Container, source_root):
    path = source_root / "oauth.md"
    path.write_text("# OAuth\n\nHow to implement OAuth with a code flow.")
    anyio.run(main_job, container.rag, str(path))


def test_a_data_directory_in_use_is_refused_by_name(container: Container, settings):
    with pytest.raises(StartupError, match="in use by process"):
        Container.open(settings)
