"""
The simulation's model of one instance beside a real one: the same jobs, the same distance to the database.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.counting import CountingStore
from bench.figures import Figure, at_most
from bench.fleet import Deployment, Fleet
from bench.rig import Noop, build_engine, draining, waiting_profile
from bench.size import Size
from chokaq_core.policy.running import WorkerRules
from chokaq_core.stores.sqlite import SqliteStore

CAPACITY = 16
LATENCY_SECONDS = 0.003
JOB_SECONDS = (0.0, 0.02, 0.2)
MOST_APART = 1.25
"""How many times one may be of the other."""


class DistantStore(CountingStore):
    """
    A store as far away as a database in the same region.
    """

    def before(self) -> None:
        """
        The way there and back.
        """
        time.sleep(LATENCY_SECONDS)


def measure(size: Size) -> Iterator[Figure]:
    """
    The rate of one instance in the simulation and measured, for jobs of three lengths.
    """
    costs = _costs(size.of(6_000, 2_000))
    yield Figure("one turn, and each of its jobs, outside the handler", None, note=_costs_text(costs))
    for job_seconds in JOB_SECONDS:
        count = size.of(3_000, 800)
        measured, statements = _measured(job_seconds, count)
        simulated, modelled = _simulated(job_seconds, count, costs)
        what = f"jobs of {job_seconds * 1000:g} ms"
        note = f"{statements:.3f} statements a job, simulated {modelled:.3f}"
        yield Figure(f"{what}: measured", measured, "jobs/s", note=note)
        yield Figure(f"{what}: simulated", simulated, "jobs/s")
        apart = max(measured / simulated, simulated / measured)
        yield Figure(f"{what}: the greater of the two / the other", apart, "×", budget=at_most(MOST_APART))


def _costs(count: int) -> Deployment:
    """
    A deployment with the costs of this machine: what a turn costs, and what each of its jobs adds.

    Two measurements without distance, with small and with large turns, are enough to tell the two apart.
    """
    small, large = (_seconds_a_job(capacity, count) for capacity in (CAPACITY, 10 * CAPACITY))
    turn = max(0.0, (small - large) / (1 / CAPACITY - 1 / (10 * CAPACITY)))
    job = max(0.0, small - turn / CAPACITY)
    return Deployment(
        rate=0.0,
        is_random=False,
        turn_cpu_seconds=turn / 2,
        job_cpu_seconds=job / 2,
        request_seconds=turn / 2,
        row_seconds=job / 4,  # a row is counted when it is claimed and when it is settled
        latency_seconds=LATENCY_SECONDS,
        rules=WorkerRules(max_concurrency=CAPACITY),
    )


def _costs_text(costs: Deployment) -> str:
    turn, job = costs.turn_cpu_seconds * 2e6, costs.job_cpu_seconds * 2e6
    return f"{turn:.0f} µs and {job:.0f} µs; half of each is taken for the database's"


def _seconds_a_job(capacity: int, count: int) -> float:
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        store = SqliteStore(Path(folder) / "jobs.db")
        store.prepare()
        engine = build_engine(store, waiting_profile(0.0, is_async=True), draining(capacity))
        engine.producer.enqueue_many(Noop(n=n) for n in range(count))
        begun = time.perf_counter()
        engine.attend()
        seconds = time.perf_counter() - begun
        engine.stop()
        store.close()
    return seconds / count


def _measured(job_seconds: float, count: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        store = SqliteStore(Path(folder) / "jobs.db")
        store.prepare()
        distant = DistantStore(store)
        profile = waiting_profile(job_seconds, is_async=True)
        engine = build_engine(distant.as_store(), profile, draining(CAPACITY))
        engine.producer.enqueue_many(Noop(n=n) for n in range(count))
        before, begun = distant.calls["turn"], time.perf_counter()
        engine.attend()
        seconds = time.perf_counter() - begun
        statements = distant.calls["turn"] - before
        engine.stop()
        store.close()
    return count / seconds, statements / count


def _simulated(job_seconds: float, count: int, costs: Deployment) -> tuple[float, float]:
    fleet = Fleet(replace(costs, job_seconds=job_seconds))
    seconds = fleet.drain(count)
    return count / seconds, fleet.tally.statements / count
