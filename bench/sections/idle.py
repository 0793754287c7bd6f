"""
What an idle deployment asks of its database: the timers, whether there is work or not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from bench.counting import CountingStore
from bench.figures import Figure
from bench.rig import Silence, noop_profile
from bench.size import Size
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.engine.scans import Maintenance, Poll, Pulse, Rescue
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.policy.retention import RetentionRules
from chokaq_core.stores.sqlite import SqliteStore

SCANS_AN_HOUR = {"poll": 120, "heartbeat": 60, "rescue": 60, "maintenance": 4}
"""With the default schedules."""


def measure(_size: Size) -> Iterator[Figure]:
    """
    Statements of each timer's run on an empty store, and of an hour of all of them.
    """
    with (
        tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder,
        closing(SqliteStore(Path(folder) / "jobs.db")) as store,
    ):
        store.prepare()
        counting = CountingStore(store)
        statements = {name: _statements_of(counting, scan) for name, scan in _scans(counting).items()}
    for name, count in statements.items():
        yield Figure(f"a run of the {name} timer", count, "statements")
    hour = sum(count * SCANS_AN_HOUR[name] for name, count in statements.items())
    yield Figure("an idle minute with the default schedules", hour / 60, "statements", note="without gauges")


def _scans(counting: CountingStore) -> Mapping[str, Callable[[], object]]:
    store, silence = counting.as_store(), Silence()
    return {
        "poll": Poll(store, silence, 32, silence).scan,
        "heartbeat": Pulse(store).scan,
        "rescue": Rescue(counting.as_rescued(), Catalog([noop_profile()]), RescueRules(), RetryRules(), silence).scan,
        "maintenance": Maintenance(counting.as_maintained(), RetentionRules()).run,
    }


def _statements_of(counting: CountingStore, scan: Callable[[], object]) -> int:
    before = counting.total
    scan()
    return counting.total - before
