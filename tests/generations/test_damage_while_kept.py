"""What was damaged in a generation while it was kept is made anew before it answers again."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import ColumnElement, delete, event, select, update

from app.container import Container
from app.generations import queries
from app.generations.checking import give_up_damaged_documents
from app.knowledge.items import ItemDraft
from app.models import ChunkRow, DocumentRow, EmbeddingRow
from tests.databases import sqlite_only
from tests.fakes import FakeEmbedder
from tests.generations.test_switching import Open, docs, filled, found, open_with
from tests.slow import slow

__all__ = ["docs", "filled", "open_with"]

KEPT = ChunkRow.generation_id == 1
Damage = Callable[[Container], None]


def write(container: Container, *statements: Any) -> None:
    with container.database.write() as session:
        for statement in statements:
            session.execute(statement.execution_options(synchronize_session=False))


def texts_of_its_own() -> ColumnElement[bool]:
    """Of embeddings: a chunk of the kept generation needs one, and none of the current."""
    needed = select(ChunkRow.text_hash).where(KEPT, ChunkRow.chunk_index == 2)
    return EmbeddingRow.text_hash.in_(needed)


def change_a_text(container: Container) -> None:
    write(container, update(ChunkRow).where(KEPT, ChunkRow.chunk_index == 1).values(content="No."))


def lose_chunks(container: Container) -> None:
    write(container, delete(ChunkRow).where(KEPT, ChunkRow.chunk_index == 1))


def lose_the_chunks_of_a_document(container: Container) -> None:
    write(container, delete(ChunkRow).where(KEPT, ChunkRow.document_id == 1))


def give_chunks_to_another_item(container: Container) -> None:
    other = container.knowledge.create(ItemDraft("Other", "/other", "folder"))
    write(
        container, update(ChunkRow).where(KEPT, ChunkRow.chunk_index == 1).values(item_id=other.id)
    )


def lose_vectors(container: Container) -> None:
    write(container, delete(EmbeddingRow).where(texts_of_its_own()))


def empty_vectors(container: Container) -> None:
    write(container, update(EmbeddingRow).where(texts_of_its_own()).values(vector=bytes(256)))


def cut_vectors(container: Container) -> None:
    write(container, update(EmbeddingRow).where(texts_of_its_own()).values(vector=bytes(7)))


@pytest.mark.parametrize(
    "damage",
    [
        change_a_text,
        lose_vectors,
        slow(lose_chunks),
        slow(lose_the_chunks_of_a_document),
        slow(empty_vectors),
        slow(cut_vectors),
    ],
    ids=lambda damage: damage.__name__,
)
def test_the_way_back_takes_no_damage_over(
    open_with: Open,
    embedder: FakeEmbedder,
    filled: int,
    caplog: pytest.LogCaptureFixture,
    damage: Damage,
):
    container = open_with()
    before = found(container, "topic5", n_results=50)
    container.close()
    there = open_with(chunk_size=400)
    there.renew()
    damage(there)
    assert there.verify().problems == (), "the kept one answers nothing, so nobody looks at it"
    there.close()
    embedder.embedded_texts.clear()
    back = open_with()
    assert back.renew()
    assert back.verify().problems == ()
    assert found(back, "topic5", n_results=50) == before
    assert "Generation 1 had damaged chunks" in caplog.text
    assert len(embedder.embedded_texts) == (2 if "vectors" in damage.__name__ else 0)


def test_only_what_is_damaged_is_made_anew(
    open_with: Open, embedder: FakeEmbedder, filled: int, caplog: pytest.LogCaptureFixture
):
    there = open_with(chunk_size=400)
    there.renew()
    kept = next(each for each in there.generations.all() if each.state == "kept")
    generation = kept.stored.generation
    assert give_up_damaged_documents(there.database, generation, lambda: None) == 0
    assert "damaged" not in caplog.text
    one_document = select(DocumentRow.id).order_by(DocumentRow.id.desc()).limit(1).scalar_subquery()
    shifted = update(ChunkRow).where(KEPT, ChunkRow.document_id == one_document)
    write(there, shifted.values(start_index=ChunkRow.start_index + 1))
    assert give_up_damaged_documents(there.database, generation, lambda: None) == 1
    assert give_up_damaged_documents(there.database, generation, lambda: None) == 0, "it is missing"
    report = next(each for each in there.generations.all() if each.state == "kept")
    assert (report.progress.documents_done, report.progress.documents_total) == (1, 2)


def test_documents_whose_chunks_say_another_item_are_made_anew(open_with: Open, filled: int):
    there = open_with(chunk_size=400)
    there.renew()
    kept = next(each for each in there.generations.all() if each.state == "kept")
    give_chunks_to_another_item(there)
    assert give_up_damaged_documents(there.database, kept.stored.generation, lambda: None) == 2


@sqlite_only
def test_each_look_reads_its_own_documents_and_sorts_none_of_the_rest(open_with: Open, filled: int):
    container = open_with()
    generation = container.parts.stored.generation
    statements: list[tuple[str, Any]] = []
    with container.database.read() as session:
        event.listen(
            session.connection(),
            "before_cursor_execute",
            lambda _1, _2, sql, parameters, _3, _4: statements.append((sql, parameters)),
        )
        assert len(queries.done_documents(session, generation, 1, after=0)) == 1
    (looked, parameters), *_ = statements
    with container.database.read() as session:
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {looked}", parameters)
        assert not [step for step in plan.all() if "ORDER BY" in step[3]]
