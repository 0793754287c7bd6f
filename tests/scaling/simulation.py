"""
A fleet in simulated time: the engine's own ledger, store thread and waker on a real store, and a platform that scales.

Nothing waits: events happen in the order of their times. What is simulated is the clock, the handlers (a job takes as
long as the scenario says), the wake queue, and the platform's scaler, which starts and stops instances by the number of
messages.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from bench.rig import Silence
from bench.wake_queue import WakeQueue
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.failures import Outcome, Succeeded
from chokaq_core.domain.job import NewJob
from chokaq_core.engine.book import Work
from chokaq_core.engine.ledger import GATHER_SECONDS, Ledger
from chokaq_core.engine.reach import Reach
from chokaq_core.engine.scans import Poll
from chokaq_core.engine.turns import RunRules, StoreThread
from chokaq_core.engine.visits import Visit
from chokaq_core.engine.waker import Waker, is_work_left
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.running import ExecutionRules, WorkerRules
from chokaq_core.ports import QueueChange, Store, WorkerFacts
from tests.support.clock import NOON, SteppedClock

if TYPE_CHECKING:
    from chokaq_core.engine.run import Run

RULES = WorkerRules()
TURN_SECONDS = 0.005
MESSAGE_SECONDS = 0.2
"""From a message to the invocation that it starts on an instance that is there."""
COLD_START_SECONDS = 5.0
"""Until a new instance takes its first message."""
SCALER_SECONDS = 10.0
"""Between two decisions of the platform's scaler."""
POLL_SECONDS = 30.0


class SteppedLedger(Ledger):
    """
    The ledger without its waiting.
    """

    def take(self) -> Work | None:
        """
        What there is to do now.
        """
        with self._lock:
            now, has_ended = self._monotonic(), self._book.ended or self._book.settlements
            has_work = has_ended or self._room.has_startable(now) or self._room.seconds_to_look(now) == 0
            return self._take_work(now) if has_work else None

    def is_over(self, visit: Visit) -> bool:
        """
        Whether a visit may end now.
        """
        with self._lock:
            return self._is_done(visit)

    def seconds_to_change(self, visit: Visit) -> float | None:
        """
        How long until time alone gives something to do.
        """
        with self._lock:
            now = self._monotonic()
            waits = (self._room.seconds_to_look(now), self._visits.patience(visit, now))
            return min((wait for wait in waits if wait is not None), default=None)


class SteppedStoreThread(StoreThread):
    """
    The store thread without its loop.
    """

    def step(self, work: Work) -> int:
        """
        Takes one turn; answers how many jobs it claimed.
        """
        pending = self._turn_for(work)
        answer = self._try(pending)
        assert answer is not None
        self._apply(pending, answer)
        self._ledger.turn_over()
        return len(answer.claimed)


class Instance:
    """
    One instance of the worker function, which handles one wake at a time.
    """

    def __init__(self, world: World, number: int) -> None:
        self._world = world
        self._id = f"worker-{number}"
        self._ledger = SteppedLedger(world.rules, ExecutionRules().default_timeout, monotonic=lambda: world.now)
        work_left = partial(is_work_left, world.store)
        self._waker = Waker(world.queue, Silence(), is_work_left=work_left, monotonic=lambda: world.now)
        self._store_thread = SteppedStoreThread(
            worker_id=self._id,
            store=world.store,
            ledger=self._ledger,
            executor=self,  # type: ignore[arg-type] # simulates only what the store thread asks of it
            watch=self,  # type: ignore[arg-type] # the same
            catalog=world.catalog,
            rules=RunRules(RetryRules(), ExecutionRules(), RULES.retry_base_delay),
            waker=self._waker,
            events=Silence(),
            reach=Reach(self._id, Silence()),
            enqueue=world.refuse,
        )
        self._visit: Visit | None = None
        self._claimed = 0
        self._woken_at = 0.0
        self._next_step_at = float("inf")

    @property
    def is_idle(self) -> bool:
        """
        Whether it could take a message.
        """
        return self._visit is None

    def attend(self) -> None:
        """
        Begins a visit.
        """
        self._world.store.register(WorkerFacts(self._id, "host", self._ledger.capacity))
        self._visit, self._claimed, self._woken_at = self._ledger.arrive(), 0, self._world.now
        self.step()

    def step(self) -> None:
        """
        Goes on with the visit until it waits for something.
        """
        self._next_step_at = float("inf")
        if self._visit is None:
            return
        work = self._ledger.take()
        if work is not None:
            self._claimed += self._store_thread.step(work)
            self._step_after(TURN_SECONDS)
        elif self._ledger.is_over(self._visit):
            self._leave(self._visit)
        elif (seconds := self._ledger.seconds_to_change(self._visit)) is not None:
            self._step_after(max(seconds, TURN_SECONDS))

    def start(self, runs: Iterable[Run]) -> None:
        """
        Runs jobs, each for as long as the scenario says.
        """
        for run in runs:
            run.deadline = self._world.now + run.timeout.total_seconds()
            self._world.runs[run.lease.job_id] += 1
            self._world.started.append((self._world.now, run.job.due_at.timestamp() - NOON.timestamp()))
            self._world.after(self._world.job_seconds, partial(self._end, run))

    def look_again(self) -> None:
        """
        Handlers here end by themselves.
        """

    def _end(self, run: Run) -> None:
        self._ledger.run_ended(run, self._world.outcome)
        # The engine waits a moment for other jobs that are about to end, and settles them together.
        self._step_after(GATHER_SECONDS)

    def _step_after(self, seconds: float) -> None:
        """
        Plans the next step; a later one that was planned before is dropped.
        """
        moment = self._world.now + seconds
        if moment < self._next_step_at:
            self._next_step_at = moment
            self._world.at(moment, partial(self._step_if_due, moment))

    def _step_if_due(self, moment: float) -> None:
        if moment == self._next_step_at:
            self.step()

    def _leave(self, visit: Visit) -> None:
        self._ledger.leave(visit)
        self._visit = None
        self._world.queue.in_hand -= 1
        if self._claimed == 0:
            self._world.vain_wakes.append(self._woken_at)
        self._waker.hand_over(self._world.store.retire(self._id))
        self._world.after(0.0, self._world.hand_out)


@dataclass
class World:
    """
    Everything there is, and its time.

    Attributes:
        cap: the most instances that the platform may run.
        job_seconds: how long a job takes.
        outcome: what it comes to.
        most_instances: the most that there were at once.
        runs: how often each job was started.
        started: for each start its time and its job's due time, in seconds.
        vain_wakes: when wakes came that found nothing to do.
    """

    store: Store
    clock: SteppedClock
    catalog: Catalog
    cap: int = 40
    job_seconds: float = 0.1
    outcome: Outcome = field(default_factory=Succeeded)
    rules: WorkerRules = RULES
    has_poll: bool = True
    now: float = 0.0
    most_instances: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    started: list[tuple[float, float]] = field(default_factory=list)
    vain_wakes: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._instances: list[Instance] = []
        self._coming = 0
        self._numbers = itertools.count(1)
        self.queue = WakeQueue(self)
        self._producer = Waker(self.queue, Silence(), monotonic=lambda: self.now)
        self._poll = Poll(self.store, self.queue, 32, Silence())
        self.after(SCALER_SECONDS, self._scale)
        if self.has_poll:
            self.after(POLL_SECONDS, self._poll_once)

    def at(self, moment: float, act: Callable[[], object]) -> None:
        """
        Plans something for a moment.
        """
        heapq.heappush(self._events, (max(moment, self.now), next(self._order), act))

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """
        Plans something for so many seconds from now.
        """
        self.at(self.now + seconds, act)

    def run_until(self, moment: float) -> None:
        """
        Lets time pass.
        """
        while self._events and self._events[0][0] <= moment:
            at, _, act = heapq.heappop(self._events)
            self._advance(at)
            act()
        self._advance(moment)

    def enqueue(self, count: int, *, queue: str = "default", delays: Sequence[timedelta | None] = (None,)) -> None:
        """
        Enqueues jobs in batches of up to 1000, as the producer does; delays are given in turn.
        """
        jobs = [
            NewJob(f"job-{next(self._numbers):06}", "bench.noop.v1", "{}", queue=queue, delay=delays[n % len(delays)])
            for n in range(count)
        ]
        for start in range(0, count, 1000):
            batch = jobs[start : start + 1000]
            answer = self.store.enqueue(batch)
            self._producer.enqueued(
                is_due=answer.is_claimable,
                is_worker_looking=answer.is_worker_looking,
                wake_in=answer.wake_in,
            )

    def change_queue(self, name: str, change: QueueChange) -> None:
        """
        Changes a queue's controls as an operator does, who wakes somebody for what may have come free.
        """
        self.store.change_queue(name, change)
        self._producer.brought_back()

    def hand_out(self) -> None:
        """
        Gives visible wakes to idle instances.
        """
        for instance in self._instances:
            if instance.is_idle and self.queue.take():
                instance.attend()

    def refuse(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - stands for the producer of handlers
        """
        No job here enqueues others.
        """
        raise NotImplementedError

    def _advance(self, moment: float) -> None:
        self.clock.advance(timedelta(seconds=moment - self.now))
        self.now = moment

    def _scale(self) -> None:
        """
        The platform's decision: as many instances as messages, hidden ones included; none when none is visible.
        """
        wanted = min(self.cap, self.queue.count())
        present = len(self._instances) + self._coming
        for _ in range(wanted - present):
            self._coming += 1
            self.after(COLD_START_SECONDS, self._arrive)
        for instance in [i for i in self._instances if i.is_idle][: max(0, present - wanted)]:
            self._instances.remove(instance)
        self.after(SCALER_SECONDS, self._scale)

    def _arrive(self) -> None:
        self._coming -= 1
        self._instances.append(Instance(self, next(self._numbers)))
        self.most_instances = max(self.most_instances, len(self._instances))
        self.hand_out()

    def _poll_once(self) -> None:
        self._poll.scan()
        self.after(POLL_SECONDS, self._poll_once)


def settled(world: World) -> bool:
    """
    Whether every job has run once and is archived.
    """
    counts = world.store.counts()
    return (counts.hot, counts.dlq) == (0, 0) and set(world.runs.values()) <= {1}
