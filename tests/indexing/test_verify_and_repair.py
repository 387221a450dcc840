"""`verify` names every contradiction, `repair` mends it and says what it could not mend."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, select, text, update

from app.container import Container
from app.errors import EmbeddingError
from app.indexing import outbox_queries, repair_queries
from app.indexing.database_check import Fault, database_faults
from app.indexing.database_repair import DatabaseRepair
from app.indexing.vector_repair import VectorRepair
from app.knowledge.items import ItemFilter
from app.models import ChunkRow, DocumentRow, EmbeddingRow, ItemRow, TagRow
from app.protocols import Vectors
from app.search.profiles import RankingWishes
from app.search.requests import SearchRequest
from app.settings import Settings
from tests.databases import sqlite_only
from tests.fakes import FakeEmbedder, MoodyEmbedder

Damage = Callable[[Container], None]


class TiringEmbedder(MoodyEmbedder):
    """Embeds one batch, and then no more."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed_documents(texts)
        self.failing = True
        return vectors


@pytest.fixture
def embedder() -> MoodyEmbedder:
    return MoodyEmbedder()


@pytest.fixture
def shelf(container: Container, source_root: Path, add_item, index) -> Container:
    for number in range(3):
        body = "\n\n".join(f"Barge {number} carries load {n} up the river. " * 3 for n in range(4))
        (source_root / f"{number}.md").write_text(f"# Canal {number}\n\n{body}\n")
    index(add_item(source_root, tags=("a",)))
    assert container.maintenance.verify().clean
    return container


def write(container: Container, *statements) -> None:
    """Write what no foreign key would allow: as somebody else's tool would."""
    with container.database.write() as session:
        if not container.database.is_sqlite:
            session.execute(text("SET LOCAL session_replication_role = replica"))
            for statement in statements:
                session.execute(statement)
            return
        raw = session.connection().connection
        raw.cursor().execute("COMMIT")
        raw.cursor().execute("PRAGMA foreign_keys = OFF")
        raw.cursor().execute("BEGIN IMMEDIATE")
        for statement in statements:
            session.execute(statement)
        session.flush()
        raw.cursor().execute("COMMIT")
        raw.cursor().execute("PRAGMA foreign_keys = ON")
        raw.cursor().execute("BEGIN")


def faults_of(container: Container) -> list[Fault]:
    with container.database.read() as session:
        return list(database_faults(session, container.generation))


def repair_of(
    container: Container, embedder: FakeEmbedder, publisher: Any = None
) -> DatabaseRepair:
    return DatabaseRepair(
        database=container.database,
        publisher=publisher or container.publisher,
        embedder=embedder,
        splitter=container.splitter,
        generation=container.generation,
    )


def lose_a_document_row(container: Container) -> None:
    write(container, text("DELETE FROM documents WHERE id = 1"))


def lose_the_item_row(container: Container) -> None:
    write(container, delete(ItemRow))


def orphan_a_tag(container: Container) -> None:
    write(container, text("INSERT INTO item_tags VALUES (99, 'x', 0)"))


def orphan_a_tag_of_a_document(container: Container) -> None:
    write(container, text("INSERT INTO document_tags VALUES (99, 'x')"))


def orphan_what_a_generation_has_done(container: Container) -> None:
    done = "SELECT generation_id, 99, splitter FROM generation_documents WHERE document_id = 1"
    write(container, text(f"INSERT INTO generation_documents {done}"))


def move_chunks_to_another_item(container: Container) -> None:
    write(
        container,
        update(ChunkRow).where(ChunkRow.chunk_index == 0).values(item_id=2),
        text(
            "INSERT INTO knowledge_items (id, title, uri, document_type, collection, status, "
            "created_at, updated_at) VALUES (2, 't', '/t', 'folder', 'c', 'pending', "
            "'2026-01-01', '2026-01-01')"
        ),
    )


def forget_vectors(container: Container) -> None:
    some = text("SELECT text_hash FROM embeddings LIMIT 2")
    write(container, delete(EmbeddingRow).where(EmbeddingRow.text_hash.in_(some)))


def store_as_vector(container: Container, stored: bytes) -> None:
    """Put these bytes in the place of one vector that a chunk has."""
    first = select(ChunkRow.text_hash).order_by(ChunkRow.id).limit(1).scalar_subquery()
    write(
        container, update(EmbeddingRow).where(EmbeddingRow.text_hash == first).values(vector=stored)
    )


DAMAGED: dict[str, tuple[list[float] | bytes, str]] = {
    "zero": ([0.0] * 64, "it is not of unit length"),
    "short": ([0.01] * 64, "it is not of unit length"),
    "long": ([3e38] * 64, "it is not of unit length"),
    "no_number": ([float("nan")] + [0.1] * 63, "it holds values that are no numbers"),
    "infinite": ([float("inf")] + [0.1] * 63, "it holds values that are no numbers"),
    "of_another_model": ([0.125] * 32, "it has 128 bytes instead of 256"),
    "too_many": ([0.125] * 65, "it has 260 bytes instead of 256"),
    "truncated": (bytes(255), "it has 255 bytes instead of 256"),
    "empty": (b"", "it has 0 bytes instead of 256"),
}


def misnumber_a_document(container: Container) -> None:
    write(container, update(DocumentRow).where(DocumentRow.id == 2).values(number=5))


def shift_a_chunk(container: Container) -> None:
    first = ChunkRow.chunk_index == 0
    write(container, update(ChunkRow).where(first).values(content="Not what stands there."))


def cut_headings_short(container: Container) -> None:
    first = text("UPDATE chunks SET heading_path = '[\"Can' WHERE chunk_index = 0")
    write(container, first)


def cut_tags_short(container: Container) -> None:
    write(container, text("UPDATE documents SET tags = '[\"' WHERE id = 1"))


def lose_a_chunk_row(container: Container) -> None:
    write(container, delete(ChunkRow).where(ChunkRow.chunk_index == 1))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lose_a_document_row, "belongs to no document"),
        (lose_the_item_row, "belongs to no item"),
        (orphan_a_tag, "tags of an item 99"),
        (orphan_a_tag_of_a_document, "noted of document number 99"),
        (orphan_what_a_generation_has_done, "noted of document number 99"),
        (move_chunks_to_another_item, "says another item"),
        (forget_vectors, "no vector under the current model"),
        (misnumber_a_document, "has the number of another"),
        (shift_a_chunk, "is not the text at 0:"),
        (lose_a_chunk_row, "are in no chunk"),
        pytest.param(cut_headings_short, "whose headings are damaged", marks=sqlite_only),
        pytest.param(cut_tags_short, "has damaged tags", marks=sqlite_only),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_every_contradiction_is_named_and_mended(shelf: Container, damage: Damage, says: str):
    damage(shelf)
    found = shelf.maintenance.verify()
    assert not found.clean
    assert found.mended_count == 0
    assert any(says in problem for problem in found.problems)
    mended = shelf.maintenance.verify(repair=True)
    assert mended.clean, mended.problems
    assert mended.problem_count == mended.mended_count > 0
    assert all("mended" in problem for problem in mended.problems)
    again = shelf.maintenance.verify()
    assert again.problems == ()


@sqlite_only  # PostgreSQL itself takes nothing but JSON
@pytest.mark.parametrize("damage", [cut_headings_short, cut_tags_short])
def test_names_that_cannot_be_read_cost_no_search_no_start_and_no_indexing(
    shelf: Container, settings: Settings, embedder: MoodyEmbedder, damage: Damage
) -> None:
    def found(container: Container) -> int:
        return len(container.searcher.search(SearchRequest("barge", n_results=100)).results)

    total = found(shelf)
    damage(shelf)
    (item_id,) = shelf.knowledge.ids(ItemFilter())
    assert found(shelf) == total
    shelf.knowledge.update(item_id, {"category": "Canals"})  # has the indexes look at it again
    shelf.close()
    back = Container.open(settings, embedder=embedder, run_jobs=False)
    back.publisher.settled().result()
    assert found(back) == total
    assert back.indexer.index(item_id, force=True).success
    back.close()


def test_damaged_tags_are_those_again_that_filters_know(shelf: Container, source_root: Path):
    tagged = source_root / "0.md"
    tagged.write_text(f"---\ntags: [b, a]\n---\n{tagged.read_text()}")
    (item_id,) = shelf.knowledge.ids(ItemFilter())
    shelf.indexer.index(item_id)
    write(shelf, text("UPDATE documents SET tags = '7'"))  # JSON, and no list
    with shelf.database.write() as session:
        repair_queries.restore_tags(session, [1, 2])
    with shelf.database.read() as session:
        assert session.get_one(DocumentRow, 1).tags == ["a", "b"]
        assert session.get_one(DocumentRow, 2).tags == []
        assert session.get_one(DocumentRow, 3).tags == []


def damaged_bytes(name: str) -> bytes:
    stored = DAMAGED[name][0]
    return stored if isinstance(stored, bytes) else np.array(stored, "<f4").tobytes()


def sound_vectors(container: Container) -> dict[str, bytes]:
    with container.database.read() as session:
        return {row.text_hash: row.vector for row in session.query(EmbeddingRow)}


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_vector_is_embedded_again_and_put_into_the_indexes(
    shelf: Container,
    embedder: MoodyEmbedder,
    open_container: Callable[[], Container],
    name: str,
    *,
    restarted: bool,
):
    before = sound_vectors(shelf)
    store_as_vector(shelf, damaged_bytes(name))
    if restarted:
        shelf.close()
        shelf = open_container()
    embedder.embedded_texts.clear()
    found = shelf.verify()
    assert len(found.problems) == 1
    assert found.problems[0].endswith(f"is damaged: {DAMAGED[name][1]}")
    repaired = shelf.verify(repair=True)
    assert (repaired.problem_count, repaired.mended_count) == (1, 1), repaired.problems
    assert repaired.problems[0].endswith("mended: embedded again")
    assert len(embedder.embedded_texts) == 1
    assert sound_vectors(shelf) == before
    assert shelf.verify().problems == ()
    total = shelf.stats().total_chunks
    assert shelf.vector_index.count() == total
    answer = shelf.searcher.search(SearchRequest("barge", n_results=100, mode="dense"))
    assert len(answer.results) == total


def test_what_one_damaged_vector_leaves_is_searched_and_indexed(
    shelf: Container, open_container: Callable[[], Container], caplog: pytest.LogCaptureFixture
):
    """One bad row among many is no reason to answer nothing, or not to start."""
    total = shelf.stats().total_chunks
    store_as_vector(shelf, damaged_bytes("truncated"))
    with shelf.database.write() as session:  # what a crash leaves is settled at the start
        outbox_queries.add_index_change(session, [row.id for row in session.query(ChunkRow)])
    shelf.close()
    shelf = open_container()
    shelf.settle()
    assert "1 chunks have a damaged vector in the database" in caplog.text

    def search(**wishes: Any) -> int:
        request = SearchRequest("barge", n_results=100, **wishes)
        return len(shelf.searcher.search(request).results)

    assert search(mode="dense") == total - 1
    assert search(ranking=RankingWishes(diversity=0.5)) == total  # by its words
    assert shelf.indexer.index(1, force=True).success
    shelf.parts.caretaker.walk(mend=True)
    assert shelf.verify().problems == (), "who needs the text embeds it, and the walk puts it back"
    assert search(mode="dense") == total


def test_all_vectors_may_be_damaged_at_once(
    shelf: Container, open_container: Callable[[], Container]
):
    total = shelf.stats().total_chunks
    write(shelf, update(EmbeddingRow).values(vector=b"nothing"))
    shelf.close()
    shelf = open_container()
    assert shelf.verify().problem_count == total
    assert shelf.verify(repair=True).clean
    assert shelf.verify().problems == ()


def test_what_a_failing_model_left_is_named_again_and_the_rest_is_mended(
    shelf: Container, embedder: MoodyEmbedder
):
    write(shelf, update(EmbeddingRow).values(vector=bytes(256)))
    total = shelf.stats().total_chunks
    repair = repair_of(shelf, embedder)
    faults = faults_of(shelf)
    assert len(faults) == total
    embedder.failing = True
    first, rest = repair.mend(faults[:1]), faults[1:]
    assert not first[0].mended
    embedder.failing = False
    assert [each.mended for each in repair.mend(rest)] == [True] * len(rest)
    assert shelf.verify().problem_count == 1


def test_a_vector_that_only_another_model_could_make_is_left_and_that_is_said(shelf: Container):
    store_as_vector(shelf, damaged_bytes("zero"))
    other = FakeEmbedder(model_name="other")
    (left,) = repair_of(shelf, other).mend(faults_of(shelf))
    assert not left.mended
    assert "another one is open" in left.remark
    assert other.embedded_texts == []


def test_a_model_that_makes_no_vector_has_mended_nothing(shelf: Container, embedder: MoodyEmbedder):
    store_as_vector(shelf, damaged_bytes("zero"))

    class Void(FakeEmbedder):
        """Says that it is the model in use, and is not."""

        def embed_documents(self, texts):
            return np.zeros((len(texts), self.dimension), np.float32)

    (left,) = repair_of(shelf, Void()).mend(faults_of(shelf))
    assert not left.mended
    assert "what is stored is no vector still" in left.remark


def test_chunks_made_anew_are_found_as_before(shelf: Container, found):
    before = sorted(found("barge load river"))
    shift_a_chunk(shelf)
    lose_a_chunk_row(shelf)
    shelf.maintenance.verify(repair=True)
    assert sorted(found("barge load river")) == before


def test_a_kill_before_chunks_made_anew_are_put_in_leaves_those_that_were_there(
    shelf: Container, settings: Settings, embedder: MoodyEmbedder
):
    shift_a_chunk(shelf)
    lose_a_chunk_row(shelf)
    before = {row.id: row.content for row in chunk_rows(shelf)}

    class Killed(BaseException):
        """As a kill ends everything."""

    class KilledPublisher:
        """Dies as it is to publish."""

        def publish(self, *_: object, **__: object) -> None:
            raise Killed

    with pytest.raises(Killed):
        repair_of(shelf, embedder, KilledPublisher()).mend(faults_of(shelf))
    assert {row.id: row.content for row in chunk_rows(shelf)} == before
    shelf.close()
    back = Container.open(settings, embedder=embedder, run_jobs=False)
    assert back.maintenance.verify(repair=True).clean
    assert back.maintenance.verify().problems == ()
    assert len(chunk_rows(back)) > len(before)
    back.close()


def chunk_rows(container: Container) -> list[ChunkRow]:
    with container.database.read() as session:
        return list(session.scalars(select(ChunkRow)))


def test_a_document_whose_chunks_are_made_anew_is_of_the_same_date_as_before(shelf: Container):
    def dates() -> list[object]:
        times = select(DocumentRow.modified_at, DocumentRow.fetched_at).order_by(DocumentRow.id)
        with shelf.database.read() as session:
            return [tuple(row) for row in session.execute(times)]

    before = dates()
    assert all(map(all, before))
    shift_a_chunk(shelf)
    assert shelf.maintenance.verify(repair=True).clean
    assert dates() == before


def test_a_text_that_is_not_that_of_its_hash_is_read_again_at_the_next_indexing(
    shelf: Container, source_root: Path, found
):
    write(
        shelf,
        update(DocumentRow).where(DocumentRow.id == 1).values(content="Somebody's own words."),
    )
    repaired = shelf.maintenance.verify(repair=True)
    assert not repaired.clean
    assert any("index its item again" in problem for problem in repaired.problems)
    assert shelf.indexer.index(1).success
    assert shelf.maintenance.verify().problems == ()
    assert "Barge 0 carries" in " ".join(found("barge load river"))


def test_without_the_model_a_missing_vector_stays_and_is_named(
    shelf: Container, embedder: MoodyEmbedder
):
    forget_vectors(shelf)
    embedder.failing = True
    repaired = shelf.maintenance.verify(repair=True)
    assert not repaired.clean
    assert any("The model is away." in problem for problem in repaired.problems)
    embedder.failing = False
    assert shelf.maintenance.verify(repair=True).clean


def test_what_was_embedded_before_the_model_failed_is_in_the_indexes(
    shelf: Container, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("app.indexing.embedding.GROUP_CHUNKS", 1)
    with shelf.database.read() as session:
        chunk_ids = list(session.scalars(select(ChunkRow.id)))
    write(shelf, delete(EmbeddingRow))
    shelf.vector_index.remove(chunk_ids)
    repair = VectorRepair(
        database=shelf.database, embedder=TiringEmbedder(), generation=shelf.generation
    )
    with pytest.raises(EmbeddingError):
        repair.embed(chunk_ids)
    shelf.publisher.settled().result()
    sound = [chunk_id for chunk_id, is_sound in repair.are_sound(chunk_ids).items() if is_sound]
    assert list(shelf.vector_index.documents_of(chunk_ids)) == sound
    assert len(sound) == 1


def test_an_active_item_without_chunks_becomes_pending(shelf: Container):
    write(shelf, delete(ChunkRow), delete(DocumentRow))
    assert shelf.maintenance.verify(repair=True).clean
    assert shelf.knowledge.get(1).status == "pending"


def test_an_item_whose_chunks_can_be_made_from_its_texts_stays_active(shelf: Container):
    before = shelf.searcher.search(SearchRequest("barge", n_results=50)).results
    write(shelf, delete(ChunkRow))
    report = shelf.maintenance.verify(repair=True)
    assert report.clean
    assert any("item 1 is active but has no chunks: mended" in told for told in report.problems)
    assert shelf.knowledge.get(1).status == "active"
    assert shelf.searcher.search(SearchRequest("barge", n_results=50)).results == before
    assert shelf.maintenance.verify().problems == ()


def test_an_item_whose_chunks_could_not_be_made_becomes_pending(
    shelf: Container, embedder: MoodyEmbedder
):
    write(shelf, delete(ChunkRow), delete(EmbeddingRow))
    embedder.failing = True
    assert not shelf.maintenance.verify(repair=True).clean
    assert shelf.knowledge.get(1).status == "pending"


def test_vectors_that_no_chunk_has_are_counted_and_no_problem(shelf: Container):
    shelf.knowledge.delete(1)
    report = shelf.maintenance.verify()
    assert report.clean
    assert report.unreferenced_embeddings > 0
    assert report.chunks == 0
    with shelf.database.read() as session:
        assert session.query(TagRow).count() == 0


def test_both_indexes_are_compared_and_mended(shelf: Container):
    ids = sorted(shelf.lexical_index.chunk_ids())
    shelf.lexical_index.remove(ids[:2])
    shelf.vector_index.remove(ids[2:4])
    found = shelf.maintenance.verify()
    assert sorted(found.problems) == sorted(
        [
            *(f"chunk {chunk_id} is not in the lexical index" for chunk_id in ids[:2]),
            *(f"chunk {chunk_id} is not in the exact index" for chunk_id in ids[2:4]),
        ]
    )
    mended = shelf.maintenance.verify(repair=True)
    assert (mended.clean, mended.problem_count) == (True, 4)
    assert shelf.maintenance.verify().problems == ()


def rot(folder: Path, suffix: str) -> None:
    """Turn bits in the files of an index, as a failing disk does: size and time stay."""
    for path in sorted(folder.rglob(f"*{suffix}")):
        status, rotten = path.stat(), bytearray(path.read_bytes())
        for place in range(len(rotten) // 4, len(rotten) // 2):
            rotten[place] ^= 0x5A
        path.write_bytes(rotten)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("suffix", [".fast", ".idx", ".pos", ".store", ".term"])
def test_an_index_whose_files_have_rotted_is_a_problem_and_made_anew(
    shelf: Container, open_container: Callable[[], Container], settings: Settings, suffix: str
):
    expected = shelf.lexical_index.chunk_ids()
    shelf.close()
    rot(settings.data_dir / "lexical", suffix)
    container = open_container()
    report = container.maintenance.verify()
    assert report.problems or report.healed, "its keeper may have been quicker than the report"
    mended = container.maintenance.verify(repair=True)
    assert mended.clean
    assert container.lexical_index.chunk_ids() == expected
    assert container.maintenance.verify().problems == ()


def test_an_index_that_a_repair_made_anew_is_told_of(shelf: Container, settings: Settings):
    for path in (settings.data_dir / "lexical").rglob("*.store"):
        status = path.stat()
        with path.open("r+b") as file:
            file.write(bytes(status.st_size // 2))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    report = shelf.maintenance.verify(repair=True)
    assert report.clean
    assert [problem for problem in report.problems if problem.endswith("mended: made anew")]
