"""
Runs against a SQL Server what only a real one can prove, and prints a table.

    python tools/prove_sqlserver.py "Server=tcp:localhost,1433;Database=jobs;User ID=sa;Password=…;Encrypt=no"

Makes a schema of its own, `chokaq_proof`, in the database that is named, and drops it at the end. With `--versioning`
it turns READ_COMMITTED_SNAPSHOT on and off and runs the races under both; nobody else may be connected meanwhile. With
`--rows 1000000` it fills the tables first, so that plans are those of a large database. On a slow server `--jobs` makes
the races smaller.

Runs on Babelfish for PostgreSQL too, where it says of a check what that server cannot show.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chokaq_core.config.connection_string import parse_connection_string
from chokaq_core.domain.errors import StoreError
from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import NewJob, Place
from chokaq_core.domain.moves import Move, complete, retry
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.sqlserver import SqlServerSettings
from chokaq_core.ports import Beat, Burial, Edit, QueueChange, Turn
from chokaq_core.stores.sqlserver import SqlServerStore
from chokaq_core.stores.sqlserver.database import Database
from chokaq_core.stores.sqlserver.errors import numbers_of
from chokaq_core.stores.sqlserver.odbc import pyodbc
from chokaq_core.stores.sqlserver.pool import Row, Session
from tests.support.babelfish import drop_procedures, is_babelfish, make_procedures

SCHEMA = "chokaq_proof"
CLAIMERS = 8
LIMIT = 5
ERROR = ErrorFacts("ValueError", "proof", "ValueError: proof")
DEADLOCK = 1205


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One line of the table.
    """

    check: str
    is_good: bool | None
    detail: str


class WatchedDatabase(Database):
    """
    Counts what the server says before a call is repeated.
    """

    faults: Counter[int]

    def attempt(self, work: Callable[[Session], list[list[Row]]]) -> list[list[Row]]:
        """
        As always, each fault counted by its number.
        """

        def watched(session: Session) -> list[list[Row]]:
            try:
                return work(session)
            except pyodbc.Error as error:
                self.faults.update(numbers_of(error)[:1])
                raise

        return super().attempt(watched)


@dataclass
class Proof:
    """
    A server, a store on it, and what was found.
    """

    settings: SqlServerSettings
    jobs: int
    is_babelfish: bool = False
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.database = WatchedDatabase(self.settings, beat_timeout=timedelta(seconds=10))
        self.database.faults = Counter()
        self.store = SqlServerStore(self.settings, database=self.database)
        self._numbers = itertools.count(1)

    def prepare(self) -> None:
        """
        Makes the schema, new.
        """
        _drop(self)
        self.store.prepare()
        self.is_babelfish = is_babelfish(self.database)
        if self.is_babelfish:
            make_procedures(self.database)

    def text(self, sql: str) -> list[list[Row]]:
        """
        Runs a text.
        """
        return self.database.attempt(lambda session: session.run_text(sql.replace("[chokaq]", f"[{SCHEMA}]")))

    def note(self, check: str, is_good: bool | None, detail: str) -> None:  # noqa: FBT001 - a fact of the finding
        """
        Keeps and prints a finding.
        """
        self.findings.append(Finding(check, is_good, detail))
        mark = {True: "ok", False: "FAILED", None: "--"}[is_good]
        print(f"{mark:<7} {check:<44} {detail}", flush=True)

    def empty(self) -> None:
        """
        Deletes all jobs.
        """
        for table in ("JobsHot", "JobsArchive", "JobsDLQ", "Lanes", "Turns", "Workers", "Circuits"):
            self.text(f"TRUNCATE TABLE [chokaq].{table};")

    def add(self, count: int, queue: str = "default") -> list[str]:
        """
        Enqueues jobs.
        """
        jobs = [NewJob(f"p-{next(self._numbers):09}", f"type-{n % 4}", "{}", queue=queue) for n in range(count)]
        for start in range(0, count, 1000):
            self.store.enqueue(jobs[start : start + 1000])
        return [job.id for job in jobs]

    def worker(self) -> Iterator[Callable[..., list[str]]]:
        """
        Never-ending supply of workers that claim.
        """
        while True:
            yield Claimer(self.store, f"proof-{next(self._numbers)}").turn


class Claimer:
    """
    A worker that settles what it claimed before.
    """

    def __init__(self, store: SqlServerStore, name: str) -> None:
        self._store = store
        self._name = name
        self._seq = itertools.count(1)
        self.leases: list[str] = []

    def turn(self, want: int, *, settles: bool = True) -> list[str]:
        """
        Claims and, at once, completes.
        """
        answer = self._store.turn(Turn(self._name, next(self._seq), want=want))
        if settles and answer.claimed:
            moves = tuple(complete(job.lease, 1.0) for job in answer.claimed)
            self._store.turn(Turn(self._name, next(self._seq), settlements=moves))
        return [job.lease.job_id for job in answer.claimed]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Runs everything; 0 when nothing failed.
    """
    options = _options(arguments)
    settings = SqlServerSettings(
        parse_connection_string(options.connection),
        schema_name=SCHEMA,
        auto_create=True,
        command_timeout=timedelta(minutes=5),
        max_transient_retries=20,
        transient_retry_base_delay=timedelta(milliseconds=20),
    )
    proof = Proof(settings, jobs=options.jobs)
    with closing(proof.store):
        try:
            proof.prepare()
            _describe(proof)
            _run(proof, options)
        finally:
            _drop(proof)
    failed = [finding.check for finding in proof.findings if finding.is_good is False]
    shown = [finding for finding in proof.findings if finding.is_good is not None]
    names = f": {', '.join(failed)}" if failed else ""
    print(f"\n{len(shown)} checks, {len(failed)} failed{names}; {len(proof.findings) - len(shown)} lines only tell")
    return 1 if failed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("connection", help="connection string, ADO.NET or ODBC spelling")
    parser.add_argument("--versioning", action="store_true", help="run the races with row versioning on and off")
    parser.add_argument("--rows", type=int, default=20_000, help="due and delayed rows for the plans (20000)")
    parser.add_argument("--jobs", type=int, default=4_000, help="jobs of the largest race (4000)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the mixed load (20)")
    return parser.parse_args(arguments)


def _describe(proof: Proof) -> None:
    (((version,),),) = proof.text("SELECT LEFT(REPLACE(@@VERSION, CHAR(10), ' '), 90);")
    proof.note("server", None, version)
    if proof.is_babelfish:
        proof.note("READPAST and other lock hints", None, "not on Babelfish: claims wait for each other there")
        proof.note("row versioning (READ_COMMITTED_SNAPSHOT)", None, "not on Babelfish: it has one kind, PostgreSQL's")
    else:
        state = "on" if _is_versioned(proof) else "off"
        proof.note("row versioning (READ_COMMITTED_SNAPSHOT)", None, state)


def _is_versioned(proof: Proof) -> bool:
    sql = "SELECT CAST(is_read_committed_snapshot_on AS int) FROM sys.databases WHERE name = DB_NAME();"
    (((is_on,),),) = proof.text(sql)
    return bool(is_on)


def _run(proof: Proof, options: argparse.Namespace) -> None:
    if options.versioning and not proof.is_babelfish:
        was_on = _is_versioned(proof)
        for is_on in (True, False):
            _turn_versioning(proof, is_on=is_on)
            _races(proof, f" [row versioning {'on' if is_on else 'off'}]", options.seconds)
        _turn_versioning(proof, is_on=was_on)
    else:
        _races(proof, "", options.seconds)
    escalations(proof)
    plans(proof, options.rows)


def _turn_versioning(proof: Proof, *, is_on: bool) -> None:
    proof.database.rest()
    state = "ON" if is_on else "OFF"
    proof.text(f"ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT {state} WITH ROLLBACK IMMEDIATE;")


def _races(proof: Proof, suffix: str, seconds: float) -> None:
    for race in (max_workers, claim_against_claim, settle_against_bury):
        proof.empty()
        race(proof, suffix)
    proof.empty()
    mixed_load(proof, suffix, seconds)


def max_workers(proof: Proof, suffix: str) -> None:
    """
    Eight claimers on a queue that lets five jobs run: never more than five are held.
    """
    proof.store.change_queue("limited", QueueChange(max_workers=LIMIT))
    proof.add(proof.jobs // 5, "limited")
    most, is_over = [0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(proof, most, is_over))
    watcher.start()
    done = _together(CLAIMERS, lambda claim: _drain(claim, 3), proof)
    is_over.set()
    watcher.join()
    ran = sum(len(ids) for ids in done)
    proof.note(
        f"MaxWorkers race{suffix}", most[0] <= LIMIT and ran > 0, f"{ran} jobs, at most {most[0]} of {LIMIT} held"
    )


def _watch(proof: Proof, most: list[int], is_over: threading.Event) -> None:
    sql = "SELECT COUNT(*) FROM [chokaq].JobsHot WHERE WorkerId IS NOT NULL AND Queue = 'limited';"
    while not is_over.wait(0.002):
        (((held,),),) = proof.text(sql)
        most[0] = max(most[0], held)


def claim_against_claim(proof: Proof, suffix: str) -> None:
    """
    Eight workers drain a queue: every job is started once.
    """
    ids = proof.add(proof.jobs)
    started = [job_id for found in _together(CLAIMERS, lambda claim: _drain(claim, 20), proof) for job_id in found]
    is_good = sorted(started) == sorted(ids)
    proof.note(
        f"claim against claim{suffix}",
        is_good,
        f"{len(ids)} jobs, {len(started)} starts",
    )


def settle_against_bury(proof: Proof, suffix: str) -> None:
    """
    A worker settles while a rescue buries: one of them wins.
    """
    rounds, wrong = max(1, proof.jobs // 40), 0
    for number in range(rounds):
        name = f"bury-{number}-{time.monotonic_ns()}"
        proof.add(1)
        (job,) = proof.store.turn(Turn(name, 1, want=1)).claimed
        (suspect,) = proof.store.suspects(timedelta(seconds=-60), 1).jobs
        burial = Burial(suspect, Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE), ERROR)
        settling = Turn(name, 2, settlements=(complete(job.lease, 1.0),))
        with ThreadPoolExecutor(2) as both:
            settled = both.submit(proof.store.turn, settling)
            buried = both.submit(proof.store.bury, [burial])
            wrong += (not settled.result().stale) is buried.result()[0]
    proof.note(f"settle against bury{suffix}", wrong == 0, f"{rounds} rounds, {wrong} with both or neither")


def mixed_load(proof: Proof, suffix: str, seconds: float) -> None:
    """
    Everything at once: nothing fails for good, and deadlocks are few.
    """
    proof.database.faults.clear()
    proof.store.change_queue("limited", QueueChange(max_workers=LIMIT))
    ends_at = time.monotonic() + seconds
    calls: Counter[str] = Counter()
    failures: list[str] = []

    def repeat(name: str, work: Callable[[], object]) -> None:
        while time.monotonic() < ends_at:
            try:
                work()
            except StoreError as error:
                failures.append(str(error))
            calls[name] += 1

    roles = [*(_work(proof) for _ in range(4)), *_operators(proof)]
    threads = [threading.Thread(target=repeat, args=role) for role in roles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    deadlocks = proof.database.faults[DEADLOCK]
    detail = f"{sum(calls.values())} calls, {deadlocks} deadlocks repeated, other faults {dict(proof.database.faults)}"
    proof.note(f"mixed load{suffix}", not failures, f"{detail}; {len(failures)} failed {failures[:1]}")


def _work(proof: Proof) -> tuple[str, Callable[[], object]]:
    name, seq = f"mixed-{time.monotonic_ns()}", itertools.count(1)

    def work() -> None:
        answer = proof.store.turn(Turn(name, next(seq), want=5, prefetch=3))
        proof.store.beat(Beat(name))
        running = [job.lease for job in answer.claimed if job.attempt]
        moves = tuple(
            complete(lease, 1.0) if n % 3 else retry(lease, timedelta(0), ERROR) for n, lease in enumerate(running)
        )
        starts = tuple(job.lease for job in answer.claimed if not job.attempt)
        proof.store.turn(Turn(name, next(seq), settlements=moves, starts=starts))
        proof.store.turn(Turn(name, next(seq), settlements=tuple(complete(lease, 1.0) for lease in starts)))

    return "turns", work


def _operators(proof: Proof) -> list[tuple[str, Callable[[], object]]]:
    """
    Producers, operators and timers beside the workers.
    """
    store = proof.store
    flips = itertools.cycle([True, False])
    return [
        ("enqueue", lambda: proof.add(20)),
        ("enqueue limited", lambda: proof.add(20, "limited")),
        ("cancel", lambda: store.cancel(proof.add(3), "proof")),
        ("edit", lambda: store.edit(proof.add(3), Edit(priority=99), "proof")),
        ("pause", lambda: store.change_queue("limited", QueueChange(is_paused=next(flips)))),
        ("rescue", lambda: store.recover(timedelta(minutes=5), 100)),
        ("demand", lambda: store.demand(1000)),
        ("fold", lambda: store.fold_counters(1000)),
    ]


def escalations(proof: Proof) -> None:
    """
    Large batches: no table lock replaces row locks.
    """
    proof.empty()
    before = _promotions(proof)
    if before is None:
        proof.note("lock escalation", None, f"{_who(proof)} does not count it")
        return
    proof.add(3000)
    _drain(next(proof.worker()), 1000)
    proof.store.purge_expired(Place.ARCHIVE, timedelta(seconds=-60), 3000)
    after = _promotions(proof) or 0
    proof.note("lock escalation", after == before, f"{after - before} in claims, settles and purges of 1000 rows")


def _promotions(proof: Proof) -> int | None:
    with suppress(StoreError, ValueError):
        (((count,),),) = proof.text(
            "SELECT SUM(index_lock_promotion_count) FROM sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL) "
            f"WHERE OBJECT_SCHEMA_NAME(object_id) = '{SCHEMA}';"
        )
        return int(count or 0)
    return None


def plans(proof: Proof, rows: int) -> None:
    """
    Claim, beat and rescue on a large table: no scan of JobsHot, and a claim that costs what it cost on a small one.
    """
    proof.empty()
    proof.add(1000)
    small = _claim_time(proof)
    proof.empty()
    _fill(proof, rows)
    before = _scans(proof)
    large = _claim_time(proof)
    proof.store.beat(Beat("proof"))
    proof.store.recover(timedelta(minutes=5), 100)
    proof.store.suspects(timedelta(minutes=5), 100)
    proof.store.demand(1000)
    after = _scans(proof)
    ratio = f"claim of 50: {small:.1f} ms with 1000 rows, {large:.1f} ms with {2 * rows}"
    if before is None or after is None:
        proof.note("plans of the hot statements", None, f"{ratio}; {_who(proof)} does not count scans")
    else:
        proof.note("plans of the hot statements", after == before, f"{ratio}; {after - before} scans of JobsHot's rows")


def _who(proof: Proof) -> str:
    return "Babelfish" if proof.is_babelfish else "the server"


def _claim_time(proof: Proof) -> float:
    """
    Median of claims of 50, in milliseconds.
    """
    claim = next(proof.worker())
    claim(50)
    taken = []
    for _ in range(9):
        started = time.perf_counter()
        claim(50, settles=False)
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def _fill(proof: Proof, rows: int) -> None:
    """
    So many due rows and as many delayed ones, in eight lanes, made on the server.
    """
    proof.add(8)
    made = 0
    while made < 2 * rows:
        count = min(100_000, 2 * rows - made)
        proof.text(_FILLING.format(first=made, count=count))
        made += count


_FILLING = """
INSERT INTO [chokaq].JobsHot (
    Id, Queue, Type, Payload, Priority, DueAtUtc, CreatedAtUtc, LastUpdatedUtc, LifetimeStartUtc, IsReady
)
SELECT
    CONCAT('f-', {first} + n.N), 'default', CONCAT('type-', n.N % 4), N'{{}}', n.N % 20,
    DATEADD(SECOND, CASE WHEN n.N % 2 = 0 THEN -1 ELSE 1 END * (n.N % 86400 + 3600), SYSUTCDATETIME()),
    SYSUTCDATETIME(), SYSUTCDATETIME(), SYSUTCDATETIME(), CASE WHEN n.N % 2 = 0 THEN 1 ELSE 0 END
FROM (
    SELECT TOP ({count}) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS N
    FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b
) AS n;
"""


def _scans(proof: Proof) -> int | None:
    """
    Scans of the rows themselves or of an index over all of them; small filtered indexes may be scanned.
    """
    with suppress(StoreError, ValueError):
        (((count,),),) = proof.text(
            "SELECT SUM(u.user_scans) FROM sys.dm_db_index_usage_stats AS u INNER JOIN sys.indexes AS i "
            "ON i.object_id = u.object_id AND i.index_id = u.index_id WHERE u.database_id = DB_ID() "
            f"AND u.object_id = OBJECT_ID('[{SCHEMA}].JobsHot') AND i.has_filter = 0;"
        )
        return int(count or 0)
    return None


def _together(count: int, work: Callable[[Callable[..., list[str]]], list[str]], proof: Proof) -> list[list[str]]:
    supply = proof.worker()
    claims = [next(supply) for _ in range(count)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, claims))


def _drain(claim: Callable[..., list[str]], want: int) -> list[str]:
    """
    Claims and completes until nothing was found a few times in a row: a rival may hold the last rows.
    """
    found: list[str] = []
    idle = 0
    while idle < 20:  # noqa: PLR2004 - looks in vain, a few milliseconds each
        ids = claim(want)
        found += ids
        idle = 0 if ids else idle + 1
        if not ids:
            time.sleep(0.005)
    return found


def _drop(proof: Proof) -> None:
    """
    Drops what this run, or one that was broken off, has left.
    """
    if is_babelfish(proof.database):
        drop_procedures(proof.database)
    (tables,) = proof.text(
        "SELECT t.name FROM sys.tables AS t INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id "
        f"WHERE s.name = '{SCHEMA}';"
    )
    for (table,) in tables:
        proof.text(f"DROP TABLE [chokaq].{table};")
    proof.text("DROP SCHEMA IF EXISTS [chokaq];")


if __name__ == "__main__":
    raise SystemExit(main())
