"""A stamp in SQL is good for one opening: whoever works on the database takes it out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.index_seal import IndexSeal
from app.database import Database
from app.indexing.index_stamps import IndexStamps
from tests.databases import Databases

NAMES = ("lexical", "vector")


@pytest.fixture
def database(tmp_path: Path, databases: Databases) -> Iterator[Database]:
    database = Database(databases.new(tmp_path))
    yield database
    database.close()


def opened(database: Database, folder: Path) -> IndexStamps:
    """What a service on this data directory knows of its indexes once it has begun."""
    seals = {}
    for name in NAMES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        seals[name] = IndexSeal(folder / name, lambda place: place.glob("*.index"))
    stamps = IndexStamps(database, seals)
    stamps.take()
    return stamps


def trusted(stamps: IndexStamps) -> list[str]:
    return [name for name in NAMES if stamps.is_intact(name)]


def test_what_was_closed_in_order_is_trusted_at_the_next_start(database: Database, tmp_path: Path):
    opened(database, tmp_path).renew(NAMES)
    assert trusted(opened(database, tmp_path)) == list(NAMES)


def test_nothing_is_trusted_after_a_kill_not_even_in_the_data_directory_of_another_service(
    database: Database, tmp_path: Path
):
    opened(database, tmp_path / "one").renew(NAMES)
    opened(database, tmp_path / "other")  # and killed: nothing is sealed
    assert trusted(opened(database, tmp_path / "one")) == []


def test_what_another_service_has_closed_in_order_is_its_own(database: Database, tmp_path: Path):
    opened(database, tmp_path / "one").renew(NAMES)
    opened(database, tmp_path / "other").renew(NAMES)
    assert trusted(opened(database, tmp_path / "one")) == []


def test_an_index_that_rested_all_the_time_keeps_its_stamp(database: Database, tmp_path: Path):
    opened(database, tmp_path).renew(NAMES)
    opened(database, tmp_path).renew(["lexical"])
    assert trusted(opened(database, tmp_path)) == list(NAMES)


def test_an_index_that_was_changed_while_it_rested_is_not_trusted(
    database: Database, tmp_path: Path
):
    opened(database, tmp_path).renew(NAMES)
    again = opened(database, tmp_path)
    (tmp_path / "vector" / "some.index").write_text("foreign")
    assert trusted(again) == ["lexical"]
    again.renew(["lexical"])
    assert trusted(opened(database, tmp_path)) == ["lexical"]
