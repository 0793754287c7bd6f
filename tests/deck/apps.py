"""
The app that the Deck is driven against: a handler that reports progress until it is told to end, and one that fails.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.deck_jobs import fill
from tests.support.host_process import HostProcess, write_app

READ_KEY = "read-" + "r" * 40
OPERATE_KEY = "operate-" + "o" * 40

HANDLERS = """
from typing import Any
from chokaq_core.contracts import FatalJobError, Job, JobContext, Profile
from tests.support.polling import looks

FOLDER = Path(__file__).parent


class Anything(Job, extra="allow"):
    pass


work = Profile("work")


@work.handler("slow.v1")
def slow(job: Anything, ctx: JobContext) -> None:
    ctx.report_progress(42, "row 42 of 100")
    for _ in looks(3600):
        ctx.raise_if_cancelled()
        if (FOLDER / "go").exists():
            return


class Report(Anything):
    pass


class Invoice(Anything):
    pass


class Mail(Anything):
    pass


class Hook(Anything):
    pass


class Failing(Anything):
    pass


@work.handler("report.csv.v1", queue="reports")
def report(job: Report, ctx: JobContext) -> None:
    pass


@work.handler("invoice.send.v1", queue="billing")
def invoice(job: Invoice, ctx: JobContext) -> dict[str, Any]:
    return {"sent": True}


@work.handler("webhook.post.v1", queue="billing")
def hook(job: Hook, ctx: JobContext) -> None:
    pass


@work.handler("email.send.v1", queue="mail")
def mail(job: Mail, ctx: JobContext) -> None:
    pass


@work.handler("failing.v1")
def failing(job: Failing, ctx: JobContext) -> None:
    raise FatalJobError("it never works")


PROFILES = [work]
"""


def start_host(folder: Path) -> HostProcess:
    """
    A local host with both Deck keys and a database of thousands of jobs.
    """
    write_app(folder, HANDLERS)
    fill(folder / "jobs.db")
    settings = {
        "ChokaQ__Sqlite__Path": str(folder / "jobs.db"),
        "ChokaQ__Deck__ReadKey": READ_KEY,
        "ChokaQ__Deck__OperateKey": OPERATE_KEY,
        "ChokaQ__Execution__HeartbeatIntervalMin": "00:00:01",
        "ChokaQ__Execution__HeartbeatIntervalMax": "00:00:01",
    }
    return HostProcess(folder, settings).start()
