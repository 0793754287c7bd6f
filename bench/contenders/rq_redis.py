"""
RQ on Redis with its simple worker, which does not start a process for each job: its fastest.
"""

from __future__ import annotations

import logging
import time

from redis import Redis
from rq import Queue, SimpleWorker

_done = 0
"""RQ finds a task by its name in a module, so the count cannot live in the contender."""


def noop(_n: int, work_seconds: float) -> None:
    """
    The task.
    """
    global _done  # noqa: PLW0603 - see its comment
    if work_seconds:
        time.sleep(work_seconds)
    _done += 1


class RqContender:
    """
    A queue and a worker in this process; results are not kept.
    """

    def __init__(self, address: str, *, work_seconds: float = 0.0) -> None:
        logging.getLogger("rq").setLevel(logging.ERROR)
        self._connection = Redis.from_url(address)
        self._queue = Queue("bench", connection=self._connection)
        self._work_seconds = work_seconds
        self._expected = _done

    def enqueue_each(self, count: int) -> None:
        """
        One call for each job.
        """
        for n in range(count):
            self._queue.enqueue(noop, n, self._work_seconds, result_ttl=0)
        self._expected += count

    def enqueue_bulk(self, count: int) -> bool:
        """
        One pipeline for all.
        """
        jobs = [Queue.prepare_data(noop, (n, self._work_seconds), result_ttl=0) for n in range(count)]
        self._queue.enqueue_many(jobs)
        self._expected += count
        return True

    def drain(self) -> None:
        """
        A worker that ends when the queue is empty.
        """
        SimpleWorker([self._queue], connection=self._connection).work(burst=True, logging_level="ERROR")

    def left(self) -> int:
        """
        Jobs that did not run.
        """
        return self._expected - _done

    def close(self) -> None:
        """
        Empties Redis and closes the connection.
        """
        self._connection.flushall()
        self._connection.close()
