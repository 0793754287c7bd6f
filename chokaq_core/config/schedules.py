"""
The schedule of each timer, from the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.config.periods import schedule_of
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from chokaq_core.config.settings import Settings


class Schedules(Value):
    """
    The literal schedule of each timer.

    The defaults follow from the settings' own and serve when the configuration is invalid: a function without a valid
    schedule would not even be found by its host.
    """

    poll: str = "*/30 * * * * *"
    heartbeat: str = "0 */1 * * * *"
    rescue: str = "0 */1 * * * *"
    maintenance: str = "0 */15 * * * *"


def schedules_of(settings: Settings | None) -> Schedules:
    """
    The schedules that the settings ask for; None stands for invalid settings and gets the defaults.
    """
    if settings is None:
        return Schedules()
    return Schedules(
        poll=schedule_of(settings.functions.poll_interval),
        heartbeat=schedule_of(settings.functions.heartbeat_interval),
        rescue=schedule_of(settings.rescue.scan_interval),
        maintenance=schedule_of(settings.functions.maintenance_interval),
    )
