"""
How many jobs a second: this runner beside a peer and beside the bare database, in one run and in turns.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.contenders import Entrant
from bench.contenders.bare_loop import BareLoop
from bench.contenders.chokaq import ChokaQContender
from bench.contenders.huey_sqlite import HueyContender
from bench.figures import Figure, at_least, spread
from bench.size import Size

PLAIN = "ChokaQ 80+64"
NARROW = "ChokaQ 16"
FULL = "ChokaQ 80+64, telemetry"
SYNCED = "ChokaQ 80+64, telemetry, synced"
HUEY = "Huey"
HUEY_SYNCED = "Huey, synced"
FLOOR = "bare loop"


@dataclass(slots=True)
class Rates:
    """
    Jobs a second of one entrant, and the processor time of a drained job, a value for each repetition.
    """

    each: list[float] = field(default_factory=list)
    bulk: list[float] = field(default_factory=list)
    drain: list[float] = field(default_factory=list)
    drain_cpu: list[float] = field(default_factory=list)


def measure(size: Size) -> Iterator[Figure]:
    """
    Every entrant once in each repetition, each time on a new file; then the ratios of their medians.
    """
    entrants = _entrants(size.of(12_000, 3_000), size.of(1_000, 300))
    for entrant in entrants:
        yield Figure(entrant.name, None, note=f"{entrant.settings}; {entrant.jobs:,} jobs")
    rates = _race(entrants, repetitions=size.of(5, 3))
    for name, own in rates.items():
        yield spread(f"drain: {name}", own.drain, "jobs/s")
    yield from _drain_ratios(rates)
    for name, own in rates.items():
        yield spread(f"processor time of a drained job: {name}", own.drain_cpu, "µs")
    for name, own in rates.items():
        yield spread(f"enqueue one by one: {name}", own.each, "jobs/s")
    for name, own in rates.items():
        if own.bulk:
            yield spread(f"enqueue in bulk: {name}", own.bulk, "jobs/s")
    yield from _enqueue_ratios(rates)


def _entrants(jobs: int, synced_jobs: int) -> Sequence[Entrant]:
    """
    All in WAL mode with 64 MiB of cache: synchronous is NORMAL, or FULL where it says synced.
    """
    wide = partial(ChokaQContender, capacity=80, prefetch=64)
    synced = "every commit waits for the disk"
    return (
        Entrant(FLOOR, "one thread, batches of 100, no runner", BareLoop, jobs),
        Entrant(HUEY, "one worker thread, no results", HueyContender, jobs),
        Entrant(PLAIN, "80 slots, 64 prefetched, telemetry off", wide, jobs),
        Entrant(FULL, "the same, log lines and metrics on", partial(wide, has_telemetry=True), jobs),
        Entrant(NARROW, "16 slots, none prefetched, telemetry off", partial(ChokaQContender, capacity=16), jobs),
        Entrant(HUEY_SYNCED, synced, partial(HueyContender, is_synced=True), synced_jobs),
        Entrant(SYNCED, synced, partial(wide, has_telemetry=True, is_synced=True), synced_jobs),
    )


def _race(entrants: Sequence[Entrant], repetitions: int) -> Mapping[str, Rates]:
    """
    In turns, so that a machine that grows busy slows all of them.
    """
    rates = {entrant.name: Rates() for entrant in entrants}
    for _ in range(repetitions):
        for entrant in entrants:
            with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
                _run(entrant, Path(folder), rates[entrant.name])
    return rates


def _run(entrant: Entrant, folder: Path, rates: Rates) -> None:
    contender = entrant.enter(folder)
    singles = entrant.jobs // 4
    many = entrant.jobs - singles
    rates.each.append(_rate(singles, lambda: contender.enqueue_each(singles)))
    begun = time.perf_counter()
    if contender.enqueue_bulk(many):
        rates.bulk.append(many / (time.perf_counter() - begun))
    else:
        contender.enqueue_each(many)
    cpu = time.process_time()
    rates.drain.append(_rate(entrant.jobs, contender.drain))
    rates.drain_cpu.append((time.process_time() - cpu) / entrant.jobs * 1e6)
    if contender.left():
        raise AssertionError(f"{entrant.name}: {contender.left()} of {entrant.jobs} jobs are not done")
    contender.close()


def _rate(count: int, action: Callable[[], object]) -> float:
    gc.collect()
    begun = time.perf_counter()
    action()
    return count / (time.perf_counter() - begun)


def _drain_ratios(rates: Mapping[str, Rates]) -> Iterator[Figure]:
    median = {name: statistics.median(own.drain) for name, own in rates.items()}
    for ours, theirs, limit in (
        (FULL, HUEY, 1.0),
        (FULL, FLOOR, 0.25),
        (SYNCED, HUEY_SYNCED, 4.0),
        (PLAIN, HUEY, 2.0),
        (PLAIN, FLOOR, 0.5),
    ):
        yield Figure(f"drain: {ours} / {theirs}", median[ours] / median[theirs], "×", budget=at_least(limit))


def _enqueue_ratios(rates: Mapping[str, Rates]) -> Iterator[Figure]:
    each = {name: statistics.median(own.each) for name, own in rates.items()}
    bulk = {name: statistics.median(own.bulk) for name, own in rates.items() if own.bulk}
    yield Figure(f"enqueue one by one: {PLAIN} / {HUEY}", each[PLAIN] / each[HUEY], "×", budget=at_least(1.0))
    yield Figure(f"enqueue in bulk: {PLAIN} / {FLOOR}", bulk[PLAIN] / bulk[FLOOR], "×", budget=at_least(0.25))
