"""
Many threads and processes on one database: every race has one winner, and nothing is lost or done twice.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Self

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Lease, NewJob, Place, Status
from chokaq_core.domain.moves import Move, complete, dead_letter
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.ports import (
    Beat,
    Burial,
    CancelOutcome,
    EnqueueItem,
    EnqueueOutcome,
    PillarCounts,
    QueueChange,
    ResurrectOutcome,
    Store,
    Totals,
    Turn,
)
from tests.contract.racer import enqueue_each_key
from tests.contract.racing import at_once, drain, in_processes, race
from tests.contract.sources import StoreKind, StoreSource
from tests.contract.stages import BOOM, place_of

THREADS = 8
ROUNDS = 25
SOON = timedelta(hours=-1)
"""A timeout that has passed for everything: no test of a race waits for time to pass."""
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
AS_ZOMBIE = Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)


@pytest.fixture
def rivals(kind: StoreKind, source: StoreSource) -> Iterator[Sequence[Store]]:
    """
    A store for each of eight threads: on a shared database every two threads have one of their own, else all the same.
    """
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(source.open())) for _ in range(4 if kind.is_shared else 1)]
        yield [stores[number % len(stores)] for number in range(THREADS)]


@pytest.mark.case("C-008")
class TestDraining:
    def test_eight_threads_start_every_job_once(self, rivals: Sequence[Store], source: StoreSource) -> None:
        count = source.load(2000)
        _enqueue(rivals[0], count)

        found = at_once([partial(drain, store, f"worker-{number}") for number, store in enumerate(rivals)])

        _check_all_were_run_once(rivals[0], [job_id for ids in found for job_id in ids], count)

    @pytest.mark.case("C-065")
    def test_eight_threads_in_each_of_three_processes_start_every_job_once(
        self, open_shared: Callable[[], Store], shared_source: StoreSource
    ) -> None:
        store = open_shared()
        count = shared_source.load(5000)
        _enqueue(store, count)

        found = in_processes(3, "drain", shared_source.address, threads=shared_source.load(THREADS))

        _check_all_were_run_once(store, [job_id for ids in found for job_id in ids], count)


def _enqueue(store: Store, count: int, queues: int = 3) -> None:
    jobs = [NewJob(f"job-{n}", f"type-{n % 2}", f"{n}", queue=f"queue-{n % queues}") for n in range(count)]
    for start in range(0, count, 1000):
        store.enqueue(jobs[start : start + 1000])


def _check_all_were_run_once(store: Store, started: list[str], count: int) -> None:
    assert (len(started), len(set(started))) == (count, count)
    assert store.counts() == PillarCounts(hot=0, archive=count, dlq=0)
    assert sum(totals.succeeded for totals in store.totals().values()) == count
    assert sum(bucket.completed for bucket in store.buckets(LONG_AGO)) == count


@pytest.mark.case("C-020")
class TestKeys:
    def test_of_many_threads_with_one_key_one_creates_the_job(
        self, rivals: Sequence[Store], source: StoreSource
    ) -> None:
        keys = source.load(40)

        found = at_once([partial(enqueue_each_key, store, f"t{n}", n, keys) for n, store in enumerate(rivals)])

        _check_one_winner_for_each_key(rivals[0], [entry for entries in found for entry in entries], keys, THREADS)

    def test_of_many_processes_with_one_key_one_creates_the_job(
        self, open_shared: Callable[[], Store], shared_source: StoreSource
    ) -> None:
        store = open_shared()
        keys, threads = shared_source.load(50), shared_source.load(4)

        found = in_processes(3, "enqueue_keys", shared_source.address, threads=threads, keys=keys)

        _check_one_winner_for_each_key(store, [entry for entries in found for entry in entries], keys, 3 * threads)


def _check_one_winner_for_each_key(store: Store, entries: list[list[str]], keys: int, callers: int) -> None:
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for key, outcome, job_id in entries:
        outcomes[key][outcome] += 1
        ids[key].add(job_id)
    assert list(outcomes.values()) == [{"created": 1, "duplicate": callers - 1}] * keys
    assert [len(found) for found in ids.values()] == [1] * keys
    assert store.counts().hot == keys


class TestRescuers:
    def test_of_many_at_once_one_buries_each_job(self, rivals: Sequence[Store]) -> None:
        store = rivals[0]
        _enqueue(store, 60, queues=1)
        store.turn(Turn("lost", 1, want=60))
        burials = [Burial(suspect, AS_ZOMBIE, BOOM) for suspect in store.suspects(SOON, 100).jobs]

        found = at_once([partial(rival.bury, burials) for rival in rivals])

        assert [sum(applied) for applied in zip(*found, strict=True)] == [1] * 60
        assert store.totals() == {"queue-0": Totals(failed=60)}
        assert store.counts() == PillarCounts(hot=0, archive=0, dlq=60)

    def test_of_many_at_once_one_recovers_each_job(self, rivals: Sequence[Store], source: StoreSource) -> None:
        store = rivals[0]
        _enqueue(store, 60, queues=1)
        store.turn(Turn("lost", 1, prefetch=60))

        found = at_once([partial(rival.recover, SOON, 10) for rival in rivals])

        moved = [job.job_id for jobs in found for job in jobs]
        if not source.has_readpast:
            # All may have found the same ten, which one of them moved.
            assert len(moved) >= 10
            moved += [job.job_id for job in store.recover(SOON, 100)]
        assert (len(moved), len(set(moved))) == (60, 60)

    @pytest.mark.case("C-001")
    def test_a_job_is_either_settled_or_buried(self, rivals: Sequence[Store]) -> None:
        worker, rescuer = rivals[0], rivals[1]
        for number in range(1, ROUNDS + 1):
            lease = _running(worker, number)
            burials = [Burial(suspect, AS_ZOMBIE, BOOM) for suspect in worker.suspects(SOON, 10).jobs]
            settle = Turn("worker", 2 * number, settlements=(complete(lease, 1.0),))

            answer, (is_buried,) = race(partial(worker.turn, settle), partial(rescuer.bury, burials))

            is_settled = not answer.stale
            assert is_settled is not is_buried
            assert place_of(worker, lease.job_id) is (Place.ARCHIVE if is_settled else Place.DLQ)


def _running(store: Store, number: int) -> Lease:
    """
    A new job, running at `worker` in its turn `2 * number - 1`.
    """
    store.enqueue([NewJob(f"job-{number}", "t", "1", idempotency_key="the-key")])
    (claimed,) = store.turn(Turn("worker", 2 * number - 1, want=1)).claimed
    return claimed.lease


@pytest.mark.case("C-008")
@pytest.mark.case("C-009")
class TestLimits:
    def test_a_limit_is_never_exceeded_however_many_claim(self, rivals: Sequence[Store], source: StoreSource) -> None:
        count = source.load(200)
        _enqueue(rivals[0], count, queues=1)
        rivals[0].change_queue("queue-0", QueueChange(max_workers=5))

        with _Sampler(rivals[-1]) as sampler:
            at_once([partial(drain, store, f"worker-{number}") for number, store in enumerate(rivals)])

        assert 1 <= max(sampler.running) <= 5
        assert rivals[0].counts().archive == count

    def test_a_limit_holds_over_processes(self, open_shared: Callable[[], Store], shared_source: StoreSource) -> None:
        store = open_shared()
        count = shared_source.load(200)
        _enqueue(store, count, queues=1)
        store.change_queue("queue-0", QueueChange(max_workers=3))

        with _Sampler(store) as sampler:
            in_processes(3, "drain", shared_source.address, threads=2)

        assert 1 <= max(sampler.running) <= 3
        assert store.counts().archive == count


class _Sampler:
    """
    Reads all the time how many jobs of `queue-0` are held.
    """

    def __init__(self, store: Store) -> None:
        self.running: list[int] = []
        self._store = store
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._is_over.is_set():
            self.running += [row.running for row in self._store.queues() if row.name == "queue-0"]


class TestOperatorsAgainstWorkers:
    @pytest.mark.case("C-043")
    def test_a_key_goes_either_to_the_resurrected_or_to_the_new_job(self, rivals: Sequence[Store]) -> None:
        operator, producer = rivals[0], rivals[1]
        for number in range(1, ROUNDS + 1):
            dead = _running(operator, number)
            end = dead_letter(dead, FailureReason.TIMEOUT, BOOM)
            operator.turn(Turn("worker", 2 * number, settlements=(end,)))
            new = NewJob(f"new-{number}", "t", "1", idempotency_key="the-key")

            (resurrected,), answer = race(
                partial(operator.resurrect, [dead.job_id], "ann"), partial(producer.enqueue, [new])
            )

            assert (resurrected, answer.items[0]) in (
                (ResurrectOutcome.RESURRECTED, EnqueueItem(EnqueueOutcome.DUPLICATE, dead.job_id)),
                (ResurrectOutcome.KEY_HELD, EnqueueItem(EnqueueOutcome.CREATED, new.id)),
            )
            assert operator.counts().hot == 1
            operator.cancel([dead.job_id, new.id], "ann")

    def test_a_fetched_job_is_either_cancelled_or_started_with_the_mark(self, rivals: Sequence[Store]) -> None:
        operator, worker = rivals[0], rivals[1]
        for number in range(1, ROUNDS + 1):
            job_id = f"job-{number}"
            worker.enqueue([NewJob(job_id, "t", "1")])
            lease = worker.turn(Turn("worker", 2 * number - 1, prefetch=1)).claimed[0].lease
            start = Turn("worker", 2 * number, starts=(lease,))

            (cancelled,), answer = race(partial(operator.cancel, [job_id], "ann"), partial(worker.turn, start))

            assert (cancelled, answer.stale) in (
                (CancelOutcome.DEAD_LETTERED, {job_id}),
                (CancelOutcome.MARKED, frozenset()),
            )
            assert worker.beat(Beat("worker")).held.keys() == ({job_id} - answer.stale)
            operator.bury([Burial(suspect, AS_ZOMBIE, BOOM) for suspect in operator.suspects(SOON, 10).jobs])

    @pytest.mark.case("C-060")
    def test_once_a_pause_has_returned_nothing_is_fetched_and_nothing_more_is_claimed(
        self, rivals: Sequence[Store], source: StoreSource
    ) -> None:
        *workers, operator = rivals
        turns = source.load(30)
        _enqueue(operator, 700, queues=1)

        def claim(store: Store, worker_id: str) -> None:
            for seq in range(1, turns + 1):
                store.turn(Turn(worker_id, seq, want=1, prefetch=1))

        def claim_all() -> None:
            at_once([partial(claim, worker, f"worker-{n}") for n, worker in enumerate(workers)])

        _, row = race(claim_all, partial(operator.change_queue, "queue-0", QueueChange(is_paused=True)))

        held = [job for n, w in enumerate(workers) for job in w.beat(Beat(f"worker-{n}")).held.values()]
        assert [job.is_running for job in held] == [True] * row.running


class TestRepeats:
    def test_a_turn_sent_twice_at_once_is_taken_once(self, rivals: Sequence[Store]) -> None:
        for number in range(1, ROUNDS + 1):
            rivals[0].enqueue([NewJob(f"job-{number}-{n}", "t", "1") for n in range(3)])
            turn = Turn("worker", number, want=1, prefetch=1)

            first, second = race(partial(rivals[0].turn, turn), partial(rivals[1].turn, turn))

            assert {first.is_repeat, second.is_repeat} == {True, False}
            assert [job.lease for job in first.claimed] == [job.lease for job in second.claimed]
            assert [job.status for job in first.claimed] == [Status.PROCESSING, Status.FETCHED]
        assert len(rivals[0].beat(Beat("worker")).held) == 2 * ROUNDS

    def test_a_batch_enqueued_by_many_at_once_is_stored_once(self, rivals: Sequence[Store]) -> None:
        jobs = [NewJob(f"job-{n}", "t", f"{n}", idempotency_key=f"key-{n}") for n in range(100)]

        found = at_once([partial(store.enqueue, jobs) for store in rivals])

        assert {answer.items for answer in found} == {
            tuple(EnqueueItem(EnqueueOutcome.CREATED, f"job-{n}") for n in range(100))
        }
        assert rivals[0].counts().hot == 100


class TestPreparing:
    def test_processes_that_make_the_schema_ready_at_once_all_find_it_ready(self, shared_source: StoreSource) -> None:
        found = in_processes(4, "prepare", shared_source.address)

        assert found == [{"is_ready": True, "version": found[0]["version"]}] * 4
        with closing(shared_source.open()) as store:
            assert [row.name for row in store.queues()] == ["default"]
