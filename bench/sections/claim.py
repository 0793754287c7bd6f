"""
What a claim costs when the backlog is deep: little more than when it is shallow.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count
from pathlib import Path

from bench.backlog import MIXES, Mix, Shape, open_backlog
from bench.figures import Figure, promised
from bench.size import Size
from chokaq_core.domain import moves
from chokaq_core.ports import Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore

WANT = 50
RATIO = 1.5
SHALLOW = Shape(1_000)
LANES = (Shape(40_000, 4, 2), Shape(40_000, 20, 10), Shape(40_000, 100, 10))


class Claimer:
    """
    A worker that claims and gives everything back, which is not timed.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._worker = "bench"
        self._seqs = count(1)
        self._after_queue = ""
        store.register(WorkerFacts(self._worker, "bench", WANT))

    def sample(self) -> float:
        """
        Milliseconds of one claim.

        What was claimed goes back behind the other rows of its priority, so that the next claim takes fresh rows.
        """
        turn = Turn(self._worker, next(self._seqs), want=WANT, after_queue=self._after_queue)
        begun = time.perf_counter()
        answer = self._store.turn(turn)
        seconds = time.perf_counter() - begun
        if len(answer.claimed) != WANT:
            raise AssertionError(f"claimed {len(answer.claimed)} of {WANT}")
        self._after_queue = answer.last_queue
        back = tuple(moves.postpone(job.lease, timedelta(0)) for job in answer.claimed)
        self._store.turn(Turn(self._worker, next(self._seqs), back))
        return seconds * 1000


def measure(size: Size) -> Iterator[Figure]:
    """
    Three mixes of priorities, shallow beside deep; then more and more lanes.
    """
    deep = Shape(size.of(2_000_000, 200_000))
    samples = size.of(400, 100)
    for mix in MIXES:
        with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
            yield from _mix(Path(folder), mix, deep, samples)
    for shape in LANES:
        with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
            (times,) = _times(Path(folder), MIXES[0], [shape], size.of(100, 30))
        yield Figure(f"{shape.lanes:,} lanes", statistics.median(times), "ms")


def _mix(folder: Path, mix: Mix, deep: Shape, samples: int) -> Iterator[Figure]:
    shallow_times, deep_times = _times(folder, mix, [SHALLOW, deep], samples)
    shallow_p50, deep_p50 = statistics.median(shallow_times), statistics.median(deep_times)
    yield Figure(f"{mix.name}: {SHALLOW.rows:,} rows", shallow_p50, "ms")
    yield Figure(f"{mix.name}: {deep.rows:,} rows", deep_p50, "ms")
    yield Figure(f"{mix.name}: deep / shallow", deep_p50 / shallow_p50, "×", budget=promised(RATIO))


def _times(folder: Path, mix: Mix, shapes: Sequence[Shape], samples: int) -> list[list[float]]:
    """
    Milliseconds of the claims on each backlog, taken in turns so that a busy machine slows all of them.
    """
    stores = [open_backlog(folder / f"{number}.db", mix, shape) for number, shape in enumerate(shapes)]
    claimers = [Claimer(store) for store in stores]
    times: list[list[float]] = [[] for _ in stores]
    gc.collect()
    for _ in range(samples):
        for claimer, own in zip(claimers, times, strict=True):
            own.append(claimer.sample())
    for store in stores:
        store.close()
    return times
