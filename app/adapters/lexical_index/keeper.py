"""Sees to the lexical index in the background: opens, compares and rebuilds it when necessary."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.errors import AppError

logger = logging.getLogger(__name__)

HEALING_PAUSES_SECONDS = (0.0, 1.0, 10.0, 60.0, 300.0)
"""Pause before each attempt after a failure; then it is left until `rebuild` or a restart."""
HEALED_AFTER_SECONDS = 600.0
"""An index that held so long starts again with the first pause when it fails."""
CHECK_SECONDS = 2.0
"""How often it is looked whether the index has been set aside."""


class LexicalIndexKeeper:
    """Keeps the index of a HealingLexicalIndex sound, while the dense side answers alone."""

    def __init__(
        self,
        index: HealingLexicalIndex,
        pauses_seconds: Sequence[float] = HEALING_PAUSES_SECONDS,
        check_seconds: float = CHECK_SECONDS,
        healed_after_seconds: float = HEALED_AFTER_SECONDS,
        on_healed: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_healed` is called whenever an index was made anew."""
        self._on_healed = on_healed
        self._index = index
        self._pauses_seconds = pauses_seconds
        self._check_seconds = check_seconds
        self._healed_after_seconds = healed_after_seconds
        self._attempts = 0
        self._healed_at = time.monotonic()
        self._state = threading.Condition()
        self._trusted = False
        self._settled = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="lexical-index-keeper", daemon=True)

    def start(self, *, trusted: bool) -> None:
        """Open the index; one that is not trusted (after an unclean stop) is compared with SQL.

        A trusted one is open when this returns; everything else goes on in the background.
        """
        if trusted:
            self._index.open()
        self._trusted = trusted
        self._thread.start()

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the index is sound or was given up; whether it is one of these."""
        if self._thread.ident is None:
            return True
        with self._state:
            return self._state.wait_for(lambda: self._settled or self._closed, timeout_seconds)

    def close(self) -> None:
        """Stop looking after the index; close that first, which ends a rebuild."""
        with self._state:
            self._closed = True
            self._state.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        if not self._trusted:
            self._compare()
        while not self._closed:
            if self._index.status.ready:
                self._rest()
            elif self._attempts < len(self._pauses_seconds):
                self._attempt()
            else:
                logger.error("The lexical index is not tried again before a restart.")
                self._settle_for_good()

    def _compare(self) -> None:
        try:
            self._index.open(trusted=False)
        except AppError as error:  # of the database, or it was closed before this began
            logger.warning("The lexical index could not be compared: %s", error.detail)

    def _rest(self) -> None:
        if time.monotonic() - self._healed_at > self._healed_after_seconds:
            self._attempts = 0
        with self._state:
            self._settled = True
            self._state.notify_all()
            self._state.wait_for(lambda: self._closed, self._check_seconds)

    def _attempt(self) -> None:
        pause = self._pauses_seconds[self._attempts]
        self._attempts += 1
        with self._state:
            self._settled = False
            if self._state.wait_for(lambda: self._closed, pause):
                return
        if self._index.degraded_reason is None:
            return  # somebody has rebuilt it by command
        try:
            records = self._index.rebuild()
        except AppError as error:
            logger.warning("The lexical index could not be rebuilt: %s", error.detail)
        else:
            self._healed_at = time.monotonic()
            self._on_healed()
            logger.info("The lexical index was made anew: %d records", records)

    def _settle_for_good(self) -> None:
        with self._state:
            self._settled = True
            self._state.notify_all()
            while not self._closed and self._index.degraded_reason is not None:
                self._state.wait(self._check_seconds)  # somebody may rebuild it by command
