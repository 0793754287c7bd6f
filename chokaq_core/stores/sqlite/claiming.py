"""
Which rows a claim takes: by priority within a queue, in turns between queues of equal priority.
"""

from __future__ import annotations

import bisect
import heapq
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from chokaq_core.domain.value import Value, replace
from chokaq_core.ports import MAX_BATCH
from chokaq_core.stores.sqlite.rows import LONG_TEXT, claimed_jobs, json_text, json_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chokaq_core.domain.job import ClaimedJob
    from chokaq_core.domain.lanes import LaneFilter
    from chokaq_core.ports import Turn
    from chokaq_core.stores.sqlite.circuits import Board
    from chokaq_core.stores.sqlite.database import Transaction

_ID, _PAYLOAD = 1, 5
"""Their places in a row of the claim's answer."""
_ROW: Final = 3
"""Its place in a rank."""

Rank = tuple[int, int, str, int]
"""A row's place in its queue, negative priority, due time and id, and where it is stored."""


class Lane(Value):
    """
    One queue's claimable jobs of one type: the first, whether more follow, and how many the queue's limit lets run.
    """

    queue: str
    type_key: str
    free: int | None
    head: Rank
    has_more: bool
    is_probe: bool = False


class Pick(Value):
    """
    Where the rows to claim are stored, first to run first, and the queue that was served last.
    """

    rows: Sequence[int]
    last_queue: str


def claim(
    transaction: Transaction, turn: Turn, board: Board, *, is_any_due: bool
) -> tuple[tuple[ClaimedJob, ...], str]:
    """
    Claims what a turn has room for; answers the jobs and the queue served last.

    Args:
        is_any_due: whether the due time of a job has come that was not ready before.
    """
    room = turn.want + turn.prefetch
    if room <= 0:
        return (), turn.after_queue
    if is_any_due:
        transaction.change("claim_promote", promote=MAX_BATCH)
    lanes = _open_lanes(transaction, board, turn.lanes)
    if not lanes:
        return (), turn.after_queue
    pick = _pick(transaction, lanes, room, turn.after_queue)
    jobs = _claim_rows(transaction, turn, pick.rows)
    return tuple(jobs if board.is_empty() else (_with_circuit(job, board) for job in jobs)), pick.last_queue


def claim_again(transaction: Transaction, worker_id: str, leases: dict[str, int], board: Board) -> list[ClaimedJob]:
    """
    The jobs of an earlier claim that this worker still holds.
    """
    rows = transaction.rows("claim_rows", ids=json_text(list(leases)))
    jobs = _held(transaction, worker_id, json_text([row for (row,) in rows]))
    return [
        replace(job, circuit_generation=board.generation(job.type_key), is_probe=board.is_probe(job))
        for job in jobs
        if job.lease.number == leases[job.lease.job_id]
    ]


def _claim_rows(transaction: Transaction, turn: Turn, rows: Sequence[int]) -> Iterator[ClaimedJob]:
    picked = json_text(rows)
    if len(rows) == 1:
        transaction.change("claim_one", worker=turn.worker_id, place=rows[0], want=turn.want)
    else:
        transaction.change("claim", worker=turn.worker_id, picked=picked, want=turn.want)
    return _held(transaction, turn.worker_id, picked)


def _held(transaction: Transaction, worker_id: str, picked: str) -> Iterator[ClaimedJob]:
    """
    Those of the picked rows that the worker holds, in their order.
    """
    rows = json_values(*transaction.look("claim_held", picked, worker_id, LONG_TEXT))
    rows.sort()
    for row in rows:
        if row[_PAYLOAD] is None:
            row[_PAYLOAD] = transaction.value("claim_payload", id=row[_ID])
    return claimed_jobs(rows, worker_id, transaction.now)


def _open_lanes(transaction: Transaction, board: Board, wanted: LaneFilter | None) -> list[Lane]:
    """
    Lanes that may be claimed from. A type that needs a probe has one lane of one job: its best in all queues with room.
    """
    if board.is_calm() and wanted is None:
        return list(_lanes_with_room(transaction))
    lanes: list[Lane] = []
    probing: dict[str, Lane] = {}
    for lane in _lanes_with_room(transaction):
        if board.is_closed_to(lane.type_key):
            continue
        if wanted is not None and not wanted.lets(lane.queue, lane.type_key):
            continue
        if not board.needs_probe(lane.type_key):
            lanes.append(lane)
        elif lane.type_key not in probing or lane.head < probing[lane.type_key].head:
            probing[lane.type_key] = replace(lane, is_probe=True)
    return [*lanes, *probing.values()]


def _lanes_with_room(transaction: Transaction) -> Iterator[Lane]:
    """
    Lanes of open queues whose limit is not reached. Held jobs are counted only where a limit asks for it.
    """
    lanes = json_values(transaction.value("claim_heads"))
    is_limited = any(max_workers is not None for _, _, max_workers, *_ in lanes)
    busy = dict(transaction.rows("claim_busy")) if is_limited else {}
    for queue, type_key, max_workers, *head, has_more in lanes:
        free = None if max_workers is None else max_workers - busy.get(queue, 0)
        if free is None or free > 0:
            yield Lane(queue, type_key, free, tuple(head), has_more is not None)


def _with_circuit(job: ClaimedJob, board: Board) -> ClaimedJob:
    """
    The job with its circuit's generation; the first of a type that needs a probe becomes the probe.
    """
    if not board.knows(job.type_key):
        return job
    is_probe = board.needs_probe(job.type_key)
    if is_probe:
        board.acquire(job.type_key, job.lease.job_id, job.lease.worker_id)
    generation = board.generation(job.type_key)
    return replace(job, circuit_generation=generation, is_probe=is_probe) if generation else job


def _pick(transaction: Transaction, lanes: list[Lane], room: int, after_queue: str) -> Pick:
    """
    Takes one row at a time from the queue whose best row has the highest priority; among equals the next in the cycle.
    """
    if len(lanes) == 1:
        return Pick(_rows_of_one(transaction, lanes[0], room), lanes[0].queue)
    rows_of = dict(_rows_of_queues(transaction, lanes, room))
    if len(rows_of) == 1:
        ((queue, only),) = rows_of.items()
        return Pick([row[_ROW] for row in islice(only, room)], queue)
    feeds = {queue: _Feed(rows) for queue, rows in rows_of.items()}
    rota = _Rota(feeds)
    picked: list[int] = []
    last = after_queue
    while len(picked) < room and rota.has_more():
        last = rota.next_queue(last)
        picked.append(feeds[last].take()[_ROW])
        rota.settle(last)
    return Pick(picked, last)


class _Feed:
    """
    A queue's rows in claim order, read only as far as they are taken.
    """

    __slots__ = ("_rows", "head")

    def __init__(self, rows: Iterator[Rank]) -> None:
        self._rows = rows
        self.head = next(rows, None)

    def take(self) -> Rank:
        """
        The best row, which is then gone from the feed.
        """
        assert self.head is not None  # noqa: S101 - the rota holds only feeds that have a row
        row = self.head
        self.head = next(self._rows, None)
        return row


class _Rota:
    """
    Whose turn it is: queues by the priority of their best row, and names in order within a priority.
    """

    def __init__(self, feeds: dict[str, _Feed]) -> None:
        self._feeds = feeds
        self._by_priority: dict[int, list[str]] = {}
        self._place: dict[str, int] = {}
        for queue in feeds:
            self._enter(queue)

    def has_more(self) -> bool:
        """
        Whether any queue has a row left.
        """
        return bool(self._by_priority)

    def next_queue(self, after: str) -> str:
        """
        The queue after `after` in the cycle of the best priority.
        """
        names = self._by_priority[min(self._by_priority)]
        return names[bisect.bisect_right(names, after) % len(names)]

    def settle(self, queue: str) -> None:
        """
        Moves a queue to its new place after a row was taken from it.
        """
        head = self._feeds[queue].head
        place = self._place[queue]
        if head is not None and head[0] == place:
            return
        self._by_priority[place].remove(queue)
        if not self._by_priority[place]:
            del self._by_priority[place]
        self._enter(queue)

    def _enter(self, queue: str) -> None:
        head = self._feeds[queue].head
        if head is not None:
            self._place[queue] = head[0]
            bisect.insort(self._by_priority.setdefault(head[0], []), queue)


def _rows_of_one(transaction: Transaction, lane: Lane, room: int) -> Sequence[int]:
    """
    Where the first rows of a lane are stored that has no other beside it.
    """
    if lane.is_probe or not lane.has_more:
        return (lane.head[_ROW],)
    most = room if lane.free is None else min(room, lane.free)
    (rows,) = transaction.look("claim_lane_rows", lane.queue, lane.type_key, most)
    return cast("list[int]", json_values(rows))


def _rows_of_queues(transaction: Transaction, lanes: list[Lane], room: int) -> Iterator[tuple[str, Iterator[Rank]]]:
    """
    For each queue the rows of all its lanes together, as many as its limit allows.
    """
    by_queue: defaultdict[str, list[Lane]] = defaultdict(list)
    for lane in lanes:
        by_queue[lane.queue].append(lane)
    likely = 2 * room // len(lanes) + 2  # twice a lane's share
    for queue, own in by_queue.items():
        free = own[0].free
        yield queue, _merged(transaction, own, room if free is None else min(room, free), likely)


def _merged(transaction: Transaction, lanes: list[Lane], count: int, likely: int) -> Iterator[Rank]:
    """
    The first rows of several lanes. A lane whose head is not among the first `count` heads has no row there.
    """
    nearest = heapq.nsmallest(count, lanes, key=lambda lane: lane.head)
    return islice(heapq.merge(*(_rows_of(transaction, lane, count, likely) for lane in nearest)), count)


def _rows_of(transaction: Transaction, lane: Lane, count: int, likely: int) -> Iterator[Rank]:
    """
    A lane's rows. The head is known; the others are read when asked for, first the likely ones, then all that may be.
    """
    yield lane.head
    if lane.is_probe or not lane.has_more:
        return
    read = 1
    for most in (min(likely, count), count):
        if read < most:
            rows = json_values(transaction.value("claim_lane", queue=lane.queue, type_key=lane.type_key, most=most))
            yield from (tuple(row) for row in rows[read:])
            if len(rows) < most:
                return
            read = most
