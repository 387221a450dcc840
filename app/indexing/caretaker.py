"""Walks through SQL in the background, compares both indexes with it, and mends what is wrong."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TypeVar

from app.errors import AppError, EmbeddingError, StoppingError
from app.indexing.comparison import DATABASE, Drift, DriftKind, IndexComparison
from app.indexing.publisher import Publisher
from app.indexing.vector_repair import VectorRepair
from app.slices import slices
from app.surviving import survive

logger = logging.getLogger(__name__)

SLICE_CHUNKS = 200
"""Chunks compared at a time. The writer waits meanwhile: 10 ms, or 60 ms with Chroma open."""

SAMPLED_SEARCHES = 40
"""How many chunks of a walk are searched for by their own vectors, and must be found."""

PAUSE_FACTOR = 9.0
LEAST_PAUSE_SECONDS = 0.05
"""After each slice the walk rests nine times as long as the slice took: a tenth of one core."""

EMBEDDED_TOGETHER = 32
"""Texts that are embedded again at a time: it takes a third of a second, which a stop waits for."""

FIRST_WALK_SECONDS = 60.0
"""Longest wait of the first walk after a start."""

Result = TypeVar("Result")


@dataclass
class Walk:
    """The outcome of one comparison of everything."""

    compared: int = 0
    drift: list[Drift] = field(default_factory=list)
    sample: list[str] = field(default_factory=list)
    unembedded: list[str] = field(default_factory=list)
    """Chunks for which SQL itself holds no sound vector; `walk` leaves them as they are."""

    @property
    def unmended(self) -> list[Drift]:
        """What still differs."""
        return [each for each in self.drift if not each.mended]


class IndexCaretaker:
    """Compares everything once per interval. `walk` may also be called to do so at once."""

    def __init__(
        self,
        comparison: IndexComparison,
        publisher: Publisher,
        vector_repair: VectorRepair,
        *,
        interval_seconds: float,
        observe: Callable[[Drift], None] = lambda _: None,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """`observe` is told of every chunk that differed.

        `wait` waits so many seconds and says whether to end; the default also wakes up at `close`.
        """
        self._comparison = comparison
        self._publisher = publisher
        self._vector_repair = vector_repair
        self._interval_seconds = interval_seconds
        self._observe = observe
        self._random = Random()  # noqa: S311, no secret
        self._closing = threading.Event()
        self._wait = wait or self._closing.wait
        self._thread = threading.Thread(target=self._run, name="caretaker", daemon=True)

    def start(self) -> None:
        """Walk in the background, unless the interval is 0."""
        if self._interval_seconds > 0:
            self._thread.start()

    def close(self) -> None:
        """End a walk between two slices."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()

    def walk(self, *, mend: bool, gently: bool = False) -> Walk:
        """Compare everything; `gently`: with pauses, and only until `close` is called.

        Raises StoppingError, StorageError and UnavailableError.
        """
        walk = Walk()
        for found in self._slices(walk, mend=mend, gently=gently):
            for drift in found:
                self._observe(drift)
            walk.drift += found
        return walk

    # Inside ------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = min(FIRST_WALK_SECONDS, self._interval_seconds)
        while not self._wait(pause):
            try:
                survive(self._walk_and_embed, "The indexes are compared again later", (AppError,))
            except StoppingError:
                return
            except AppError as error:
                logger.warning("The indexes could not be compared: %s", error.detail)
            pause = self._interval_seconds

    def _walk_and_embed(self) -> None:
        walk = self.walk(mend=True, gently=True)
        walk.drift += self._embed_again(walk.unembedded)
        self._report(walk)

    def _embed_again(self, chunk_ids: Sequence[str]) -> list[Drift]:
        """Embed again where SQL's vector is lost or damaged: no search by meaning finds those.

        Raises StoppingError.
        """
        found: list[Drift] = []
        for some in slices(chunk_ids, EMBEDDED_TOGETHER):
            failure = self._embed_some(some)
            sound = self._vector_repair.are_sound(some)  # of what has not gone meanwhile
            drift = [
                Drift(DriftKind.NO_VECTOR, DATABASE, key, mended) for key, mended in sound.items()
            ]
            for each in drift:
                self._observe(each)
            found += drift
            if failure is not None:
                logger.warning("Lost vectors could not be made anew: %s", failure)
                break  # the rest would fail alike; the next walk tries again
            if self._wait(LEAST_PAUSE_SECONDS):
                raise StoppingError
        return found

    def _embed_some(self, chunk_ids: Sequence[str]) -> str | None:
        """Embed, and bring the indexes up to date; returns why that failed, for the log."""
        if not self._vector_repair.has_the_model:
            return "another model is open than the one that embedded the rest."
        try:
            self._vector_repair.embed(chunk_ids)
        except EmbeddingError as error:
            return error.logged
        finally:
            self._publisher.settled().result()
        return None

    @staticmethod
    def _report(walk: Walk) -> None:
        if not walk.drift:
            logger.debug("Compared the indexes with %d chunks: no difference.", walk.compared)
            return
        counts = Counter((each.index, each.kind.value) for each in walk.drift)
        what = ", ".join(f"{index} {kind}: {n}" for (index, kind), n in sorted(counts.items()))
        mended = len(walk.drift) - len(walk.unmended)
        logger.warning(
            "Compared the indexes with %d chunks: %d differences (%s), %d mended.",
            walk.compared, len(walk.drift), what, mended,
        )  # fmt: skip

    def _slices(self, walk: Walk, *, mend: bool, gently: bool) -> Iterator[Sequence[Drift]]:
        """Yield what each slice finds, and count it into the walk."""
        compare, last_id = self._comparison, ""
        while True:
            task = partial(compare.after, last_id, SLICE_CHUNKS, mend=mend)
            some = self._done(task, gently=gently)
            if not some.chunk_ids:
                break
            yield some.drift
            walk.unembedded += some.unembedded
            last_id = some.chunk_ids[-1]
            self._count(walk, some.chunk_ids)
        for index, ids in self._done(
            partial(compare.crowded, every=not mend), gently=gently
        ).items():
            for page in slices(ids, SLICE_CHUNKS):
                task_of_page = partial(compare.surplus, index, page, mend=mend)
                yield self._done(task_of_page, gently=gently)
        if walk.sample:
            yield self._done(partial(compare.lost, walk.sample, mend=mend), gently=gently)

    def _done(self, task: Callable[[], Result], *, gently: bool) -> Result:
        """Run a task between two changes, and rest after it if it is to be gentle."""
        started = time.perf_counter()
        result = self._publisher.between_changes(task).result()
        if gently:
            took = time.perf_counter() - started
            if self._wait(max(LEAST_PAUSE_SECONDS, PAUSE_FACTOR * took)):
                raise StoppingError
        return result

    def _count(self, walk: Walk, chunk_ids: Sequence[str]) -> None:
        """Count what was compared; every chunk has the same chance of being in the sample."""
        for chunk_id in chunk_ids:
            walk.compared += 1
            if len(walk.sample) < SAMPLED_SEARCHES:
                walk.sample.append(chunk_id)
            elif (place := self._random.randrange(walk.compared)) < SAMPLED_SEARCHES:
                walk.sample[place] = chunk_id
