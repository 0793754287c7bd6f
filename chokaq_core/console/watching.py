"""
`circuits list`, `workers list` and `timers list`: what holds jobs back, and whether anybody is there to run them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.console.exits import Exit
from chokaq_core.console.opening import opened
from chokaq_core.console.printing import write_json, write_table
from chokaq_core.hosting.deck_views import circuit_view, timer_view, worker_view
from chokaq_core.policy.health import HealthRules

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pydantic import BaseModel

_CIRCUITS = ("type", "state", "failures", "opened_at", "reset_at", "probe_job_id")
_WORKERS = ("worker_id", "state", "capacity", "active", "abandoned", "started_at", "heartbeat_age_seconds")
_TIMERS = ("name", "last_started_at", "last_succeeded_at", "last_outcome")


def run_circuits(given: argparse.Namespace) -> int:
    """
    Prints the circuits of all types that have failed lately.
    """
    with opened(given.app) as runtime:
        views = [circuit_view(circuit) for circuit in runtime.store.circuits()]
    return _show(_CIRCUITS, views, is_json=given.json)


def run_workers(given: argparse.Namespace) -> int:
    """
    Prints the workers, those that are gone included until they are forgotten.
    """
    with opened(given.app) as runtime:
        vitals = runtime.store.vitals()
    views = [worker_view(worker, vitals.now, HealthRules()) for worker in vitals.workers]
    return _show(_WORKERS, views, is_json=given.json)


def run_timers(given: argparse.Namespace) -> int:
    """
    Prints when each timer ran last, and with what outcome.
    """
    with opened(given.app) as runtime:
        timers = runtime.store.vitals().timers
    return _show(_TIMERS, [timer_view(name, row) for name, row in sorted(timers.items())], is_json=given.json)


def _show(columns: Sequence[str], views: Sequence[BaseModel], *, is_json: bool) -> int:
    # Whether a worker counts as alive is a setting's to say, and health's; here stands how long it has been silent.
    rows = [view.model_dump(mode="json", exclude={"is_alive"}) for view in views]
    if is_json:
        write_json(rows)
    else:
        write_table(columns, rows)
    return Exit.DONE
