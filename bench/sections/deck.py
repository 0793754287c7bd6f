"""
What the Deck's answers cost on full tables: little more than on nearly empty ones.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from http import HTTPStatus
from pathlib import Path

from bench.deck_calls import Ask, Door, asks
from bench.deck_files import Amount, write_file
from bench.figures import Figure, promised
from bench.size import Size
from chokaq_core.stores.sqlite import SqliteStore

RATIO = 5.0
SAMPLES = 11
_SECONDS_OF_TWO_DAYS = 172_800
_QUEUES = 4

SMALL = Amount(archived=1_000, dead=1_000, hot=1_000, logged=1_000, buckets=300 * _QUEUES)
FULL = Amount(archived=1_000_000, dead=100_000, hot=300_000, logged=100_000, buckets=_SECONDS_OF_TWO_DAYS * _QUEUES)
QUICK = Amount(archived=100_000, dead=20_000, hot=30_000, logged=10_000, buckets=3_600 * _QUEUES)
EXPECTED = frozenset({HTTPStatus.OK, HTTPStatus.NOT_FOUND})


def measure(size: Size) -> Iterator[Figure]:
    """
    Each request on both files, in turns.
    """
    large = QUICK if size.is_quick else FULL
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as name:
        begun = time.perf_counter()
        sides = [_open(Path(name) / side, amount) for side, amount in (("small", SMALL), ("large", large))]
        yield Figure("seconds to fill both files", time.perf_counter() - begun, "s", note=f"{large.jobs:,} jobs")
        yield from _figures(sides)
        for door, _ in sides:
            door.close()


def _open(folder: Path, amount: Amount) -> tuple[Door, list[Ask]]:
    folder.mkdir()
    database = folder / "jobs.db"
    write_file(database, amount)
    with closing(SqliteStore(database)) as store:
        made = asks(store, min(amount.archived, amount.dead, amount.hot))
    return Door(folder, database), made


def _figures(sides: Sequence[tuple[Door, list[Ask]]]) -> Iterator[Figure]:
    (small, small_asks), (large, large_asks) = sides
    gc.collect()
    for small_ask, large_ask in zip(small_asks, large_asks, strict=True):
        for door, ask in ((small, small_ask), (large, large_ask)):
            _timed(door, ask)
        times = [(_timed(small, small_ask), _timed(large, large_ask)) for _ in range(SAMPLES)]
        few, many = (statistics.median(column) for column in zip(*times, strict=True))
        yield Figure(small_ask.title, many / few, "×", budget=promised(RATIO), note=f"{few:.1f} → {many:.1f} ms")


def _timed(door: Door, ask: Ask) -> float:
    """
    Milliseconds of processor time that the answer takes: all of it is this process's, since the file is in memory.

    On a busy machine a long answer is interrupted more often than a short one, which clocks on the wall would count.
    """
    begun = time.process_time()
    answer = door.call(ask)
    milliseconds = (time.process_time() - begun) * 1_000
    if answer.status_code not in EXPECTED and ask.route != "health":
        raise AssertionError(f"{ask.title}: {answer.status_code} {answer.text[:300]}")
    return milliseconds
