"""What is survived: every failure that nobody expected, and no request to end."""

import pytest

from app.surviving import survive
from tests.panics import panic


def test_a_panic_in_rust_is_survived_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert survive(panic, "It goes on", ()) is None
    assert "It goes on" in caplog.text


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_a_request_to_end_is_heeded(interruption: type[BaseException]) -> None:
    def meet_it() -> None:
        raise interruption

    with pytest.raises(interruption):
        survive(meet_it, "It goes on", ())
