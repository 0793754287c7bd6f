"""
A deployment in simulated time: producers, a database with so many cores, instances that take turns, a scaler.

Wakes are decided by the engine's own `Waker` and poll rule. The rest is a model: a turn is one request, which costs the
database a fixed time and a time for each row; jobs wait for as long as they are told; an instance has one core. The
benchmark checks the model of one instance against a measured run.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from bench.rig import Silence
from bench.wake_queue import WakeQueue
from chokaq_core.engine.ledger import GATHER_SECONDS
from chokaq_core.engine.scans import JOBS_FOR_ONE_WORKER, wakes_wanted
from chokaq_core.engine.waker import Waker
from chokaq_core.policy.running import WorkerRules


@dataclass(frozen=True, slots=True)
class Deployment:
    """
    What a simulation is about. Times in seconds.

    Attributes:
        rate: jobs that arrive in a second, at random moments.
        batch: jobs in one call of a producer.
        job_seconds: how long a job waits for others, on average; `is_random` spreads it exponentially.
        job_cpu_seconds: the instance's core for one job, the runner's share and the handler's.
        turn_cpu_seconds: the instance's core for one turn.
        request_seconds: the database's core for one request, and `row_seconds` for each job in it.
        latency_seconds: from an instance to the database and back.
        cores: of the database.
    """

    rate: float = 100.0
    batch: int = 1
    job_seconds: float = 0.2
    is_random: bool = True
    job_cpu_seconds: float = 0.0005
    turn_cpu_seconds: float = 0.0005
    request_seconds: float = 0.001
    row_seconds: float = 0.000_15
    latency_seconds: float = 0.003
    cores: int = 2
    most_instances: int = 40
    gigabytes: float = 2.0
    most_wakes: int = 32
    message_seconds: float = 0.2
    cold_start_seconds: float = 5.0
    scaler_seconds: float = 10.0
    poll_seconds: float = 30.0
    rules: WorkerRules = field(default_factory=WorkerRules)


@dataclass(slots=True)
class Tally:
    """
    What happened, from the end of the warm-up on.

    Attributes:
        lags: seconds from the call of `enqueue` to the start, for each job.
        instance_seconds: of instances that were there, at work or not.
    """

    lags: list[float] = field(default_factory=list)
    ended: int = 0
    statements: int = 0
    database_seconds: float = 0.0
    core_seconds: float = 0.0
    instance_seconds: float = 0.0


class Fleet:
    """
    Everything there is, and its time.

    Attributes:
        backlog: when each stored job that has not started was asked for.
        waiting: jobs that have not started, those on their way to the database included.
    """

    def __init__(self, deployment: Deployment, *, seed: int = 1) -> None:
        self.deployment = deployment
        self.now = 0.0
        self.tally = Tally()
        self.backlog: deque[float] = deque()
        self.waiting = 0
        self.most_instances = 0
        self.random = random.Random(seed)
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._instances: list[Instance] = []
        self._coming = 0
        self._counted_at = 0.0
        self.queue = WakeQueue(self)
        self.database = Database(self)
        self._producer = Waker(self.queue, Silence(), monotonic=lambda: self.now)

    def run(self, seconds: float, *, warm_up: float = 0.0) -> Tally:
        """
        Lets time pass, and answers what happened after the warm-up.
        """
        if self.deployment.rate > 0:
            self._plan_arrival()
        self.after(self.deployment.scaler_seconds, self._scale)
        self.after(self.deployment.poll_seconds, self._poll)
        self._run_until(warm_up)
        self._count_instances()
        self.tally = Tally()
        self._run_until(warm_up + seconds)
        self._count_instances()
        return self.tally

    def drain(self, count: int) -> float:
        """
        Seconds that one instance, which is there, needs for so many jobs that wait.
        """
        self.waiting += count
        self.backlog.extend([0.0] * count)
        instance = Instance(self)
        self._instances.append(instance)
        self.queue.in_hand += 1
        instance.attend()
        while self.tally.ended < count:
            self.now, _, act = heapq.heappop(self._events)
            act()
        return self.now

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """
        Plans something for so many seconds from now.
        """
        heapq.heappush(self._events, (self.now + seconds, next(self._order), act))

    def enqueue(self, count: int) -> None:
        """
        One call of a producer; the jobs are there, and the wake is decided, when it is answered.
        """
        self.waiting += count
        self.database.ask(count, partial(self._enqueued, [self.now] * count))

    def hand_out(self) -> None:
        """
        Gives visible wakes to idle instances.
        """
        for instance in self._instances:
            if instance.is_idle and self.queue.take():
                self.after(self.deployment.message_seconds, instance.attend)
                instance.is_idle = False

    def _run_until(self, moment: float) -> None:
        while self._events and self._events[0][0] <= moment:
            self.now, _, act = heapq.heappop(self._events)
            act()
        self.now = moment

    def _plan_arrival(self) -> None:
        calls = self.deployment.rate / self.deployment.batch
        self.after(self.random.expovariate(calls), self._next_arrival)

    def _next_arrival(self) -> None:
        self.enqueue(self.deployment.batch)
        self._plan_arrival()

    def _enqueued(self, asked_at: Sequence[float]) -> None:
        self.backlog.extend(asked_at)
        is_looking = any(instance.is_looking for instance in self._instances)
        self._producer.enqueued(is_due=True, is_worker_looking=is_looking, wake_in=None)

    def _scale(self) -> None:
        """
        The platform's decision: as many instances as messages, hidden ones included; none when none is visible.
        """
        wanted = min(self.deployment.most_instances, self.queue.count())
        present = len(self._instances) + self._coming
        for _ in range(wanted - present):
            self._coming += 1
            self.after(self.deployment.cold_start_seconds, self._arrive)
        self._count_instances()
        for instance in [i for i in self._instances if i.is_idle][: max(0, present - wanted)]:
            self._instances.remove(instance)
        self.after(self.deployment.scaler_seconds, self._scale)

    def _arrive(self) -> None:
        self._count_instances()
        self._coming -= 1
        self._instances.append(Instance(self))
        self.most_instances = max(self.most_instances, len(self._instances))
        self.hand_out()

    def _count_instances(self) -> None:
        self.tally.instance_seconds += len(self._instances) * (self.now - self._counted_at)
        self._counted_at = self.now

    def _poll(self) -> None:
        most = self.deployment.most_wakes
        claimable = min(len(self.backlog), JOBS_FOR_ONE_WORKER * most)
        looking = sum(instance.is_looking for instance in self._instances)
        wanted = wakes_wanted(claimable, looking, most)
        for _ in range(max(0, wanted - self.queue.waiting())):
            self.queue.send()
        self.tally.statements += 3
        self.after(self.deployment.poll_seconds, self._poll)


class Database:
    """
    So many cores, and one queue before them.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._waiting: deque[tuple[int, Callable[[], object]]] = deque()
        self._at_work = 0

    def ask(self, rows: int, then: Callable[[], object]) -> None:
        """
        One round trip; `then` is called when its answer is there.
        """
        self._fleet.tally.statements += 1
        self._waiting.append((rows, then))
        self._work()

    def _work(self) -> None:
        deployment = self._fleet.deployment
        while self._waiting and self._at_work < deployment.cores:
            rows, then = self._waiting.popleft()
            seconds = deployment.request_seconds + rows * deployment.row_seconds
            self._at_work += 1
            self._fleet.tally.database_seconds += seconds
            self._fleet.after(seconds, partial(self._done, then))

    def _done(self, then: Callable[[], object]) -> None:
        self._at_work -= 1
        self._fleet.after(self._fleet.deployment.latency_seconds, then)
        self._work()


class Instance:
    """
    One instance of the worker function: one visit at a time, one turn at a time, one core.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._rules = fleet.deployment.rules
        self._waker = Waker(fleet.queue, Silence(), monotonic=lambda: fleet.now)
        self.is_idle = True
        self._running = 0
        self._ended = 0
        self._is_turning = False
        self._has_worked = False
        self._was_full = False
        self._budget_ends_at = 0.0
        self._next_look_at = 0.0
        self._dry_since: float | None = None
        self._core_free_at = 0.0

    @property
    def is_looking(self) -> bool:
        """
        Whether it promises to look for work again soon.
        """
        return self._has_worked and not self._was_full and not self.is_idle and self._fleet.now < self._budget_ends_at

    def attend(self) -> None:
        """
        Begins a visit.
        """
        now = self._fleet.now
        self.is_idle, self._has_worked, self._dry_since = False, False, None
        self._budget_ends_at = now + self._rules.drain_budget.total_seconds()
        self._next_look_at = now
        self._step()

    def _step(self) -> None:
        if self._is_turning or self.is_idle:
            return
        now = self._fleet.now
        room = self._rules.max_concurrency - self._running
        wants = room if now < self._budget_ends_at and now >= self._next_look_at else 0
        if self._ended or wants:
            self._turn(wants)
        elif self._is_over():
            self._leave()

    def _turn(self, wants: int) -> None:
        """
        One request: settles what ended, claims for what is free.
        """
        self._is_turning = True
        ended, self._ended = self._ended, 0
        deployment = self._fleet.deployment
        cpu = deployment.turn_cpu_seconds + ended * deployment.job_cpu_seconds
        self._core_free_at = max(self._fleet.now, self._core_free_at) + cpu
        self._fleet.tally.core_seconds += cpu
        claims = min(wants, len(self._fleet.backlog))
        asked_at = [self._fleet.backlog.popleft() for _ in range(claims)]
        ask = partial(self._fleet.database.ask, ended + claims, partial(self._turned, wants, asked_at, ended))
        self._fleet.after(self._core_free_at - self._fleet.now, ask)

    def _turned(self, wants: int, asked_at: Sequence[float], ended: int) -> None:
        now = self._fleet.now
        self._is_turning = False
        self._fleet.tally.ended += ended
        is_full = 0 < wants == len(asked_at)
        if wants:
            self._was_full = is_full
            self._waker.looked(is_full=is_full)
            self._next_look_at = now if is_full else now + self._rules.polling_interval.total_seconds()
            self._fleet.after(self._next_look_at - now, self._step)
        for moment in asked_at:
            self._start(moment)
        if self._running or is_full:
            self._dry_since = None
        elif self._dry_since is None:
            self._dry_since = now
            self._fleet.after(self._rules.idle_linger.total_seconds(), self._step)
        self._step()

    def _start(self, asked_at: float) -> None:
        self._has_worked = True
        self._running += 1
        self._fleet.waiting -= 1
        self._fleet.tally.lags.append(self._fleet.now - asked_at)
        mean = self._fleet.deployment.job_seconds
        is_random = self._fleet.deployment.is_random and mean > 0
        self._fleet.after(self._fleet.random.expovariate(1 / mean) if is_random else mean, self._end)

    def _end(self) -> None:
        self._running -= 1
        self._ended += 1
        # The engine waits a moment for other jobs that are about to end, and settles them together.
        self._fleet.after(GATHER_SECONDS if self._running else 0.0, self._step)

    def _is_over(self) -> bool:
        if self._running or self._ended:
            return False
        now = self._fleet.now
        if now >= self._budget_ends_at:
            return True
        if self._dry_since is None:
            return False
        return not self._has_worked or now - self._dry_since >= self._rules.idle_linger.total_seconds()

    def _leave(self) -> None:
        self.is_idle = True
        self._fleet.queue.in_hand -= 1
        self._waker.hand_over(None)
        self._fleet.after(0.0, self._fleet.hand_out)
