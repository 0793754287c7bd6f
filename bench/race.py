"""
Contenders side by side, each several times, in turns.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.contenders import Contender, Entrant
from bench.figures import Figure, spread


@dataclass(slots=True)
class Rates:
    """
    Jobs a second of one entrant, and the processor time of a drained job, a value for each repetition.
    """

    each: list[float] = field(default_factory=list)
    bulk: list[float] = field(default_factory=list)
    drain: list[float] = field(default_factory=list)
    drain_cpu: list[float] = field(default_factory=list)


def race(entrants: Sequence[Entrant], repetitions: int) -> Mapping[str, Rates]:
    """
    In turns, so that a machine that grows busy slows all of them; every repetition begins with an empty database.

    Raises:
        AssertionError: a contender left jobs undone.
    """
    rates = {entrant.name: Rates() for entrant in entrants}
    for _ in range(repetitions):
        for entrant in entrants:
            with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
                _run(entrant, Path(folder), rates[entrant.name])
    return rates


def medians(rates: Mapping[str, Rates], values: Callable[[Rates], Sequence[float]]) -> Mapping[str, float]:
    """
    The median of one figure by entrant; entrants without that figure are left out.
    """
    return {name: statistics.median(found) for name, own in rates.items() if (found := values(own))}


def lines(rates: Mapping[str, Rates]) -> Iterator[Figure]:
    """
    All figures of all entrants, with least and greatest.
    """
    for name, own in rates.items():
        yield spread(f"drain: {name}", own.drain, "jobs/s")
    for name, own in rates.items():
        yield spread(f"processor time of a drained job: {name}", own.drain_cpu, "µs")
    for name, own in rates.items():
        yield spread(f"enqueue one by one: {name}", own.each, "jobs/s")
    for name, own in rates.items():
        if own.bulk:
            yield spread(f"enqueue in bulk: {name}", own.bulk, "jobs/s")


def _run(entrant: Entrant, folder: Path, rates: Rates) -> None:
    contender = entrant.enter(folder)
    try:
        _measure(contender, entrant, rates)
    finally:
        contender.close()


def _measure(contender: Contender, entrant: Entrant, rates: Rates) -> None:
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


def _rate(count: int, action: Callable[[], object]) -> float:
    gc.collect()
    begun = time.perf_counter()
    action()
    return count / (time.perf_counter() - begun)
