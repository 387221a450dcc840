"""Which kills come when: every named step in turn, and moments at random between them."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.fault_points import FaultPoint


class Situation(StrEnum):
    """What goes on when the server is killed."""

    WORK = "at work"
    RESUMPTION = "taking up interrupted work"
    START = "at a start after a kill"
    CLEAN_START = "at a start after a stop"
    HEALING = "mending a deleted index"
    STOP = "at a stop"
    COMPACTION = "compacting"
    SWITCH = "changing the size of chunks"


SITUATIONS: Mapping[FaultPoint, Situation] = {
    FaultPoint.MARKED_OPEN: Situation.CLEAN_START,
    FaultPoint.TABLES_MIGRATED: Situation.START,
    FaultPoint.OUTBOX_SETTLED: Situation.START,
    FaultPoint.JOBS_REQUEUED: Situation.START,
    FaultPoint.LEXICAL_FILLED: Situation.START,
    FaultPoint.LEXICAL_MARKED: Situation.START,
    FaultPoint.VECTORS_COMPARED: Situation.START,
    FaultPoint.VECTORS_FILLED: Situation.START,
    FaultPoint.VECTORS_MARKED: Situation.START,
    FaultPoint.LEXICAL_DELETED: Situation.HEALING,
    FaultPoint.LEXICAL_RECREATED: Situation.HEALING,
    FaultPoint.LEXICAL_BATCH_FILLED: Situation.HEALING,
    FaultPoint.VECTORS_RECREATED: Situation.HEALING,
    FaultPoint.VECTORS_BATCH_FILLED: Situation.HEALING,
    FaultPoint.EMBEDDINGS_DROPPED: Situation.COMPACTION,
    FaultPoint.DATABASE_VACUUMED: Situation.COMPACTION,
    FaultPoint.LEXICAL_REBUILT: Situation.COMPACTION,
    FaultPoint.VECTORS_REBUILT: Situation.COMPACTION,
    FaultPoint.GENERATION_DOCUMENTS_STORED: Situation.SWITCH,
    FaultPoint.GENERATION_INDEXES_FILLED: Situation.SWITCH,
    FaultPoint.GENERATION_SWITCHED: Situation.SWITCH,
    FaultPoint.GENERATION_EXCHANGED: Situation.SWITCH,
    FaultPoint.JOB_HANDED_BACK: Situation.STOP,
    FaultPoint.INDEXES_CLOSED: Situation.STOP,
    FaultPoint.SEAL_WRITTEN: Situation.STOP,
    FaultPoint.MARKED_CLEAN: Situation.STOP,
}
"""Where a step is passed for certain; all others are passed again and again at work."""

UNCHECKED = frozenset({Situation.RESUMPTION, Situation.START, Situation.HEALING})
"""Here the server dies before it has recovered; what the kill before left is seen on a copy."""

RANDOM_SITUATIONS = (
    *(Situation.WORK,) * 4, Situation.RESUMPTION, Situation.START, Situation.STOP,
    Situation.COMPACTION, Situation.SWITCH,
)  # fmt: skip

STEPS_SHARE = 0.8
"""How many of the kills come at named steps."""

RESUMED_SHARE = 0.25
"""How many of the kills at work come already while interrupted work is taken up."""

MOST_PASSINGS = 3
MOST_MISSES = 3
"""Kills that are planned at a step which is not passed, before that counts as a failure."""


@dataclass(frozen=True)
class Kill:
    """One kill: at a step, or at a random moment."""

    situation: Situation
    point: FaultPoint | None = None
    passing: int = 1

    @property
    def name(self) -> str:
        """As reports call it."""
        return str(self.point) if self.point else f"a random moment {self.situation}"


class Plan:
    """Gives one kill after the other; a step that was missed comes again, at its first passing."""

    def __init__(self, kills: int, chance: random.Random) -> None:
        self._random = chance
        self._kills = kills
        self._given = 0
        self._steps = self._steps_in_turn()
        self._again: list[FaultPoint] = []
        self._misses: dict[FaultPoint, int] = {}

    def __iter__(self) -> Iterator[Kill]:
        before = Kill(Situation.WORK)
        while self._given < self._kills or self._again:
            kill = self._next()
            if before.situation in UNCHECKED and kill.situation in UNCHECKED:
                # Not three kills in a row before the service has recovered once.
                yield Kill(Situation.WORK)
                self._given += 1
            yield kill
            self._given += 1
            before = kill

    def _next(self) -> Kill:
        if self._again:
            return self._at(self._again.pop(0), passing=1, may_resume=False)
        if self._random.random() < STEPS_SHARE:
            return self._at(next(self._steps), passing=self._random.randint(1, MOST_PASSINGS))
        return Kill(self._random.choice(RANDOM_SITUATIONS))

    def missed(self, kill: Kill) -> None:
        """The step was not passed; raises AssertionError when that happens again and again."""
        if kill.point is None:
            return
        self._misses[kill.point] = self._misses.get(kill.point, 0) + 1
        assert self._misses[kill.point] < MOST_MISSES, f"{kill.point} is not passed: {kill}"
        self._again.append(kill.point)

    def _at(self, point: FaultPoint, passing: int, *, may_resume: bool = True) -> Kill:
        situation = SITUATIONS.get(point, Situation.WORK)
        if situation is not Situation.WORK:
            return Kill(situation, point)  # there, most steps are passed once
        if may_resume and self._random.random() < RESUMED_SHARE:
            situation = Situation.RESUMPTION
        return Kill(situation, point, passing)

    def _steps_in_turn(self) -> Iterator[FaultPoint]:
        while True:
            yield from self._random.sample(list(FaultPoint), len(FaultPoint))
