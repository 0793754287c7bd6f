"""
Procrastinate on PostgreSQL: one worker with many concurrent jobs, everything on one event loop.
"""

from __future__ import annotations

import asyncio

import procrastinate

CONCURRENCY = 80


class ProcrastinateContender:
    """
    An app, its connector and its worker, on a loop that lives as long as the contender.
    """

    def __init__(self, address: str, *, work_seconds: float = 0.0) -> None:
        self._runner = asyncio.Runner()
        self._app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=address))
        self._work_seconds = work_seconds
        self._enqueued = 0
        self._done = 0
        self._task = self._app.task(name="noop", queue="bench")(self._run)
        self._runner.run(self._open())

    def enqueue_each(self, count: int) -> None:
        """
        One call and one commit for each job.
        """
        self._runner.run(self._defer_each(count))
        self._enqueued += count

    def enqueue_bulk(self, count: int) -> bool:
        """
        One statement for all.
        """
        self._runner.run(self._task.batch_defer_async(*({"n": n} for n in range(count))))
        self._enqueued += count
        return True

    def drain(self) -> None:
        """
        A worker that ends when nothing is due.
        """
        self._runner.run(self._app.run_worker_async(wait=False, concurrency=CONCURRENCY, install_signal_handlers=False))

    def left(self) -> int:
        """
        Jobs that did not run.
        """
        return self._enqueued - self._done

    def close(self) -> None:
        """
        Removes its tables, closes its connections, and ends the loop.
        """
        self._runner.run(self._close())
        self._runner.close()

    async def _open(self) -> None:
        await self._app.open_async()
        await self._app.schema_manager.apply_schema_async()

    async def _close(self) -> None:
        await self._app.connector.execute_query_async("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        await self._app.close_async()

    async def _defer_each(self, count: int) -> None:
        for n in range(count):
            await self._task.defer_async(n=n)

    async def _run(self, n: int) -> None:  # noqa: ARG002 - what the payload holds
        if self._work_seconds:
            await asyncio.sleep(self._work_seconds)
        self._done += 1
