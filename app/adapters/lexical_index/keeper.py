"""Sees to the lexical index in the background: opens, compares and rebuilds it when necessary."""

import logging
import threading
from collections.abc import Callable

from app.adapters.healing_pauses import HealingPauses
from app.adapters.lexical_index.healing import HealingLexicalIndex
from app.errors import AppError
from app.surviving import survive

logger = logging.getLogger(__name__)

CHECK_SECONDS = 2.0
"""How often it is looked whether the index has been set aside, or is to be tidied."""


class LexicalIndexKeeper:
    """Keeps the index of a HealingLexicalIndex sound, while the dense side answers alone."""

    def __init__(
        self,
        index: HealingLexicalIndex,
        pauses: HealingPauses | None = None,
        check_seconds: float = CHECK_SECONDS,
        on_healed: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_healed` is called whenever an index was made anew."""
        self._on_healed = on_healed
        self._index = index
        self._pauses = pauses or HealingPauses()
        self._check_seconds = check_seconds
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
        """Wait until the index is sound, or is tried again only much later; whether it is so.

        Nobody waits for a keeper that has ended.
        """
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
        try:
            if not self._trusted:
                survive(self._compare, "The lexical index could not be compared", ())
            while not self._closed:
                if survive(self._do_what_is_due, "The lexical index is not seen to", ()) is None:
                    self._note_unexpected_failure()
        finally:
            self._let_go_who_waits()

    def _do_what_is_due(self) -> bool:
        """Do one thing, if it is only to wait a while; gives that it was done."""
        if self._index.status.ready:
            self._rest()
        elif not self._pauses.given_up:
            self._wait_and_try()
        elif self._pauses.retry_is_due:
            self._try()
        else:
            self._wait_settled()
        return True

    def _note_unexpected_failure(self) -> None:
        """Count it as a try that failed."""
        self._pauses.note_failure()
        self._tell_if_given_up()
        if self._pauses.given_up:
            self._let_go_who_waits()
        with self._state:
            self._state.wait_for(lambda: self._closed, self._check_seconds)

    def _let_go_who_waits(self) -> None:
        with self._state:
            self._settled = True
            self._state.notify_all()

    def _compare(self) -> None:
        try:
            self._index.open(trusted=False)
        except AppError as error:  # of the database, or it was closed before this began
            self._tell_failure("compared", error)

    def _rest(self) -> None:
        self._pauses.forget_failures()
        survive(self._index.tidy, "The lexical index could not be tidied", ())
        self._wait_settled()

    def _wait_settled(self) -> None:
        self._let_go_who_waits()
        with self._state:
            self._state.wait_for(lambda: self._closed, self._check_seconds)

    def _wait_and_try(self) -> None:
        with self._state:
            self._settled = False
            if self._state.wait_for(lambda: self._closed, self._pauses.before_try()):
                return
        self._try()

    def _try(self) -> None:
        self._pauses.note_try()
        try:
            records = self._index.heal()
        except AppError as error:
            self._pauses.note_failure(error)
            if self._pauses.failure_is_news:
                self._tell_failure("rebuilt", error)
                self._tell_if_given_up()
        else:
            if records is None:  # somebody has rebuilt it by command
                return
            self._pauses.note_repair()
            self._on_healed()
            logger.info("The lexical index was made anew: %d records", records)

    def _tell_failure(self, doing: str, error: AppError) -> None:
        if not self._index.is_closed:  # else it was broken off, and the next start goes on
            logger.warning("The lexical index could not be %s: %s", doing, error.detail)

    def _tell_if_given_up(self) -> None:
        if self._pauses.given_up and not self._index.is_closed:
            seconds = self._pauses.retry_seconds
            logger.error("The lexical index is left for %d seconds.", seconds)
