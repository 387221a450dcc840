"""After compacting, nothing that was deleted is left in any file; a death on the way is mended."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.vector_index.loaded_exact import LoadedExactIndex
from app.container import Container
from app.errors import StorageError
from app.indexing.compaction import Compaction
from app.indexing.repair_queries import drop_unreferenced_embeddings
from app.models import EmbeddingRow
from app.settings import Settings
from tests.fakes import FakeEmbedder
from tests.slow import slow

SECRETS = [f"xylograph{letter}zephyrine" for letter in "abcdefgh"]
"""Words that stand nowhere else; one a paragraph."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"vector_index": "chroma"})


@pytest.fixture
def shelf(container: Container, source_root: Path, add_item, index) -> Container:
    """One item that stays, one that was deleted, and one of which a document was replaced."""
    for name in ("kept", "gone", "changed"):
        (source_root / name).mkdir()
    for number in range(40):
        (source_root / "kept" / f"{number}.md").write_text(f"# Kept {number}\n\nQuay {number}.\n")
    secret = "\n\n".join(f"The {word} must be forgotten. " * 4 for word in SECRETS)
    (source_root / "gone" / "secret.md").write_text(f"# Secret\n\n{secret}\n")
    (source_root / "changed" / "changed.md").write_text(f"# Changed\n\n{secret[::-1]}\n")
    items = {name: add_item(source_root / name) for name in ("kept", "gone", "changed")}
    for item in items.values():
        index(item)
    (source_root / "changed" / "changed.md").write_text("# Changed\n\nNothing to hide.\n")
    index(items["changed"])
    container.knowledge.delete(items["gone"].id)
    container.settle()
    return container


def files_with(data_dir: Path, words: list[str]) -> list[str]:
    """Files that hold any of the words, as they stand or backwards."""
    wanted = [word.encode() for word in words] + [word[::-1].encode() for word in words]
    return [
        path.relative_to(data_dir).as_posix()
        for path in sorted(data_dir.rglob("*"))
        if path.is_file()
        if any(word in path.read_bytes() for word in wanted)
    ]


def test_no_byte_of_what_was_deleted_is_left(shelf: Container, embedder: FakeEmbedder):
    data_dir = shelf.settings.data_dir
    secret_vectors = [
        embedder._embed(text).tobytes()
        for text in embedder.embedded_texts
        if any(word in text or word in text[::-1] for word in SECRETS)
    ]
    on_files = shelf.database.is_sqlite
    assert files_with(data_dir, SECRETS) or not on_files, "a delete alone erases nothing"
    report = shelf.compaction.run()
    assert files_with(data_dir, SECRETS) == [], "while the service holds it"
    assert report.embeddings_dropped == len(set(secret_vectors)) > 5
    assert shelf.maintenance.verify().problems == ()
    shelf.close()
    assert files_with(data_dir, SECRETS) == []
    contents = b"".join(path.read_bytes() for path in data_dir.rglob("*") if path.is_file())
    assert not any(vector in contents for vector in secret_vectors)


def test_what_is_kept_is_embedded_no_second_time(
    shelf: Container, embedder: FakeEmbedder, index, found
):
    before, embedded = sorted(found("quay")), len(embedder.embedded_texts)
    shelf.compaction.run()
    assert sorted(found("quay")) == before
    assert index(shelf.knowledge.get(1), force=True).success
    assert len(embedder.embedded_texts) == embedded


def test_sizes_before_and_after_are_told(shelf: Container):
    report = shelf.compaction.run()
    for sizes in (report.before, report.after):
        assert sizes.total == sizes.database + sizes.vector_index + sizes.lexical_index
        assert min(sizes.database, sizes.vector_index, sizes.lexical_index) > 0
    assert report.after.database < report.before.database


def test_the_size_told_of_the_vector_index_is_that_on_the_disk_once_it_is_closed(shelf: Container):
    told = shelf.compaction.run().after.vector_index
    shelf.close()
    files = [path for path in shelf.settings.chroma_directory.rglob("*") if path.is_file()]
    assert told == pytest.approx(sum(path.stat().st_size for path in files), abs=4096)


def test_indexes_that_are_as_small_as_can_be_are_not_said_to_grow(shelf: Container):
    first = shelf.compaction.run()
    again = shelf.compaction.run()
    assert again.before.vector_index <= first.before.vector_index
    assert again.after.vector_index == again.before.vector_index
    assert again.after.total <= again.before.total


def test_too_little_space_is_told_before_anything_is_changed(shelf: Container):
    full = Compaction(
        database=shelf.database,
        vector_index=shelf.vector_index,
        lexical_index=shelf.lexical_index,
        publisher=shelf.publisher,
        data_dir=shelf.settings.data_dir,
        index_folders=shelf.parts.indexes.folders,
        free_bytes=lambda _: 1 << 20,
    )
    generations = sorted((shelf.settings.data_dir / "lexical").glob("generation-*"))
    with pytest.raises(StorageError, match=r"needs \d+ MiB of free space .* has 1\. Nothing was"):
        full.run()
    assert sorted((shelf.settings.data_dir / "lexical").glob("generation-*")) == generations
    with shelf.database.read() as session:
        assert session.query(EmbeddingRow).count() > 44


class Died(Exception):  # noqa: N818, no error of ours
    pass


def dying(*_: object) -> None:
    raise Died


@dataclasses.dataclass(frozen=True)
class Dying:
    """A part whose every way to go on ends the process."""

    rebuild: Callable[..., None] = dying
    vacuum: Callable[..., None] = dying


@pytest.mark.parametrize(
    "step",
    [
        "_lexical_index",
        slow("_database"),
        slow("_index"),
    ],
)
def test_a_death_at_any_step_is_mended_at_the_next_start(
    shelf: Container, open_container, found, step: str
):
    before = sorted(found("quay"))
    compaction = shelf.compaction
    if step == "_database":
        compaction._drop_leftovers = dying
    else:
        setattr(compaction, step, Dying())
    with pytest.raises(Died):
        compaction.run()
    shelf.close()
    (shelf.settings.data_dir / "stopped-cleanly").unlink()
    reborn = open_container()
    reborn.settle()
    assert reborn.maintenance.verify().problems == ()
    reborn.compaction.run()
    assert files_with(reborn.settings.data_dir, SECRETS) == []
    assert reborn.maintenance.stats().total_chunks == len(before) == 41


def test_an_index_that_is_not_in_use_any_more_leaves_nothing(
    shelf: Container, embedder: FakeEmbedder
):
    shelf.close()
    settings = shelf.settings.model_copy(update={"vector_index": "exact"})
    assert list(settings.chroma_directory.glob("chroma.sqlite3"))
    container = Container.open(settings, embedder=embedder)
    assert isinstance(container.vector_index, LoadedExactIndex)
    container.compaction.run()
    container.close()
    assert not list(settings.chroma_directory.glob("chroma.sqlite3*"))
    assert files_with(settings.data_dir, SECRETS) == []


def test_vectors_are_dropped_from_where_the_transaction_before_ended(container: Container):
    """What stays is read once, not once for each few thousand that go."""
    unreferenced = [("a", "new"), ("a", "old"), ("b", "old"), ("c", "new")]
    with container.database.write() as session:
        for text_hash, fingerprint in unreferenced:
            row = EmbeddingRow(text_hash=text_hash, fingerprint=fingerprint, vector=b"")
            session.add(row)
    with container.database.write() as session:
        assert drop_unreferenced_embeddings(session, ("a", "old")) == unreferenced[2:]
        assert drop_unreferenced_embeddings(session) == unreferenced[:2]
        assert drop_unreferenced_embeddings(session) == []
