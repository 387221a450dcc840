"""The model that is opened before the data directory is held: used once, and nothing written."""

import threading
from contextlib import closing
from pathlib import Path

import pytest

from app.assembly.model_ahead import ModelAhead
from app.settings import Settings
from tests.e2e.first_start import FirstStart


@pytest.fixture
def settings(tmp_path: Path, first_start: FirstStart) -> Settings:
    assert first_start.exit_code == 0, first_start.log
    return Settings(data_dir=tmp_path / "data", models_dir=first_start.models)


def test_the_model_of_the_settings_is_given_away_once(settings: Settings) -> None:
    with closing(ModelAhead(settings)) as ahead:
        first, second = ahead.open(settings), ahead.open(settings)
    try:
        assert first is not second
        assert first.fingerprint == second.fingerprint
        assert len(first.embed_query("granite")) == first.dimension
    finally:
        first.close()
        second.close()


def test_another_model_is_opened_when_it_is_asked_for(settings: Settings) -> None:
    other = settings.model_copy(
        update={"embedding_model": "sentence-transformers/all-MiniLM-L6-v2"}
    )
    with closing(ModelAhead(settings)) as ahead:
        model = ahead.open(other)
        model.close()
        assert model.model_name == other.embedding_model


def test_what_nobody_took_is_closed_with_it(settings: Settings) -> None:
    before = set(threading.enumerate())
    with closing(ModelAhead(settings)):
        pass
    assert set(threading.enumerate()) <= before


def test_a_model_that_is_not_converted_is_left_to_who_holds_the_directory(tmp_path: Path) -> None:
    with closing(ModelAhead(Settings(data_dir=tmp_path / "data"))):
        pass
    assert not list(tmp_path.iterdir())
