"""
How things stand: the schema, what health depends on, how many jobs there are.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from chokaq_core.ports.scans import TimerRow
    from chokaq_core.ports.workers import WorkerFacts


class SchemaState(Value):
    """
    Whether the database is ready, and if not, what is missing.
    """

    version: int
    expected_version: int
    missing_tables: tuple[str, ...] = field(default=())

    @property
    def is_ready(self) -> bool:
        """
        Whether the code can work with this schema.

        A newer one will do: scripts add and never take away, so that a release can be rolled back and two releases can
        run side by side during an update.
        """
        return not self.missing_tables and self.version >= self.expected_version


class Vitals(Value):
    """
    How things stand, for health checks. With a schema that is not ready only `schema` is filled.

    Attributes:
        looking_workers: workers that have room and have promised to look again.
        lags: by open queue, how long its longest waiting due job has waited; types held back by circuits left out.
        oldest_heartbeat_age: of the running jobs; zero when nothing runs.
    """

    now: datetime
    schema: SchemaState
    workers: tuple[WorkerFacts, ...] = ()
    looking_workers: int = 0
    lags: Mapping[str, timedelta] = field(default_factory=dict)
    timers: Mapping[str, TimerRow] = field(default_factory=dict)
    oldest_heartbeat_age: timedelta = timedelta(0)


class Census(Value):
    """
    Jobs that wait and jobs that are dead, by queue.
    """

    waiting: Mapping[str, int]
    dead: Mapping[str, int]
