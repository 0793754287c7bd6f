"""
Settings of the heartbeat, and of what is done when it is missed.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from unittest import mock

from chokaq_core.config import Settings
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.engine import worker
from chokaq_core.engine.ledger import Ledger
from chokaq_core.engine.run import Run
from chokaq_core.engine.scans import Rescue
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.policy.heartbeat import next_interval, verdict_on_failures
from tests.support.engine import RecordedEvents, RecordedWakes
from tests.support.settings_at_work.trial import MINUTE, SECOND, Row, by, stage


def shortest_wait(settings: Settings) -> timedelta:
    return next_interval(settings.heartbeat, 0.0)


def longest_wait(settings: Settings) -> timedelta:
    return next_interval(settings.heartbeat, 1.0)


def verdict(settings: Settings, failures: int) -> str:
    return verdict_on_failures(settings.heartbeat, failures).value


def is_an_early_cancel_kept_for_a_minute(settings: Settings) -> bool:
    """
    Whether a cancel that the heartbeat met before its job was started here stops that job a minute later.
    """
    seconds = iter([0.0, 60.0, 60.0])
    ledger = Ledger(settings.worker, MINUTE, monotonic=lambda: next(seconds))
    rules = EngineRules(execution=settings.execution)
    with stage() as on, mock.patch.object(worker, "Heartbeat") as heartbeat:
        lease = (job := on.running()).lease
        Engine(on.store, Catalog([]), RecordedWakes(), RecordedEvents(), rules=rules)
    ledger.keep_cancel((lease.job_id, lease.number), "ann", heartbeat.call_args.kwargs["cancel_retention"])
    ledger.hold([run := Run(job, None, MINUTE, mock.Mock(), attempt=1)], [])
    return run.stop_order is not None


def rescued(settings: Settings) -> tuple[int, int]:
    """
    Jobs that a rescue recovers and buries whose worker fell silent six minutes ago.
    """
    with stage() as on:
        on.fetched()
        on.running()
        rescue = Rescue(on.store, Catalog([]), settings.rescue, settings.retry, RecordedEvents())
        on.clock.advance(6 * MINUTE)
        rescue.scan()
        report = rescue.scan()
    return report.recovered, report.buried


HEARTBEATS = (
    Row("Execution.HeartbeatIntervalMin", "00:00:02", by(shortest_wait), 8 * SECOND, 2 * SECOND),
    Row("Execution.HeartbeatIntervalMax", "00:00:20", by(longest_wait), 12 * SECOND, 20 * SECOND),
    Row("Execution.HeartbeatFailureThreshold", "4", by(partial(verdict, failures=4)), "go_on", "degraded"),
    Row("Execution.CancelOnHeartbeatFailure", "true", by(partial(verdict, failures=10)), "degraded", "cancel"),
    Row("Execution.PendingCancellationRetention", "00:01:30", by(is_an_early_cancel_kept_for_a_minute), False, True),
    Row("Recovery.FetchedJobTimeout", "00:05:00", by(rescued), (0, 0), (1, 0)),
    Row("Recovery.ProcessingZombieTimeout", "00:05:00", by(rescued), (0, 0), (0, 1)),
)
