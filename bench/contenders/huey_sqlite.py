"""
Huey on its SQLite storage, one worker thread, which is its fastest setting on a file.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from huey import SqliteHuey
from huey.consumer import Worker


class HueyContender:
    """
    Huey's own worker loop on the calling thread, with nothing beside it: no scheduler, no results, no other thread.

    With more `workers` than one the loop runs on as many threads, which helps where tasks wait.
    """

    def __init__(self, folder: Path, *, is_synced: bool = False, workers: int = 1, work_seconds: float = 0.0) -> None:
        # Huey knows FULL and OFF only; the durability of WAL with NORMAL is set on its one connection.
        self._huey = SqliteHuey(filename=str(folder / "huey.db"), results=False, fsync=is_synced, cache_mb=64)
        if not is_synced:
            self._huey.storage.conn.execute("PRAGMA synchronous = NORMAL")
        self._workers = workers
        self._work_seconds = work_seconds
        self._enqueued = 0
        self._done = 0
        self._counting = threading.Lock()
        self._task = self._huey.task(name="noop")(self._run)

    def enqueue_each(self, count: int) -> None:
        """
        One call and one commit for each task.
        """
        for n in range(count):
            self._task(n)
        self._enqueued += count

    def enqueue_bulk(self, _count: int, /) -> bool:
        """
        Huey has no call for many.
        """
        return False

    def drain(self) -> None:
        """
        As many rounds of the worker's loop as there are tasks.
        """
        share, rest = divmod(self._enqueued - self._done, self._workers)
        others = [threading.Thread(target=self._work, args=(share,)) for _ in range(self._workers - 1)]
        for other in others:
            other.start()
        self._work(share + rest)
        for other in others:
            other.join()

    def left(self) -> int:
        """
        Tasks that did not run.
        """
        return self._enqueued - self._done

    def close(self) -> None:
        """
        Closes the connection.
        """
        self._huey.storage.close()

    def _work(self, tasks: int) -> None:
        worker = Worker(self._huey, threading.Event(), default_delay=0.1, max_delay=10.0, backoff=1.15)
        for _ in range(tasks):
            worker.loop()

    def _run(self, _n: int) -> None:
        if self._work_seconds:
            time.sleep(self._work_seconds)
        with self._counting:
            self._done += 1
