"""
Settings of how much one process takes on, and for how long.
"""

from __future__ import annotations

from typing import Any, cast
from unittest import mock

from chokaq_core.config import Settings
from chokaq_core.contracts import Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.engine.ledger import Ledger
from chokaq_core.engine.visits import Look, Visits
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.hosting import runtime
from chokaq_core.ports import Demand
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.clock import NOON
from tests.support.engine import RecordedEvents, RecordedWakes
from tests.support.settings_at_work.trial import ON_SQL_SERVER, Row, Trial, by, running, stage


def room(settings: Settings) -> tuple[int, int]:
    """
    Jobs that an empty process claims to run, and to keep at hand.
    """
    ledger = Ledger(settings.worker, settings.execution.default_timeout)
    ledger.arrive()
    work = ledger.next_work()
    assert work is not None
    return work.want, work.prefetch


def pause(settings: Settings, **found: bool) -> float | None:
    """
    Seconds until the next look after one that found nothing.
    """
    visits = Visits(settings.worker)
    visits.arrive(0.0)
    visits.look_begins(0.0)
    look = {"is_full": False, "claimed": 0, "seconds_to_due": None, "has_open_queue": True, **found}
    visits.looked(Look(**cast("Any", look)), 0.0, is_idle=True)
    return visits.seconds_to_look(0.0)


def is_over_a_second_after_work(settings: Settings) -> bool:
    visits = Visits(settings.worker)
    visit = visits.arrive(0.0)
    for claimed in (1, 0):
        visits.look_begins(0.0)
        visits.looked(Look(is_full=False, claimed=claimed, seconds_to_due=None, has_open_queue=True), 0.0, is_idle=True)
    return visits.is_over(visit, 1.0)


def has_budget_after_three_minutes(settings: Settings) -> bool:
    visits = Visits(settings.worker)
    return visits.has_budget(visits.arrive(0.0), 180.0)


def waits_of_a_stop(settings: Settings) -> tuple[float, float]:
    """
    Seconds that a stop waits for fetched jobs to be given back, and for running ones to end.
    """
    with stage() as on:
        engine = Engine(
            on.store, Catalog([]), RecordedWakes(), RecordedEvents(), rules=EngineRules(worker=settings.worker)
        )
        engine.attend()
        released = mock.patch.object(Ledger, "wait_until_released", return_value=True)
        settled = mock.patch.object(Ledger, "wait_until_settled", return_value=True)
        with released as for_fetched, settled as for_running:
            engine.stop()
    return for_fetched.call_args.args[0], for_running.call_args.args[0]


def wakes_for_a_flood(trial: Trial) -> int:
    wakes = RecordedWakes()
    sender = mock.patch.object(runtime, "wake_sender", return_value=wakes)
    flood = mock.patch.object(SqliteStore, "demand", return_value=Demand(NOON, 100_000, 0))
    with sender, flood, running(trial, Profile("none")) as core:
        core.runtime().poll.scan()
    return len(wakes.delays)


PROCESS = (
    Row("Worker.MaxConcurrency", "64", by(room), (16, 0), (64, 0)),
    Row("Worker.Prefetch", "32", by(room), (16, 0), (16, 32)),
    Row("Worker.PausedQueuePollingDelay", "00:00:04", by(lambda s: pause(s, has_lost_fetched=True)), 1.0, 4.0),
    Row("SqlServer.PollingInterval", "00:00:00.25", by(pause), 1.0, 0.25),
    Row("SqlServer.NoQueuesSleepInterval", "00:00:09", by(lambda s: pause(s, has_open_queue=False)), 5.0, 9.0),
    Row("Functions.IdleLinger", "00:00:00", by(is_over_a_second_after_work), False, True),
    Row("Functions.DrainBudget", "00:02:00", by(has_budget_after_three_minutes), True, False),
    Row("Functions.MaxWakesPerPoll", "8", wakes_for_a_flood, 32, 8),
    Row("Worker.ShutdownGracePeriod", "00:00:10", by(waits_of_a_stop), (5.0, 30.0), (5.0, 10.0)),
    Row("SqlServer.PrefetchedJobReleaseTimeout", "00:00:08", by(waits_of_a_stop), (5.0, 30.0), (8.0, 30.0)),
    Row(
        "SqlServer.WorkerShutdownGracePeriod",
        "00:00:10",
        by(waits_of_a_stop),
        (5.0, 30.0),
        (5.0, 10.0),
        {**ON_SQL_SERVER, "Worker.ShutdownGracePeriod": "00:00:01"},
    ),
)
