"""
Celery on Redis without results, gossip, mingling and heartbeats; for tasks that do nothing the solo pool is fastest.
"""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from contextlib import suppress

from celery import Celery
from celery.platforms import SecurityWarning
from celery.worker import state
from redis import Redis

PREFETCH = 64
_numbers = itertools.count(1)


class CeleryContender:
    """
    An app whose worker runs in this process: tasks on the calling thread, or on `threads` of their own.
    """

    def __init__(self, address: str, *, threads: int = 0, work_seconds: float = 0.0) -> None:
        self._address = address
        self._app = Celery("bench", broker=address, set_as_current=False)
        self._app.conf.update(
            task_ignore_result=True,
            worker_prefetch_multiplier=PREFETCH,
            worker_hijack_root_logger=False,
            worker_redirect_stdouts=False,
            broker_connection_retry_on_startup=True,
        )
        self._threads = threads
        self._counting = threading.Lock()
        self._work_seconds = work_seconds
        self._enqueued = 0
        self._done = 0

        def run(n: int) -> None:
            """
            A function, because Celery would make a bound method one of the task.
            """
            self._run(n)

        # A name of its own, since Celery goes on with the task that had a name first, whatever the app.
        self._task = self._app.task(run, name=f"noop-{next(_numbers)}")

    def enqueue_each(self, count: int) -> None:
        """
        One call for each task.
        """
        for n in range(count):
            self._task.delay(n)
        self._enqueued += count

    def enqueue_bulk(self, _count: int, /) -> bool:
        """
        Celery has no call for many plain tasks.
        """
        return False

    def drain(self) -> None:
        """
        A worker that the last task asks to stop.
        """
        with warnings.catch_warnings(), suppress(SystemExit):
            warnings.simplefilter("ignore", SecurityWarning)  # a benchmark may run as root
            self._app.Worker(
                pool="threads" if self._threads else "solo",
                concurrency=self._threads or 1,
                loglevel="ERROR",
                quiet=True,
                without_gossip=True,
                without_mingle=True,
                without_heartbeat=True,
            ).start()
        state.should_stop = None

    def left(self) -> int:
        """
        Tasks that did not run.
        """
        return self._enqueued - self._done

    def close(self) -> None:
        """
        Empties Redis and closes the connections.
        """
        self._app.close()
        with Redis.from_url(self._address) as client:
            client.flushall()

    def _run(self, _n: int) -> None:
        if self._work_seconds:
            time.sleep(self._work_seconds)
        with self._counting:
            self._done += 1
            if self._done == self._enqueued:
                state.should_stop = 0
