"""
The jobs of a life that is cut short, and the book in which their handlers note each run.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from chokaq_core.contracts import IdempotentJob, Job, JobContext, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.errors import FatalJobError, JobPostponedError

PLAIN, HOLD, AGAIN, ONCE, ONCE_ASYNC = "plain.v1", "hold.v1", "again.v1", "once.v1", "once-async.v1"


class Task(Job):
    """
    What its handler does: `ok`, `fail` once, end by a `fatal` error, or put it off until `later` once.
    """

    does: str = "ok"


class Hold(Job):
    """
    Runs until it is told to stop, in the round that it was made for; in any other it ends at once.
    """

    round: int


class Again(Job):
    """
    May run again after a loss.
    """


class Once(IdempotentJob):
    """
    Its work is done once for each order.
    """

    order: str
    does: str = "ok"

    @property
    def idempotency_key(self) -> str:
        return self.order


class OnceAsync(Once):
    """
    The same for an `async def` handler.
    """


class RunBook:
    """
    Lines in a file, each written at once, so that what happened before a kill can be read after it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, *words: object) -> None:
        """
        Adds a line.
        """
        line = " ".join(str(word) for word in words) + "\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, line.encode())
        os.close(handle)

    def counts(self, kind: str) -> Counter[str]:
        """
        How often each job has a line of a kind.
        """
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        lines = [line.split() for line in text.splitlines()]
        return Counter(words[1] for words in lines if words[0] == kind)


Passed = Callable[[str], object]
"""Told `begin`, `inside` and `end` of every handler that does its work to the end."""


class Tasks:
    """
    The handlers. Jobs made for `round_` hold; without a round, none does.
    """

    def __init__(self, book: RunBook, *, round_: int | None = None, passed: Passed = lambda _: None) -> None:
        self._book = book
        self._round = round_
        self._passed = passed

    def profile(self) -> Profile:
        """
        All of them, registered.
        """
        profile = Profile("tasks")
        profile.handler(PLAIN)(self.run)
        profile.handler(HOLD)(self.hold)
        profile.handler(AGAIN, rerun_after_loss=True)(self.again)
        profile.handler(ONCE)(self.once)
        profile.handler(ONCE_ASYNC)(self.once_async)
        return profile

    def catalog(self) -> Catalog:
        """
        The same as an engine takes them.
        """
        return Catalog([self.profile()])

    def run(self, job: Task, ctx: JobContext) -> str:
        self._begin(ctx)
        self._do(job.does, ctx)
        self._end(ctx)
        return "done"

    async def hold(self, job: Hold, ctx: JobContext) -> None:
        self._begin(ctx)
        if job.round == self._round:
            ctx.report_progress(50, "holding")
            await asyncio.Event().wait()
        self._end(ctx)

    async def again(self, job: Again, ctx: JobContext) -> None:
        self._begin(ctx)
        await asyncio.sleep(0)
        self._passed("inside")
        self._end(ctx)

    def once(self, job: Once, ctx: JobContext) -> None:
        self._begin(ctx)
        self._do(job.does, ctx)
        self._end(ctx)

    async def once_async(self, job: OnceAsync, ctx: JobContext) -> None:
        self._begin(ctx)
        self._do(job.does, ctx)
        self._end(ctx)

    def _begin(self, ctx: JobContext) -> None:
        self._passed("begin")
        self._book.note("start", ctx.job_id)

    def _end(self, ctx: JobContext) -> None:
        self._book.note("end", ctx.job_id)
        self._passed("end")

    def _do(self, does: str, ctx: JobContext) -> None:
        if does == "fail" and ctx.attempt == 1:
            raise OSError("connection refused")
        if does == "fatal":
            raise FatalJobError("it cannot be done")
        if does == "later" and self._book.counts("start")[ctx.job_id] == 1:
            raise JobPostponedError("later", timedelta(0))
        self._passed("inside")
