"""
Circuits with many claimers and a large backlog: one probe for the whole store, and no claim that walks past what waits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from chokaq_core.domain.circuit import CircuitReport, CircuitSignal
from chokaq_core.domain.job import ClaimedJob, NewJob
from chokaq_core.domain.moves import retry
from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.ports import Store, Turn
from chokaq_core.stores.sqlite.database import QUERIES
from tests.contract.racing import at_once, in_processes
from tests.contract.sources import SqliteSource, StoreKind, StoreSource
from tests.contract.stages import BOOM, MINUTE

TYPE = "email.send.v1"
NO_BREAK = CircuitRules(break_duration=timedelta(0), probe_timeout=timedelta(hours=1))
"""
An open circuit lets a probe through at once, so that no test waits for time to pass; and none is lost while a slow
server compiles what it is sent.
"""
THREADS = 6
ROUNDS = 20


@pytest.fixture
def rivals(kind: StoreKind, source: StoreSource) -> Iterator[list[Store]]:
    """
    Six claimers, on a shared database each with a store of its own.
    """
    stores = [source.open(circuit_rules=NO_BREAK) for _ in range(THREADS if kind.is_shared else 1)]
    yield [stores[number % len(stores)] for number in range(THREADS)]
    for store in stores:
        store.close()


def _open_circuit(store: Store) -> None:
    """
    Lets five jobs of the type fail, and leaves a hundred in each of three queues.
    """
    store.enqueue([NewJob(f"first-{n}", TYPE, "1") for n in range(5)])
    claimed = store.turn(Turn("opener", 1, want=5)).claimed
    answer = store.turn(_failures("opener", 2, *claimed))
    assert [str(event.name) for event in answer.circuit_events] == ["opened"]
    for queue in ("red", "green", "blue"):
        store.enqueue([NewJob(f"{queue}-{n}", TYPE, "1", queue=queue) for n in range(100)])


def _failures(worker: str, seq: int, *jobs: ClaimedJob) -> Turn:
    return Turn(
        worker,
        seq,
        settlements=tuple(retry(job.lease, MINUTE, BOOM) for job in jobs),
        reports=tuple(
            CircuitReport(TYPE, job.lease.job_id, job.circuit_generation, CircuitSignal.FAILURE) for job in jobs
        ),
    )


def test_of_many_threads_that_claim_at_once_one_gets_the_probe(rivals: list[Store]) -> None:
    _open_circuit(rivals[0])
    for number in range(ROUNDS):
        calls: list[Callable[[], tuple[ClaimedJob, ...]]] = [
            partial(_claim, store, f"worker-{thread}", 2 * number + 1) for thread, store in enumerate(rivals)
        ]
        claimed = [job for jobs in at_once(calls) for job in jobs]

        assert [job.is_probe for job in claimed] == [True]
        (job,) = claimed
        rivals[0].turn(_failures(job.lease.worker_id, 2 * number + 2, job))


def test_of_many_processes_that_claim_at_once_one_gets_the_probe(shared_source: StoreSource) -> None:
    with closing(shared_source.open(circuit_rules=NO_BREAK)) as store:
        _open_circuit(store)

    found = in_processes(3, "claim", shared_source.address, threads=shared_source.load(4), want=50)

    assert [is_probe for claims in found for _, is_probe in claims] == [True]


def _claim(store: Store, worker: str, seq: int) -> tuple[ClaimedJob, ...]:
    return store.turn(Turn(worker, seq, want=50)).claimed


@pytest.mark.parametrize("query", ["claim_heads", "demand_lanes"])
def test_a_hundred_thousand_jobs_of_an_open_type_cost_a_claim_no_more_steps_than_a_hundred(
    tmp_path: Path, query: str
) -> None:
    steps = [_steps(tmp_path / f"{backlog}.db", query, backlog) for backlog in (100, 100_000)]

    assert steps[1] <= 1.2 * steps[0]


def test_a_claim_behind_a_hundred_thousand_jobs_of_an_open_type_rewrites_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    with closing(SqliteSource(path).open()) as store:
        _open_circuit(store)
        _add_backlog(path, 100_000)
        other = NewJob("other", "report.build.v1", "1", priority=0)
        store.enqueue([other])
        before = _fingerprint(path)

        claimed = store.turn(Turn("worker-1", 1, want=10)).claimed

    assert [job.lease.job_id for job in claimed] == ["other"]
    assert _fingerprint(path) == before


def _steps(path: Path, query: str, backlog: int) -> int:
    """
    Steps of SQLite's virtual machine that the query takes with such a backlog of an open type.
    """
    with closing(SqliteSource(path).open()) as store:
        _open_circuit(store)
    _add_backlog(path, backlog)
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    values = {"now": 0, "most": 500, "probing": "[]", "held": f'["{TYPE}"]'}
    with closing(sqlite3.connect(path)) as connection:
        connection.set_progress_handler(step, 10)
        connection.execute(QUERIES[query], values).fetchall()
    return count


def _add_backlog(path: Path, count: int) -> None:
    """
    Puts so many due jobs of the open type at the head of the default queue.
    """
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            """
            WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?)
            INSERT INTO JobsHot (
                Id, Queue, Type, Payload, Priority, DueAtUtc, CreatedAtUtc, LastUpdatedUtc, LifetimeStartUtc, IsReady
            )
            SELECT 'backlog-' || value, 'default', ?, '1', 1000, 0, 0, 0, 0, 1 FROM n
            """,
            (count, TYPE),
        )
        connection.commit()


def _fingerprint(path: Path) -> tuple[object, ...]:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT count(*), sum(IsReady), sum(LeaseNumber), sum(LastUpdatedUtc), sum(DueAtUtc) FROM JobsHot"
        row: tuple[object, ...] = connection.execute(f"{query} WHERE Type = ?", (TYPE,)).fetchone()
    return row
