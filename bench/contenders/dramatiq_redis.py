"""
Dramatiq on Redis: one worker with eight threads, its default, or more where tasks wait.
"""

from __future__ import annotations

import threading
import time

import dramatiq
from dramatiq.brokers.redis import RedisBroker

DEFAULT_THREADS = 8


class DramatiqContender:
    """
    A broker and a worker in this process.
    """

    def __init__(self, address: str, *, threads: int = DEFAULT_THREADS, work_seconds: float = 0.0) -> None:
        self._broker = RedisBroker(url=address)
        self._threads = threads
        self._work_seconds = work_seconds
        self._enqueued = 0
        self._done = 0
        self._lock = threading.Lock()
        self._actor = dramatiq.actor(self._run, actor_name="noop", queue_name="bench", broker=self._broker)

    def enqueue_each(self, count: int) -> None:
        """
        One call for each message.
        """
        for n in range(count):
            self._actor.send(n)
        self._enqueued += count

    def enqueue_bulk(self, _count: int, /) -> bool:
        """
        Dramatiq has no call for many.
        """
        return False

    def drain(self) -> None:
        """
        A worker that is stopped when the queue is empty and its threads are done.
        """
        worker = dramatiq.Worker(self._broker, worker_threads=self._threads, worker_timeout=100)
        worker.start()
        self._broker.join("bench")
        worker.join()
        worker.stop()

    def left(self) -> int:
        """
        Messages that were not worked on.
        """
        return self._enqueued - self._done

    def close(self) -> None:
        """
        Empties Redis and closes the connections.
        """
        self._broker.client.flushall()
        self._broker.close()

    def _run(self, _n: int) -> None:
        if self._work_seconds:
            time.sleep(self._work_seconds)
        with self._lock:
            self._done += 1
