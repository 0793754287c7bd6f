"""
What the timers do: rescue what lost its worker, wake workers for what waits, keep the app's own pulse.
"""

from __future__ import annotations

from chokaq_core.engine.scans.maintenance import MAINTENANCE_TIMER, MaintainedStore, Maintenance, MaintenanceReport
from chokaq_core.engine.scans.poll import JOBS_FOR_ONE_WORKER, POLL_TIMER, Poll, wakes_wanted
from chokaq_core.engine.scans.pulse import HEARTBEAT_TIMER, Pulse
from chokaq_core.engine.scans.rescue import RESCUE_TIMER, Rescue, RescuedStore, RescueReport

__all__ = [
    "HEARTBEAT_TIMER",
    "JOBS_FOR_ONE_WORKER",
    "MAINTENANCE_TIMER",
    "POLL_TIMER",
    "RESCUE_TIMER",
    "MaintainedStore",
    "Maintenance",
    "MaintenanceReport",
    "Poll",
    "Pulse",
    "Rescue",
    "RescueReport",
    "RescuedStore",
    "wakes_wanted",
]
