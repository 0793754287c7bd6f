"""
What the maintenance timer does: deletes what is old, and folds counters.
"""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Protocol

from chokaq_core.domain.job import Place
from chokaq_core.domain.value import Value
from chokaq_core.ports import ClaimStore, JobStore, MaintenanceStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chokaq_core.policy.retention import RetentionRules

MAINTENANCE_TIMER = "maintenance"
FORGET_LANES_AFTER = timedelta(days=1)
MAINTENANCE_BUDGET = timedelta(minutes=2)
"""How long one run of the maintenance goes on at most, well within the limit of a function."""


class MaintenanceReport(Value):
    """
    Rows that a maintenance run removed, by what they were; not complete when its time was over before the work.
    """

    removed: Mapping[str, int]
    is_complete: bool

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.removed.items() if count) or "nothing"
        return f"{counts} removed" if self.is_complete else f"{counts} removed, more next time"


class MaintainedStore(JobStore, ClaimStore, MaintenanceStore, Protocol):
    """
    What maintenance needs of a store.
    """


class Maintenance:
    """
    Deletes what is old and folds counters, batch by batch, until nothing is left or its time is over.

    Args:
        budget: no batch begins later; what is left is the next run's.
    """

    def __init__(
        self,
        store: MaintainedStore,
        rules: RetentionRules,
        *,
        budget: timedelta = MAINTENANCE_BUDGET,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._rules = rules
        self._budget = budget
        self._monotonic = monotonic

    def run(self) -> MaintenanceReport:
        """
        One run. Safe to run twice at once, and repeatable at any point: what a batch did is done.

        Raises:
            StoreError: the database is away; the next run goes on.
        """
        self._store.timer_started(MAINTENANCE_TIMER)
        ends_at = self._monotonic() + self._budget.total_seconds()
        removed: dict[str, int] = {}
        is_complete = True
        for name, step in self._steps():
            removed[name], is_over = self._repeat(step, ends_at)
            is_complete = is_complete and is_over
        report = MaintenanceReport(removed, is_complete)
        self._store.timer_finished(MAINTENANCE_TIMER, str(report), has_succeeded=True)
        return report

    def _repeat(self, step: Callable[[], int], ends_at: float) -> tuple[int, bool]:
        """
        Takes batches until one was not full; answers the rows, and whether nothing is left.
        """
        total = 0
        while self._monotonic() < ends_at:
            count = step()
            total += count
            if count < self._rules.batch_size:
                return total, True
        return total, False

    def _steps(self) -> Iterator[tuple[str, Callable[[], int]]]:
        """
        What there is to do, the short work first, so that a long one holds up nothing else.
        """
        store, rules, most = self._store, self._rules, self._rules.batch_size
        yield "lanes", partial(store.prune_lanes, FORGET_LANES_AFTER)
        yield "counters", partial(store.fold_counters, most)
        yield "claims", partial(store.prune_keys, most)
        if rules.operator_log is not None:
            yield "log entries", partial(store.prune_operator_log, rules.operator_log, most)
        if rules.metric_buckets is not None:
            yield "metric buckets", partial(store.prune_buckets, rules.metric_buckets, most)
        if rules.dlq is not None:
            yield "dead jobs", partial(store.purge_expired, Place.DLQ, rules.dlq, most)
        if rules.archive is not None:
            yield "archived jobs", partial(store.purge_expired, Place.ARCHIVE, rules.archive, most)
