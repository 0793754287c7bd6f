"""
Random lives of a store beside a model: several workers, operators, scans, crashes, lost answers, a clock that jumps.

After each step every accepted job is in exactly one pillar and as the model has it, its lease number never lower than
before; the counters add up; no claim goes over a limit; a type that is held back has one probe at most.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from chokaq_core.domain.circuit import CircuitReport, CircuitSignal, CircuitState
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ClaimedJob, Lease, NewJob, Place, Status
from chokaq_core.domain.lanes import LaneFilter
from chokaq_core.domain.listing import JobSummary, Pillar
from chokaq_core.domain.moves import (
    MOVES,
    SETTLING,
    Move,
    Settlement,
    complete,
    dead_letter,
    hand_back,
    postpone,
    release,
    retry,
)
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.policy.rescue import Suspect
from chokaq_core.ports import (
    Beat,
    Burial,
    CancelOutcome,
    Edit,
    EnqueueItem,
    EnqueueOutcome,
    PillarCounts,
    QueueChange,
    ResurrectOutcome,
    Store,
    Totals,
    Turn,
    TurnAnswer,
    WorkerFacts,
)
from tests.contract.model import HELD, Model, ModelJob
from tests.contract.sources import StoreKind
from tests.contract.stages import BOOM
from tests.support.clock import NOON, SteppedClock

QUEUES, TYPES, KEYS = ("mail", "news"), ("t1", "t2"), ("k1", "k2")
CIRCUITS = CircuitRules(failure_threshold=2)
ZOMBIE_TIMEOUT = timedelta(minutes=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
MOST_EXAMPLES = 1000
SHARE = {"sqlite-memory": 1, "sqlite-file": 10, "sqlserver": 25}
"""Slower stores get a smaller part of the examples that the profile allows."""

ENDINGS: dict[Move, Callable[[Lease, timedelta], Settlement]] = {
    Move.COMPLETE: lambda lease, _: complete(lease, 12.5),
    Move.RETRY: lambda lease, delay: retry(lease, delay, BOOM),
    Move.POSTPONE: postpone,
    Move.DEAD_LETTER: lambda lease, _: dead_letter(lease, FailureReason.FATAL_ERROR, BOOM, 12.5),
    Move.RELEASE: lambda lease, _: release(lease),
    Move.HAND_BACK: lambda lease, _: hand_back(lease),
}
PLACES = {
    Status.PENDING: Place.PENDING,
    Status.FETCHED: Place.FETCHED,
    Status.PROCESSING: Place.PROCESSING,
}
LIKELY = {
    Status.PROCESSING: [*ENDINGS, Move.COMPLETE, Move.COMPLETE, Move.RETRY, Move.RETRY, Move.DEAD_LETTER],
    Status.FETCHED: [*ENDINGS, Move.RELEASE, Move.RELEASE, Move.POSTPONE],
}
"""Mostly moves that the job's claim allows; `start` may have changed that."""
DELAYS = [timedelta(0), timedelta(0), timedelta(seconds=5), timedelta(seconds=90)]
LANES = (
    *[None] * 4,
    LaneFilter({"t1": True}, {}, others=False),
    LaneFilter({"t1": False}, {"mail": True}, others=False),
    LaneFilter({}, {"mail": False}, others=True),
)
SEEDS = st.integers(0, 2**20)
WORKERS = st.integers(0, 1)


@dataclass(slots=True)
class Worker:
    """
    What a worker believes: leases that it was given and has not ended, and a turn whose answer it did not get.
    """

    id: str
    seq: int = 0
    leases: list[ClaimedJob] = field(default_factory=list)
    unheard: tuple[Turn, TurnAnswer] | None = None

    def hear(self, turn: Turn, answer: TurnAnswer) -> None:
        """
        Believes what a turn came to.
        """
        settled = {settlement.lease for settlement in turn.settlements}
        kept = [job for job in self.leases if job.lease not in settled]
        self.leases = [*kept, *answer.claimed]


class Lives(RuleBasedStateMachine):
    """
    One store and its model, driven side by side.
    """

    def __init__(self, open_store: Callable[[SteppedClock], Store], made: Counter[str]) -> None:
        super().__init__()
        self.made = made
        self.clock = SteppedClock()
        self.latest = NOON
        self.store = open_store(self.clock)
        self.model = Model()
        self.numbers = itertools.count(1)
        self.suspects: list[Suspect] = []
        self.workers = [self._new_worker() for _ in range(2)]

    def teardown(self) -> None:
        self.store.close()

    # Workers and scans, several steps at once, so that short lives are full ones

    @rule(seed=SEEDS)
    def be_busy(self, seed: int) -> None:
        roll = random.Random(seed)  # noqa: S311 - one number of Hypothesis, spun out
        for _ in range(10):
            self._take_step(roll)

    def _take_step(self, roll: random.Random) -> None:
        index, own_seed = roll.randrange(2), roll.randrange(2**20)
        steps: list[Callable[[], object]] = [
            *[partial(self._turn, index, own_seed, roll.randint(0, 4), roll.randint(0, 2))] * 6,
            *[partial(self._beat, index)] * 2,
            *[partial(self.operate, own_seed)] * 2,
            *[partial(self._look_for_suspects, roll.choice([timedelta(0), ZOMBIE_TIMEOUT]))] * 2,
            *[partial(self._bury, is_rerun=roll.random() < 0.7, delay=timedelta(0))] * 2,
            partial(self._recover, roll.choice([timedelta(0), ZOMBIE_TIMEOUT]), 2),
            partial(self.jump, roll.choice([1, 6, 31])),
            partial(self.enqueue, own_seed),
        ]
        roll.choice(steps)()

    # What producers do

    @rule(seed=SEEDS)
    def enqueue(self, seed: int) -> None:
        self._enqueue_some(random.Random(seed))  # noqa: S311 - one number of Hypothesis, spun out

    def _enqueue_some(self, roll: random.Random) -> None:
        jobs = [
            NewJob(
                id=f"job-{next(self.numbers):03}",
                type_key=roll.choice(TYPES),
                payload="1",
                queue=roll.choice(QUEUES),
                priority=roll.choice([5, 10]),
                delay=roll.choice([None, *DELAYS]),
                idempotency_key=roll.choice([None, None, None, *KEYS]),
            )
            for _ in range(roll.randint(1, 5))
        ]
        expected = tuple(self._enqueued(job) for job in jobs)
        due = [job for job, item in zip(jobs, expected, strict=True) if item.outcome is EnqueueOutcome.CREATED]
        open_now = [job for job in due if not job.delay and self.model.lets_run(job.queue)]
        for _ in range(roll.randint(1, 2)):
            answer = self.store.enqueue(jobs)
            assert answer.items == expected
            assert answer.is_claimable <= bool(open_now)
            if any(job.type_key not in self._types_held_back() for job in open_now):
                assert answer.is_claimable

    def _enqueued(self, job: NewJob) -> EnqueueItem:
        holder = self.model.holder_of(job.idempotency_key)
        if holder is None:
            self.made[Move.ENQUEUE] += 1
            self.model.enqueue(job, self.now)
            return EnqueueItem(EnqueueOutcome.CREATED, job.id)
        is_same = holder.job.type_key == job.type_key
        return EnqueueItem(EnqueueOutcome.DUPLICATE if is_same else EnqueueOutcome.KEY_CONFLICT, holder.job.id)

    # What workers do

    def _turn(self, index: int, seed: int, want: int, prefetch: int) -> None:
        worker = self.workers[index]
        if worker.unheard is not None:
            self._repeat(worker)
            return
        roll = random.Random(seed)  # noqa: S311 - one number of Hypothesis, spun out
        if not any(self.model.waiting(self.now)):
            self._enqueue_some(roll)
        turn = self._turn_of(worker, roll, want, prefetch)
        held_back_before = self._types_held_back()
        answer = self.store.turn(turn)
        self._check_turn(turn, answer, held_back_before)
        if roll.random() < 0.75:
            worker.hear(turn, answer)
        else:
            worker.unheard = (turn, answer)

    def _turn_of(self, worker: Worker, roll: random.Random, want: int, prefetch: int) -> Turn:
        """
        Ends some of the jobs in hand, starts some of the others, claims more.
        """
        worker.seq += 1
        # One word on a job at most, though an earlier lease on it may be in hand beside the present one.
        in_hand = {job.lease.job_id: job for job in roll.sample(worker.leases, len(worker.leases))}.values()
        ended = [(job, roll.choice(LIKELY[job.status])) for job in in_hand if roll.random() < 0.6]
        others = [job.lease for job in in_hand if job not in [job for job, _ in ended]]
        return Turn(
            worker.id,
            worker.seq,
            settlements=tuple(ENDINGS[move](job.lease, roll.choice(DELAYS)) for job, move in ended),
            starts=tuple(lease for lease in others if roll.random() < 0.5),
            want=want,
            prefetch=prefetch,
            reports=tuple(_report(job, move) for job, move in ended if job.is_probe or roll.random() < 0.8),
            lanes=roll.choice(LANES),
        )

    def _repeat(self, worker: Worker) -> None:
        """
        A repeat gives the first answer again, without the jobs that have moved on, and moves nothing.
        """
        assert worker.unheard is not None
        turn, first = worker.unheard
        again = self.store.turn(turn)
        assert again.is_repeat
        assert (again.stale, again.cancelled) == (first.stale, first.cancelled)
        still = [job.lease for job in first.claimed if self._is_still(job.lease)]
        assert [job.lease for job in again.claimed] == still
        self.made["repeated claim"] += len(still)
        worker.unheard = None
        worker.hear(turn, again)

    def _is_still(self, lease: Lease) -> bool:
        job = self.model.held_by(lease.worker_id).get(lease.job_id)
        return job is not None and job.lease == lease.number

    def _check_turn(self, turn: Turn, answer: TurnAnswer, held_back_before: set[str]) -> None:
        assert not answer.is_repeat
        settled = [(s, self.model.holds(s.lease, s.move)) for s in turn.settlements]
        self.made.update(str(s.move) if is_applied else "stale" for s, is_applied in settled)
        cancelled = {
            s.lease.job_id
            for s, is_applied in settled
            if is_applied and self.model.settle(self.model.jobs[s.lease.job_id], s, self.now)
        }
        started = [(lease, self.model.holds(lease, Move.START)) for lease in turn.starts]
        for lease, is_applied in started:
            if is_applied:
                self.made[Move.START] += 1
                self.model.start(self.model.jobs[lease.job_id], self.now)
        stale = {s.lease.job_id for s, is_applied in settled if not is_applied}
        stale |= {lease.job_id for lease, is_applied in started if not is_applied}
        assert (answer.stale, answer.cancelled) == (frozenset(stale), frozenset(cancelled))
        self._check_claims(turn, answer, held_back_before)

    def _check_claims(self, turn: Turn, answer: TurnAnswer, held_back_before: set[str]) -> None:
        """
        Only what may be claimed was; what may be was, as far as there was room; best first within a queue.
        """
        lets = turn.lanes.lets if turn.lanes is not None else lambda _queue, _type: True
        may = {job.job.id: job for job in self.model.waiting(self.latest) if lets(job.job.queue, job.job.type_key)}
        for number, claimed in enumerate(answer.claimed):
            place = Place.PROCESSING if number < turn.want else Place.FETCHED
            assert PLACES[claimed.status] is place
            assert self.model.room(claimed.queue) != 0
            self.model.claim(may[claimed.lease.job_id], claimed.lease, place, self.now)
            assert claimed.attempt == may[claimed.lease.job_id].attempt
        types_held_back = self._types_held_back()
        self._check_probes(answer, held_back_before | types_held_back)
        left = [
            job
            for job in self.model.waiting(self.now)
            if job.job.type_key not in types_held_back and lets(job.job.queue, job.job.type_key)
        ]
        if len(answer.claimed) < turn.want + turn.prefetch:
            assert left == []
        for taken, passed_over in itertools.product((may[c.lease.job_id] for c in answer.claimed), left):
            if taken.job.queue == passed_over.job.queue and not may_be_probe(answer, taken):
                assert rank(taken) < rank(passed_over)

    def _check_probes(self, answer: TurnAnswer, held_back: set[str]) -> None:
        probes = Counter(job.type_key for job in answer.claimed if job.is_probe)
        self.made.update({str(Move.CLAIM): len(answer.claimed), "probe": len(probes)})
        assert all(count == 1 for count in probes.values())
        others = {job.type_key for job in answer.claimed if not job.is_probe}
        now_held_back = self._types_held_back()
        assert others & now_held_back == set()
        assert probes.keys() <= held_back

    def _beat(self, index: int) -> None:
        worker = self.workers[index]
        held = self.model.held_by(worker.id)
        answer = self.store.beat(Beat(worker.id)).held
        assert {i: (h.lease_number, h.is_running, h.is_cancel_requested) for i, h in answer.items()} == {
            i: (job.lease, job.place is Place.PROCESSING, job.is_marked) for i, job in held.items()
        }
        for job in held.values():
            if job.place is Place.PROCESSING:
                self.made[Move.BEAT] += 1
                job.at = self.now

    @rule(index=WORKERS)
    def crash(self, index: int) -> None:
        self.workers[index] = self._new_worker()

    # What time and scans do

    @rule(seconds=st.sampled_from([1, 1, 6, 31, 61, 91, 3600, -30, -3600]))
    def jump(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))
        self.latest = max(self.latest, self.now)

    def _recover(self, fetched_for: timedelta, limit: int) -> None:
        may = {job.job.id for job in self.model.in_place(Place.FETCHED) if job.at < self.now - fetched_for}
        moved = [job.job_id for job in self.store.recover(fetched_for, limit)]
        assert len(set(moved)) == len(moved) == min(limit, len(may))
        assert set(moved) <= may
        self.made[Move.RECOVER] += len(moved)
        for job_id in moved:
            self.model.put_back(self.model.jobs[job_id], self.model.jobs[job_id].due_at)

    def _look_for_suspects(self, timeout: timedelta) -> None:
        found = self.store.suspects(timeout, 100).jobs
        assert {suspect.job_id for suspect in found} == {
            job.job.id
            for job in self.model.in_place(Place.PROCESSING)
            if job.at < self.now - (self.model.queues[job.job.queue].zombie_timeout or timeout)
        }
        self.suspects = list(found)

    def _bury(self, *, is_rerun: bool, delay: timedelta) -> None:
        verdict = Verdict(Move.RETRY, delay) if is_rerun else Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
        applied = self.store.bury([Burial(suspect, verdict, BOOM) for suspect in self.suspects])
        assert list(applied) == [self._buried(suspect, verdict) for suspect in self.suspects]

    def _buried(self, suspect: Suspect, verdict: Verdict) -> bool:
        job = self.model.jobs.get(suspect.job_id)
        if job is None or job.place is not Place.PROCESSING:
            return False
        if (job.lease, job.at) != (suspect.lease_number, suspect.heartbeat_at):
            self.made["late burial"] += 1
            return False
        self.made[Move.BURY] += 1
        if verdict.move is Move.RETRY and not job.is_marked:
            self.model.counted[job.job.queue, "retried"] += 1
            self.model.put_back(job, self.now + (verdict.delay or timedelta(0)))
        else:
            self.model.end(job, Place.DLQ, self.now)
        return True

    @rule(
        older_than=st.sampled_from([timedelta(0), timedelta(hours=1)]),
        pillar=st.sampled_from([Place.ARCHIVE, Place.DLQ]),
    )
    def maintain(self, older_than: timedelta, pillar: Place) -> None:
        self.store.prune_lanes(older_than)
        self.store.fold_counters(100)
        old = {job.job.id for job in self.model.in_place(pillar) if job.at <= self.now - older_than}
        assert self.store.purge_expired(pillar, older_than, 100) == len(old)
        self.model.forget(old)
        self._prune_workers()

    def _prune_workers(self) -> None:
        self.store.prune_workers(ZOMBIE_TIMEOUT)
        known = {worker.worker_id for worker in self.store.workers()}
        assert {job.worker for job in self.model.in_place(*HELD)} <= known
        self.workers = [worker if worker.id in known else self._new_worker() for worker in self.workers]

    # What people do

    @rule(seed=SEEDS)
    def operate(self, seed: int) -> None:
        """
        One command on one job, whether it fits or not.
        """
        roll = random.Random(seed)  # noqa: S311 - one number of Hypothesis, spun out
        commands = {
            self._cancel: HELD | {Place.PENDING, Place.DLQ},
            self._resurrect: {Place.DLQ},
            self._edit: set(Place),
            self._purge: {Place.DLQ, Place.ARCHIVE, Place.PENDING},
        }
        command = roll.choice(list(commands))
        if jobs := self.model.in_place(*commands[command]):
            command(roll.choice(jobs))

    def _cancel(self, job: ModelJob) -> None:
        (outcome,) = self.store.cancel([job.job.id], "ann")
        if job.place is Place.PROCESSING:
            assert outcome is CancelOutcome.MARKED
            job.is_marked = True
        elif job.place in MOVES[Move.CANCEL].sources:
            self.made[Move.CANCEL] += 1
            assert outcome is CancelOutcome.DEAD_LETTERED
            self.model.end(job, Place.DLQ, self.now)
        else:
            assert outcome is CancelOutcome.STALE

    def _resurrect(self, job: ModelJob) -> None:
        (outcome,) = self.store.resurrect([job.job.id], "ann")
        if self.model.holder_of(job.job.idempotency_key) is not None:
            self.made["key held"] += 1
            assert outcome is ResurrectOutcome.KEY_HELD
        else:
            self.made[Move.RESURRECT] += 1
            assert outcome is ResurrectOutcome.RESURRECTED
            self.model.resurrect(job, self.now)

    def _edit(self, job: ModelJob) -> None:
        priority = 25 - job.priority
        is_editable = job.place in MOVES[Move.EDIT].sources
        assert list(self.store.edit([job.job.id], Edit(priority=priority), "ann")) == [is_editable]
        if is_editable:
            self.made[Move.EDIT] += 1
            job.priority = priority

    def _purge(self, job: ModelJob) -> None:
        is_ended = job.place in MOVES[Move.PURGE].sources
        assert list(self.store.purge([job.job.id])) == [is_ended]
        if is_ended:
            self.made[Move.PURGE] += 1
            self.model.forget([job.job.id])

    @precondition(lambda self: self.model.queues)
    @rule(
        number=st.integers(0, 1),
        is_paused=st.sampled_from([None, False, False, False, True]),
        is_active=st.sampled_from([None, True, True, True, True, False]),
        max_workers=st.sampled_from([None, 1, 3, 5]),
        zombie_timeout=st.sampled_from([None, None, timedelta(seconds=30)]),
    )
    def control(
        self,
        number: int,
        is_paused: bool | None,
        is_active: bool | None,
        max_workers: int | None,
        zombie_timeout: timedelta | None,
    ) -> None:
        name = sorted(self.model.queues)[number % len(self.model.queues)]
        queue = self.model.queues[name]
        queue.is_paused = queue.is_paused if is_paused is None else is_paused
        queue.is_active = queue.is_active if is_active is None else is_active
        queue.max_workers, queue.zombie_timeout = max_workers, zombie_timeout
        clear = {"max_workers": max_workers, "zombie_timeout": zombie_timeout}
        change = QueueChange(
            is_paused,
            is_active,
            max_workers,
            zombie_timeout,
            frozenset(n for n, value in clear.items() if value is None),
        )
        self.store.change_queue(name, change)
        if not self.model.is_open(name):
            self.model.close(name)

    # What holds after each step

    @invariant()
    def every_job_is_where_the_model_has_it(self) -> None:
        found = self.store.look_up(sorted(self.model.jobs))
        assert {job_id: _seen(job) for job_id, job in found.items()} == {
            job_id: _expected(job) for job_id, job in self.model.jobs.items()
        }

    @invariant()
    def no_job_is_in_two_pillars(self) -> None:
        pillars = Counter(_pillar(job.place) for job in self.model.jobs.values())
        assert self.store.counts() == PillarCounts(pillars[Pillar.HOT], pillars[Pillar.ARCHIVE], pillars[Pillar.DLQ])

    @invariant()
    def the_counters_add_up(self) -> None:
        counted = self.model.counted
        expected = {
            queue: Totals(counted[queue, "succeeded"], counted[queue, "failed"], counted[queue, "retried"])
            for queue, _ in counted
        }
        totals = {queue: totals for queue, totals in self.store.totals().items() if totals != Totals()}
        assert totals == expected
        ended: Counter[tuple[str, str]] = Counter()
        for bucket in self.store.buckets(LONG_AGO):
            ended[bucket.queue, "succeeded" if bucket.outcome == 0 else "failed"] += bucket.completed
        assert ended == Counter({entry: count for entry, count in counted.items() if entry[1] != "retried"})

    @invariant()
    def a_probe_is_a_job_that_is_held(self) -> None:
        for circuit in self.store.circuits():
            if circuit.state is CircuitState.HALF_OPEN:
                assert circuit.probe_job_id in self.model.held_by(circuit.probe_worker_id or "")

    # Inside

    @property
    def now(self) -> datetime:
        """
        The store's time.
        """
        return self.clock.now()

    def _new_worker(self) -> Worker:
        worker = Worker(f"worker-{next(self.numbers)}")
        self.store.register(WorkerFacts(worker.id, "host-1", capacity=4))
        return worker

    def _types_held_back(self) -> set[str]:
        return {circuit.type_key for circuit in self.store.circuits() if circuit.state is not CircuitState.CLOSED}


def rank(job: ModelJob) -> tuple[int, datetime, str]:
    """
    A job's place in its queue.
    """
    return -job.priority, job.due_at, job.job.id


def may_be_probe(answer: TurnAnswer, job: ModelJob) -> bool:
    """
    Whether the job was let through alone, while others of its type wait.
    """
    return any(claimed.is_probe and claimed.lease.job_id == job.job.id for claimed in answer.claimed)


def _report(job: ClaimedJob, move: Move) -> CircuitReport:
    match move:
        case Move.COMPLETE:
            signal = CircuitSignal.SUCCESS
        case Move.RETRY | Move.DEAD_LETTER:
            signal = CircuitSignal.FAILURE
        case _:
            signal = CircuitSignal.RELEASED
    return CircuitReport(job.type_key, job.lease.job_id, job.circuit_generation, signal)


def _pillar(place: Place) -> Pillar:
    return {Place.ARCHIVE: Pillar.ARCHIVE, Place.DLQ: Pillar.DLQ}.get(place, Pillar.HOT)


def _seen(job: JobSummary) -> tuple[object, ...]:
    place = PLACES.get(job.status) or Place(job.pillar)
    worker = job.worker_id if place in HELD else None
    return place, job.lease_number, job.attempt, job.interruptions, job.priority, worker


def _expected(job: ModelJob) -> tuple[object, ...]:
    worker = job.worker if job.place in HELD else None
    return job.place, job.lease, job.attempt, job.interruptions, job.priority, worker


@pytest.mark.case("C-001")
@pytest.mark.timeout(1800)
def test_a_store_does_what_the_model_does(kind: StoreKind, tmp_path: Path) -> None:
    assert set(ENDINGS) == SETTLING
    numbers = itertools.count()
    made: Counter[str] = Counter()

    def open_store(clock: SteppedClock) -> Store:
        folder = tmp_path / f"life-{next(numbers)}"
        folder.mkdir()
        return kind.create(folder).open(clock.now, CIRCUITS)

    class OwnLives(Lives):
        def __init__(self) -> None:
            super().__init__(open_store, made)

    profile = settings()
    run_state_machine_as_test(
        OwnLives,
        settings=settings(
            profile,
            max_examples=min(profile.max_examples, MOST_EXAMPLES) // SHARE[kind.name],
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
        ),
    )
    if SHARE[kind.name] == 1:
        assert {*Move, "stale", "repeated claim", "probe"} - made.keys() == set()
