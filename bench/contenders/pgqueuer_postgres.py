"""
PgQueuer on PostgreSQL through asyncpg: batches of 200, beyond which it gains nothing more.
"""

from __future__ import annotations

import asyncio

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

BATCH = 200


class PgQueuerContender:
    """
    One connection, and a queue manager on a loop that lives as long as the contender.
    """

    def __init__(self, address: str, *, work_seconds: float = 0.0) -> None:
        self._runner = asyncio.Runner()
        self._connection = self._runner.run(asyncpg.connect(address))
        driver = AsyncpgDriver(self._connection)
        self._queries = Queries(driver)
        self._runner.run(self._queries.install())
        self._queue = PgQueuer(driver)
        self._work_seconds = work_seconds
        self._enqueued = 0
        self._done = 0
        self._queue.entrypoint("noop")(self._run)

    def enqueue_each(self, count: int) -> None:
        """
        One call and one commit for each job.
        """
        self._runner.run(self._enqueue_each(count))
        self._enqueued += count

    def enqueue_bulk(self, count: int) -> bool:
        """
        One statement for all.
        """
        payloads: list[bytes | None] = [_payload(n) for n in range(count)]
        self._runner.run(self._queries.enqueue(["noop"] * count, payloads, [0] * count))
        self._enqueued += count
        return True

    def drain(self) -> None:
        """
        A run that ends when the queue is empty.
        """
        self._runner.run(self._queue.run(mode=QueueExecutionMode.drain, batch_size=BATCH))

    def left(self) -> int:
        """
        Jobs that did not run.
        """
        return self._enqueued - self._done

    def close(self) -> None:
        """
        Removes its tables, closes the connection, and ends the loop.
        """
        self._runner.run(self._connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
        self._runner.run(self._connection.close())
        self._runner.close()

    async def _enqueue_each(self, count: int) -> None:
        for n in range(count):
            await self._queries.enqueue("noop", _payload(n))

    async def _run(self, _job: Job) -> None:
        if self._work_seconds:
            await asyncio.sleep(self._work_seconds)
        self._done += 1


def _payload(n: int) -> bytes:
    return b'{"n":%d}' % n
