"""
A database as an operator might find it: thousands of jobs in all three pillars, put there by the store's own moves.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import NewJob
from chokaq_core.domain.moves import complete, dead_letter
from chokaq_core.ports import QueueChange, Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.domain.job import Lease
    from chokaq_core.domain.moves import Settlement

BATCH = 1_000
BIG = 9_007_199_254_740_993
"""The first whole number that a JavaScript number cannot hold."""

HOSTILE = (
    '<img src=x onerror="window.__x=1">',
    "'\"><script>window.__x=1</script>",
    "javascript:window.__x=1",
    "</script><!--",
    "&lt;b&gt;",
    "{{7*7}}",
    "${7*7}",
)
"""Texts that must show as they are, wherever they come from."""

_ERRORS = (
    (FailureReason.MAX_RETRIES_EXCEEDED, "ConnectionResetError", "the mail server closed the connection"),
    (FailureReason.FATAL_ERROR, "InvoiceNotFoundError", "invoice 20418 does not exist"),
    (FailureReason.TIMEOUT, "TimeoutError", "still running after 00:15:00"),
    (FailureReason.MAX_RETRIES_EXCEEDED, "HTTPStatusError", "Server error '503 Service Unavailable'"),
)


class Filler:
    """
    Fills a store that no host uses yet.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.store = SqliteStore(path)
        self.store.prepare()
        self.store.register(WorkerFacts("instance-3f9c/worker-1", "instance-3f9c", capacity=16))
        self._seq = itertools.count(1)

    def close(self) -> None:
        """
        Lets go of the file.
        """
        self.store.close()

    def waiting(self, jobs: Sequence[NewJob]) -> None:
        """
        Jobs that stay where they are, since their queues are paused before anybody could claim them.
        """
        for queue in {job.queue for job in jobs}:
            self.store.change_queue(queue, QueueChange(is_paused=True))
        self._enqueue(jobs)

    def archived(self, jobs: Sequence[NewJob]) -> None:
        """
        Jobs that have succeeded.
        """
        self._end(jobs, lambda number, lease: complete(lease, 40.0 + number % 700, '{"sent":true}'))

    def dead(self, jobs: Sequence[NewJob], error: ErrorFacts | None = None) -> None:
        """
        Jobs that have ended badly: all by one error, or by a few that take turns.
        """
        self._end(jobs, lambda number, lease: _dead(number, lease, error))

    def _end(self, jobs: Sequence[NewJob], ending: Callable[[int, Lease], Settlement]) -> None:
        self._enqueue(jobs)
        settled = 0
        while settled < len(jobs):
            claimed = self._turn(want=BATCH)
            assert claimed, "nothing could be claimed"
            settlements = tuple(ending(settled + number, lease) for number, lease in enumerate(claimed))
            self._turn(settlements=settlements)
            settled += len(claimed)

    def _turn(self, want: int = 0, settlements: tuple[Settlement, ...] = ()) -> list[Lease]:
        turn = Turn("instance-3f9c/worker-1", next(self._seq), want=want, settlements=settlements)
        answer = self.store.turn(turn)
        assert not answer.stale
        return [job.lease for job in answer.claimed]

    def _enqueue(self, jobs: Sequence[NewJob]) -> None:
        for start in range(0, len(jobs), BATCH):
            self.store.enqueue(jobs[start : start + BATCH])


def fill(path: Path) -> None:
    """
    Writes 8000 and some jobs: 5640 archived, 1700 dead, 800 waiting, and those that would like to run script.
    """
    filler = Filler(path)
    for tag in ("pilot", "early"):
        filler.archived([_mail(number, tag) for number in range(20)])
    filler.archived([_mail(number, "archived") for number in range(5_600)])
    filler.dead([_invoice(number) for number in range(1_700)])
    filler.waiting([_report(number) for number in range(800)])
    filler.dead([hostile(number, text) for number, text in enumerate(HOSTILE)], _HOSTILE_ERROR)
    filler.waiting([hostile(100 + number, text, queue="hostile-paused") for number, text in enumerate(HOSTILE)])
    filler.close()


def hostile(number: int, text: str, queue: str = "hostile") -> NewJob:
    """
    A job with the text wherever a text can be.
    """
    payload = json.dumps({text: text, "link": text, "big": BIG}, separators=(",", ":"))
    return NewJob(
        f"hostile-{number}", text, payload, queue=queue, tags=text, idempotency_key=f"{number} {text}", created_by=text
    )


_EVERYTHING = "\n".join(HOSTILE)
_HOSTILE_ERROR = ErrorFacts(
    "<script>window.__x=1</script>Error",
    _EVERYTHING,
    f'Traceback (most recent call last):\n  File "<img src=x onerror=window.__x=1>.py", line 1\n{_EVERYTHING}',
)


def _dead(number: int, lease: Lease, error: ErrorFacts | None) -> Settlement:
    if error is not None:
        return dead_letter(lease, FailureReason.FATAL_ERROR, error, 12.5)
    reason, name, message = _ERRORS[min(number % 9, 3) if number % 9 < 4 else 0]
    lines = [
        "Traceback (most recent call last):",
        '  File "/home/site/wwwroot/jobs/invoices.py", line 84, in send_invoice',
        "    await mailbox.deliver(message)",
        '  File "/home/site/wwwroot/jobs/mailbox.py", line 41, in deliver',
        "    raise self._translated(error)",
        f"{name}: {message}",
    ]
    return dead_letter(lease, reason, ErrorFacts(name, message, "\n".join(lines)), 812.5 + number % 90)


def _mail(number: int, tag: str) -> NewJob:
    payload = json.dumps({"to": f"customer{number}@example.org", "subject": "Your order", "body": "It is on its way."})
    return NewJob(f"mail-{tag}-{number:05}", "email.send.v1", payload, queue="mail", tags=tag, created_by="shop")


def _invoice(number: int) -> NewJob:
    payload = {
        "invoice": {"id": BIG + number, "customer": f"customer{number}", "total": 129.90, "currency": "EUR"},
        "lines": [{"sku": "A-100", "count": 2, "price": 49.95}, {"sku": "B-7", "count": 1, "price": 30.00}],
        "notify": ["billing@example.org"],
    }
    return NewJob(
        f"invoice-{number:05}",
        "invoice.send.v1" if number % 3 else "webhook.post.v1",
        json.dumps(payload, separators=(",", ":")),
        queue="billing",
        tags=f"tenant-{number % 7}",
        created_by="billing-api",
        trace_parent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    )


def _report(number: int) -> NewJob:
    payload = json.dumps({"path": f"orders-{number}.csv", "group_by": ["country"], "total": ["amount"]})
    return NewJob(
        f"report-{number:05}", "report.csv.v1", payload, queue="reports", tags="nightly", created_by="scheduler"
    )
