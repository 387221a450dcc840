"""One piece of work an item at a time, and a deletion stops it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.errors import (
    ItemStoppedError,
    NotFoundError,
    StoppingError,
    UnavailableError,
    WorkStoppedError,
)
from app.indexing.claims import ItemClaims
from app.jobs.service import JobService
from app.protocols import Progress
from tests.patience import PATIENCE_SECONDS


class Waiting:
    """A thread that waits for an item, and notes how that ended."""

    def __init__(self, claims: ItemClaims, item_id: int) -> None:
        self.waits = threading.Event()
        self.outcome: object = None
        self.thread = threading.Thread(target=self._run, args=(claims, item_id))
        self.thread.start()
        assert self.waits.wait(PATIENCE_SECONDS)

    def _run(self, claims: ItemClaims, item_id: int) -> None:
        try:
            with claims.claim(item_id, while_waiting=self.waits.set):
                self.outcome = "held it"
        except (ItemStoppedError, UnavailableError) as error:
            self.outcome = type(error)

    def end(self) -> object:
        self.thread.join(PATIENCE_SECONDS)
        return self.outcome


def test_two_never_hold_the_same_item_at_once():
    claims, inside, most = ItemClaims(), [], []

    def work() -> None:
        for _ in range(200):
            with claims.claim(7):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 800
    assert set(most) == {1}


def test_who_comes_for_an_item_later_is_not_asked_to_stop():
    claims = ItemClaims()
    with claims.claim(7) as signal:
        stop = claims.stopper(7)
        later = Waiting(claims, 7)
        stop()
        with pytest.raises(ItemStoppedError):
            signal.check()
    assert later.end() == "held it"


def test_different_items_do_not_wait_for_each_other():
    claims = ItemClaims()
    with claims.claim(1), claims.claim(2) as signal:
        signal.check()


def test_stop_reaches_the_holder_and_nobody_after_it():
    claims = ItemClaims()
    with claims.claim(1) as signal:
        claims.stop(1)
        with pytest.raises(WorkStoppedError):
            signal.check()
    claims.stop(1)
    with claims.claim(1) as next_signal:
        next_signal.check()


def test_closing_stops_the_work_waits_for_it_and_lets_none_begin():
    claims, begun, ended = ItemClaims(), threading.Event(), threading.Event()

    def work() -> None:
        with claims.claim(1) as signal:
            begun.set()
            while True:
                try:
                    signal.check()
                except UnavailableError:
                    ended.set()
                    return

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    claims.close()
    assert ended.is_set()
    with pytest.raises(UnavailableError), claims.claim(2):
        pass
    thread.join()


def test_who_waits_gets_the_item_in_turn():
    claims = ItemClaims()
    with claims.claim(1):
        waiting = Waiting(claims, 1)
        assert waiting.outcome is None
    assert waiting.end() == "held it"


def test_whoever_waits_can_give_up():
    claims = ItemClaims()

    def no_longer_wanted() -> None:
        raise WorkStoppedError("The job was cancelled.")

    with claims.claim(1):
        with pytest.raises(WorkStoppedError), claims.claim(1, while_waiting=no_longer_wanted):
            pass
        assert claims.items_in_use() == {1}
    assert claims.items_in_use() == frozenset()


def test_taking_an_item_over_ends_all_who_hold_it_or_wait_for_it_whenever_they_came():
    claims = ItemClaims()
    holds, go_on = threading.Event(), threading.Event()
    held: list[object] = []

    def hold() -> None:
        with claims.claim(1) as signal:
            holds.set()
            assert go_on.wait(PATIENCE_SECONDS)
            before.end()  # who waits is asked at the same moment, and does not wait for this one
            try:
                signal.check()
            except ItemStoppedError as error:
                held.append(type(error))

    holder = threading.Thread(target=hold)
    holder.start()
    assert holds.wait(PATIENCE_SECONDS)
    before = Waiting(claims, 1)
    go_on.set()
    with claims.take_over(1):
        during = Waiting(claims, 1)
    holder.join()
    assert [*held, before.end(), during.end()] == [ItemStoppedError] * 3
    with claims.claim(1) as afterwards:
        afterwards.check()


def test_a_removal_is_not_stopped_by_another_one():
    claims, begun, done = ItemClaims(), threading.Event(), []

    def remove() -> None:
        begun.set()
        with claims.take_over(1):
            done.append(1)

    with claims.take_over(1):
        other = threading.Thread(target=remove)
        other.start()
        assert begun.wait(PATIENCE_SECONDS)
        claims.stop(1)
    other.join(PATIENCE_SECONDS)
    assert done == [1]


def test_a_removal_that_fails_stops_nobody_who_came_after_it():
    claims, waiting = ItemClaims(), []

    def remove_in_vain() -> None:
        with claims.take_over(1):
            waiting.append(Waiting(claims, 1))
            raise NotFoundError("There is no such item.")

    with pytest.raises(NotFoundError):
        remove_in_vain()
    assert waiting[0].end() == "held it"


def test_closing_ends_the_waiting():
    claims = ItemClaims()
    with claims.claim(1):
        waiting = Waiting(claims, 1)
        claims.stop_all()
        assert waiting.end() is StoppingError


def test_somebody_is_told_when_an_item_is_free():
    freed: list[frozenset[int]] = []
    claims = ItemClaims(on_freed=lambda: freed.append(claims.items_in_use()))
    with claims.claim(1), claims.claim(2):
        assert claims.items_in_use() == {1, 2}
        assert freed == []
    assert freed == [{1}, frozenset()]


# In the service --------------------------------------------------------------------------------


class Gate:
    """A listener that holds its run at the first sign of progress."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, _progress: Progress) -> None:
        self.reached.set()
        assert self.opened.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("how", ["remove", "delete"])
def test_what_waits_for_an_item_that_is_taken_out_ends_with_it(
    container, add_item, source_root, how
):
    (source_root / "a.md").write_text("# Words")
    item = add_item(source_root)
    gate, outcomes = Gate(), []
    # A worker of its own would take the job before the item is taken out.
    promised = JobService(container.database, on_queued=lambda: None)

    def index(**options) -> None:
        try:
            container.indexer.index(item.id, **options)
        except ItemStoppedError as error:
            outcomes.append(error.detail)

    threads = [threading.Thread(target=index, kwargs={"progress": gate})]
    threads[0].start()
    assert gate.reached.wait(PATIENCE_SECONDS)
    waits = threading.Event()
    threads.append(threading.Thread(target=index, kwargs={"progress": lambda _: waits.set()}))
    threads[1].start()
    assert waits.wait(PATIENCE_SECONDS)
    job = promised.add("index", {"knowledge_id": item.id, "force": False})
    take_out = container.indexer.remove if how == "remove" else container.knowledge.delete
    threads.append(threading.Thread(target=take_out, args=(item.id,)))
    threads[2].start()
    threads[1].join(PATIENCE_SECONDS)  # at once, while the item is still held
    assert len(outcomes) == 1
    gate.opened.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert len(outcomes) == 2
    assert all("deleted or removed" in outcome for outcome in outcomes)
    job = promised.get(job.id)
    assert (job.state, "deleted or removed" in str(job.error)) == ("cancelled", True)
    if how == "remove":
        left = container.knowledge.get(item.id)
        assert (left.status, left.chunk_count) == ("pending", 0)


def test_cancelling_a_run_that_waits_for_its_item_ends_it(container, add_item, source_root):
    (source_root / "a.md").write_text("# Words")
    item = add_item(source_root)
    gate = Gate()
    first = threading.Thread(
        target=container.indexer.index, args=(item.id,), kwargs={"progress": gate}
    )
    first.start()
    assert gate.reached.wait(PATIENCE_SECONDS)

    def cancelled(_: Progress) -> None:
        raise WorkStoppedError("The job was cancelled.")

    with pytest.raises(WorkStoppedError, match="cancelled"):
        container.indexer.index(item.id, progress=cancelled)
    assert container.indexer.items_in_use() == {item.id}
    gate.opened.set()
    first.join(PATIENCE_SECONDS)
    assert container.knowledge.get(item.id).status == "active"


def test_a_run_that_waited_for_its_item_reads_the_source_that_this_has_by_then(
    container, add_item, source_root, found
):
    for name in ("lighthouse", "windmill"):
        (source_root / f"{name}.md").write_text(f"How to oil the {name}.")
    item = add_item(source_root / "lighthouse.md", "markdown")
    gate, waits = Gate(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(container.indexer.index, item.id, progress=gate)
        assert gate.reached.wait(PATIENCE_SECONDS)
        second = pool.submit(container.indexer.index, item.id, progress=lambda _: waits.set())
        assert waits.wait(PATIENCE_SECONDS)
        container.knowledge.update(item.id, {"uri": str(source_root / "windmill.md")})
        gate.opened.set()
        assert first.result(PATIENCE_SECONDS).success
        assert second.result(PATIENCE_SECONDS).success
    assert container.knowledge.get(item.id).status == "active"
    assert found("oil") == ["How to oil the windmill."]


def test_holding_all_waits_for_whoever_works_and_lets_nobody_begin():
    claims, holding, held, leave = ItemClaims(), threading.Event(), threading.Event(), []

    def hold() -> None:
        holding.set()
        with claims.hold_all():
            held.set()
            leave.append(claims.items_in_use())

    with claims.claim(1):
        holder = threading.Thread(target=hold)
        holder.start()
        assert holding.wait(PATIENCE_SECONDS)
        assert not held.is_set(), "somebody works yet"
        with claims.claim(2), claims.take_over(3):
            assert not held.is_set(), "nobody waits because somebody wants to hold all"
    holder.join(PATIENCE_SECONDS)
    assert held.is_set()
    with claims.hold_all():
        late = Waiting(claims, 2)
        assert late.outcome is None
    assert late.end() == "held it"


def test_holding_all_gives_up_when_the_time_is_over():
    claims = ItemClaims()
    with claims.claim(1), claims.hold_all(timeout_seconds=0.01) as is_held:
        assert not is_held
        with claims.claim(2), claims.take_over(3):
            pass
    with claims.hold_all(timeout_seconds=0) as is_held:
        assert is_held


def test_a_closed_door_keeps_runs_out_lets_removals_in_and_those_inside_go_on():
    claims = ItemClaims()
    with claims.claim(1) as inside:
        with claims.close_door():
            kept_out, taken_out = Waiting(claims, 2), Waiting(claims, 3)
            with claims.take_over(3), claims.take_over(4):
                inside.check()
            assert kept_out.outcome is None
            assert taken_out.end() is ItemStoppedError
        assert kept_out.end() == "held it"


def test_whoever_wants_to_begin_is_told_when_the_last_door_is_opened():
    told: list[bool] = []
    claims = ItemClaims(on_freed=lambda: told.append(claims.runs_may_begin()))
    assert claims.runs_may_begin()
    with claims.close_door():
        with claims.hold_all():
            assert not claims.runs_may_begin()
        with claims.close_door():
            pass
        assert not claims.runs_may_begin()
        assert told == []
    assert told == [True]
    with claims.hold_all():
        assert not claims.runs_may_begin()
    assert told == [True, True]


def test_behind_a_closed_door_all_can_be_held_once_those_inside_have_ended():
    claims, begun, end = ItemClaims(), threading.Event(), threading.Event()

    def work() -> None:
        with claims.claim(1):
            begun.set()
            assert end.wait(PATIENCE_SECONDS)

    worker = threading.Thread(target=work)
    worker.start()
    assert begun.wait(PATIENCE_SECONDS)
    with claims.close_door():
        late = Waiting(claims, 2)
        end.set()
        with claims.hold_all(PATIENCE_SECONDS) as is_held:
            assert is_held
            assert late.outcome is None
    assert late.end() == "held it"
    worker.join(PATIENCE_SECONDS)


def test_holding_all_ends_when_everything_stops():
    claims, outcome = ItemClaims(), []

    def hold() -> None:
        try:
            with claims.hold_all():
                outcome.append("held")
        except UnavailableError:
            outcome.append("stopping")

    with claims.claim(1) as signal:
        holder = threading.Thread(target=hold)
        holder.start()
        claims.stop_all()
        holder.join(PATIENCE_SECONDS)
        with pytest.raises(UnavailableError):
            signal.check()
    assert outcome == ["stopping"]
