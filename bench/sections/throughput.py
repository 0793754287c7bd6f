"""
How many jobs a second: this runner beside a peer and beside the bare database, in one run and in turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from bench.contenders import Entrant
from bench.contenders.bare_loop import BareLoop
from bench.contenders.chokaq import ChokaQContender
from bench.contenders.huey_sqlite import HueyContender
from bench.figures import Figure, at_least
from bench.race import Rates, lines, medians, race
from bench.size import Size

PLAIN = "ChokaQ 200+64"
MIDDLE = "ChokaQ 80+64"
NARROW = "ChokaQ 16"
FULL = "ChokaQ 200+64, telemetry"
SYNCED = "ChokaQ 200+64, telemetry, synced"
HUEY = "Huey"
HUEY_SYNCED = "Huey, synced"
FLOOR = "bare loop"


def measure(size: Size) -> Iterator[Figure]:
    """
    Every entrant once in each repetition, each time on a new file; then the ratios of their medians.
    """
    entrants = _entrants(size.of(12_000, 3_000), size.of(3_000, 600))
    for entrant in entrants:
        yield Figure(entrant.name, None, note=f"{entrant.settings}; {entrant.jobs:,} jobs")
    rates = race(entrants, repetitions=size.of(5, 3))
    yield from lines(rates)
    yield from _drain_ratios(rates)
    yield from _enqueue_ratios(rates)


def _entrants(jobs: int, synced_jobs: int) -> Sequence[Entrant]:
    """
    All in WAL mode with 64 MiB of cache: synchronous is NORMAL, or FULL where it says synced.
    """
    wide = partial(ChokaQContender, capacity=200, prefetch=64)
    middle = partial(ChokaQContender, capacity=80, prefetch=64)
    synced = "every commit waits for the disk"
    return (
        Entrant(FLOOR, "one thread, batches of 100, no runner", BareLoop, jobs),
        Entrant(HUEY, "one worker thread, no results", HueyContender, jobs),
        Entrant(PLAIN, "200 slots, 64 prefetched, telemetry off", wide, jobs),
        Entrant(FULL, "the same, log lines and metrics on", partial(wide, has_telemetry=True), jobs),
        Entrant(MIDDLE, "80 slots, 64 prefetched, telemetry off", middle, jobs),
        Entrant(NARROW, "16 slots, none prefetched, telemetry off", partial(ChokaQContender, capacity=16), jobs),
        Entrant(HUEY_SYNCED, synced, partial(HueyContender, is_synced=True), synced_jobs),
        Entrant(SYNCED, synced, partial(wide, has_telemetry=True, is_synced=True), synced_jobs),
    )


def _drain_ratios(rates: Mapping[str, Rates]) -> Iterator[Figure]:
    median = medians(rates, lambda own: own.drain)
    for ours, theirs, limit in (
        (FULL, HUEY, 1.0),
        (FULL, FLOOR, 0.25),
        (SYNCED, HUEY_SYNCED, 4.0),
        (PLAIN, HUEY, 2.0),
        (PLAIN, FLOOR, 0.5),
    ):
        yield Figure(f"drain: {ours} / {theirs}", median[ours] / median[theirs], "×", budget=at_least(limit))


def _enqueue_ratios(rates: Mapping[str, Rates]) -> Iterator[Figure]:
    each = medians(rates, lambda own: own.each)
    bulk = medians(rates, lambda own: own.bulk)
    yield Figure(f"enqueue one by one: {PLAIN} / {HUEY}", each[PLAIN] / each[HUEY], "×", budget=at_least(1.0))
    yield Figure(f"enqueue in bulk: {PLAIN} / {FLOOR}", bulk[PLAIN] / bulk[FLOOR], "×", budget=at_least(0.25))
