"""
The settings that bound a running worker: how long a handler may run, how many run at once, how long to wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.lanes import LaneFilter
from chokaq_core.domain.value import Value, field

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExecutionRules(Value):
    """
    How long a handler may run: the registration's timeout, else its queue's, else the default.
    """

    default_timeout: timedelta = timedelta(minutes=15)
    queue_timeouts: Mapping[str, timedelta] = field(default_factory=dict)
    pending_cancellation_retention: timedelta = timedelta(seconds=30)

    def timeout_for(self, queue: str, own: timedelta | None) -> timedelta:
        """
        The wall-clock limit for a job of this queue whose registration asks for `own`.
        """
        return own if own is not None else self.queue_timeouts.get(queue, self.default_timeout)

    def shortest(self, own: Iterable[timedelta]) -> timedelta:
        """
        The shortest limit that any job may have, where registrations ask for `own`.
        """
        return min((*own, *self.queue_timeouts.values(), self.default_timeout))

    def lanes_within(self, most: timedelta, own: Mapping[str, timedelta]) -> LaneFilter:
        """
        The lanes whose jobs have a limit of at most `most`, where registrations of types ask for `own`.
        """
        return LaneFilter(
            types={type_key: timeout <= most for type_key, timeout in own.items()},
            queues={queue: timeout <= most for queue, timeout in self.queue_timeouts.items()},
            others=self.default_timeout <= most,
        )


class WorkerRules(Value):
    """
    How a worker takes work and leaves it.

    Attributes:
        max_concurrency: jobs that run at once in one process.
        prefetch: jobs that may wait, fetched, behind the running ones.
        polling_interval: pause between claims of a lingering worker that found nothing.
        idle_linger: how long a worker that has worked goes on looking after it ran dry.
        drain_budget: how long one invocation claims.
        shutdown_grace_period: how long running handlers may go on after a stop was asked for.
        release_timeout: bound on giving fetched rows back.
        retry_base_delay: first pause after a failed call to the store; doubles up to 60 s.
    """

    max_concurrency: int = 16
    prefetch: int = 0
    polling_interval: timedelta = timedelta(seconds=1)
    no_queues_sleep_interval: timedelta = timedelta(seconds=5)
    paused_queue_polling_delay: timedelta = timedelta(seconds=1)
    idle_linger: timedelta = timedelta(seconds=2)
    drain_budget: timedelta = timedelta(minutes=4)
    shutdown_grace_period: timedelta = timedelta(seconds=30)
    release_timeout: timedelta = timedelta(seconds=5)
    retry_base_delay: timedelta = timedelta(milliseconds=200)
