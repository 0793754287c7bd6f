"""
What only the embedded store has: its file, its locks, its errors and its migrations.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import portalocker
import pytest

from chokaq_core.domain.errors import StoreError, StoreRefusedError, StoreUnavailableError
from chokaq_core.domain.job import ArchivedJob, NewJob
from chokaq_core.domain.moves import complete
from chokaq_core.ports import Beat, PillarCounts, SchemaState, Turn
from chokaq_core.stores.sqlite import SqliteStore, database, errors, lock_file, schema
from chokaq_core.stores.sqlite.database import Database, machine_time
from chokaq_core.stores.sqlite.lock_file import LockFile
from tests.contract.racing import at_once, in_processes
from tests.contract.sources import SqliteSource
from tests.support.clock import SteppedClock

ROOT = Path(__file__).parents[2]
JOB = NewJob("a", "t", "1")
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """
    A store on a file of its own, at the real time.
    """
    with closing(SqliteStore(path)) as store:
        store.prepare()
        yield store


@pytest.fixture
def _is_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Stores opened from now on give up at once when someone else writes.
    """
    monkeypatch.setattr(database, "BUSY_TIMEOUT_SECONDS", 0.05)


class TestFile:
    @pytest.mark.case("C-065")
    @pytest.mark.parametrize(
        "name",
        ["job store.db", "#1.db", "what?mode=ro&x=1.db", "100%20.db", "caf\u00e9 \U0001f680.db", "file:x.db", ";.db"],
    )
    def test_any_name_is_taken_as_it_is(self, tmp_path: Path, name: str) -> None:
        folder = tmp_path / "a folder #2"
        folder.mkdir()

        with closing(SqliteSource(folder / name).open()) as store:
            store.enqueue([JOB])

        assert (folder / name).is_file()
        assert {file.name for file in folder.iterdir()} == {name, f"{name}.lock"}

    def test_jobs_outlive_the_store(self, path: Path) -> None:
        with closing(SqliteSource(path).open()) as first:
            first.enqueue([JOB])
            first.turn(Turn("worker-1", 1, want=1))
        with closing(SqliteSource(path).open()) as second:
            assert second.counts().hot == 1
            assert second.beat(Beat("worker-1")).held["a"].lease_number == 1
            assert second.turn(Turn("worker-1", 1, want=1)).is_repeat

    def test_two_stores_on_one_file_see_each_others_work_at_once(self, path: Path, store: SqliteStore) -> None:
        with closing(SqliteSource(path).open()) as other:
            store.enqueue([JOB])
            (claimed,) = other.turn(Turn("worker-1", 1, want=1)).claimed
            assert store.beat(Beat("worker-1")).held.keys() == {"a"}

            other.turn(Turn("worker-1", 2, settlements=(complete(claimed.lease, 1.0),)))
            assert store.counts() == other.counts() == PillarCounts(hot=0, archive=1, dlq=0)

    def test_a_resting_store_holds_no_connection_and_comes_back(self, path: Path, store: SqliteStore) -> None:
        wal = path.with_name("jobs.db-wal")
        store.enqueue([JOB])
        assert wal.exists()

        store.rest()
        assert not wal.exists()

        assert store.find("a") is not None

    def test_a_store_may_be_closed_twice(self, path: Path) -> None:
        store = SqliteSource(path).open()

        store.close()
        store.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
class TestLockFile:
    def test_a_writer_keeps_its_place_open_and_gives_it_up_when_it_rests(self, path: Path, store: SqliteStore) -> None:
        assert _open_files(path) >= 1

        store.rest()

        assert _open_files(path) == 0

    def test_it_is_free_between_two_transactions(self, path: Path, store: SqliteStore) -> None:
        store.enqueue([JOB])

        with path.with_name("jobs.db.lock").open("a") as handle:
            portalocker.lock(handle, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)

    def test_it_is_free_after_a_transaction_that_failed(self, path: Path, store: SqliteStore) -> None:
        _run(path, "ALTER TABLE Lanes RENAME TO Moved")
        with pytest.raises(StoreRefusedError, match="no such table"):
            store.enqueue([JOB])

        with path.with_name("jobs.db.lock").open("a") as handle:
            portalocker.lock(handle, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)

    @pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
    def test_a_forked_child_does_not_keep_it_when_its_parent_is_gone(self, path: Path, store: SqliteStore) -> None:
        lock_file = LockFile(path.with_name("jobs.db.lock"))
        lock_file.acquire()
        child = _forked_child()
        try:
            assert _open_files(path, child) == 0
            assert _open_files(path) >= 1
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lock_file.release()
            lock_file.close()


def _forked_child() -> int:
    """
    A child that has come to itself, and waits to be killed.
    """
    awake, told = os.pipe()
    if (child := os.fork()) == 0:
        os.write(told, b"1")
        signal.pause()
    os.close(told)
    assert os.read(awake, 1) == b"1"
    os.close(awake)
    return child


def _open_files(path: Path, process: int | None = None) -> int:
    """
    How many handles a process, this one if none is given, has on the lock file.
    """
    lock = path.with_name("jobs.db.lock").stat()
    count = 0
    for link in Path(f"/proc/{process or 'self'}/fd").iterdir():
        with suppress(FileNotFoundError):
            count += os.path.samestat(link.stat(), lock)
    return count


class TestMemory:
    def test_every_store_has_a_memory_of_its_own(self) -> None:
        with closing(SqliteSource(None).open()) as one, closing(SqliteSource(None).open()) as other:
            one.enqueue([JOB])

            assert (one.counts().hot, other.counts().hot) == (1, 0)

    @pytest.mark.case("C-065")
    def test_threads_share_it(self) -> None:
        with closing(SqliteSource(None).open()) as store:
            at_once([partial(store.enqueue, [NewJob(f"job-{n}", "t", "1")]) for n in range(8)])

            assert [counts.hot for counts in at_once([store.counts] * 8)] == [8] * 8

    def test_it_survives_a_rest(self) -> None:
        with closing(SqliteSource(None).open()) as store:
            store.enqueue([JOB])
            store.rest()

            assert store.counts().hot == 1


class TestClock:
    def test_without_another_the_databases_own_is_used(self, store: SqliteStore) -> None:
        before = datetime.now(UTC) - timedelta(milliseconds=1)
        store.enqueue([JOB])
        now = store.turn(Turn("worker-1", 1)).now
        after = datetime.now(UTC)

        job = store.find("a")
        assert job is not None
        assert before <= job.created_at <= now <= after

    def test_the_machines_clock_is_the_one_that_sqlite_reads(self) -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            before, now, after = _sqlite_seconds(connection), machine_time(), _sqlite_seconds(connection)

        assert before <= now // 1_000_000 <= after

    def test_a_transaction_that_breaks_off_leaves_no_trace_and_no_lock(self, path: Path) -> None:
        clock = _BreakingClock()
        with closing(SqliteStore(path, clock=clock.now)) as store:
            store.prepare()
            clock.is_broken = True
            with pytest.raises(RuntimeError, match="no time"):
                store.enqueue([JOB])
            clock.is_broken = False

            assert store.counts().hot == 0
            store.enqueue([JOB])
            assert store.counts().hot == 1

    def test_a_transaction_that_writes_has_the_file_to_itself_from_its_beginning(self, path: Path) -> None:
        """
        What it reads first, such as how many jobs of a limited queue run, is still so when it writes.
        """
        refusals: list[str] = []

        def now() -> datetime:
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as outsider:
                try:
                    outsider.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as error:
                    refusals.append(str(error))
            return datetime.now(UTC)

        with closing(SqliteStore(path)) as first, closing(SqliteStore(path, clock=now)) as store:
            first.prepare()
            for write in (partial(store.enqueue, [JOB]), partial(store.turn, Turn("worker-1", 1, want=1))):
                write()

        assert refusals == ["database is locked"] * 2

    def test_a_connection_that_cannot_roll_back_is_given_up(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=_Stubborn))
        clock = _BreakingClock()
        with closing(SqliteStore(path, clock=clock.now)) as store, closing(SqliteStore(path)) as other:
            store.prepare()
            clock.is_broken = True
            with pytest.raises(RuntimeError, match="no time"):
                store.enqueue([JOB])
            clock.is_broken = False

            other.enqueue([JOB])
            assert store.counts().hot == 1
            store.enqueue([NewJob("b", "t", "1")])


def _sqlite_seconds(connection: sqlite3.Connection) -> int:
    """
    Whole seconds since 1970 as SQLite tells them.
    """
    seconds: int = connection.execute("SELECT CAST(strftime('%s', 'now') AS INTEGER)").fetchone()[0]
    return seconds


class _Stubborn(sqlite3.Connection):
    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - as in sqlite3
        if sql == "ROLLBACK":
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, parameters)


class _BreakingClock(SteppedClock):
    is_broken = False

    def now(self) -> datetime:
        if self.is_broken:
            raise RuntimeError("no time")
        return super().now()


class TestStoppedWriter:
    @pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped here")
    def test_others_are_told_who_keeps_them_waiting_and_go_on_after_it(
        self, path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], cwd=ROOT, **_PIPES) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"writing\n"
            writer.send_signal(signal.SIGSTOP)
            with monkeypatch.context() as patched:
                patched.setattr(lock_file, "PATIENCE_SECONDS", 0.05)
                for write in (partial(store.enqueue, [JOB]), partial(store.beat, Beat("worker-1"))):
                    with pytest.raises(StoreUnavailableError, match=r"locked for 0.05 s.*`fuser .*jobs.db.lock`"):
                        write()
            assert store.counts().hot == 0
            writer.send_signal(signal.SIGCONT)
            writer.communicate(b"go on")

        store.enqueue([JOB])
        assert store.counts().hot == 2


_PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
_WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from chokaq_core.domain.job import NewJob
from chokaq_core.stores.sqlite import SqliteStore

def now():
    print("writing", flush=True)
    sys.stdin.read()
    return datetime.now(UTC)

SqliteStore(Path(sys.argv[1]), clock=now).enqueue([NewJob("b", "t", "1")])
"""
"""It asks for the time within its transaction."""


@pytest.mark.case("C-065")
class TestOutsideWriters:
    def test_a_store_waits_for_one_to_finish(self, path: Path, store: SqliteStore) -> None:
        with _outside_writer(path) as outsider, ThreadPoolExecutor(1) as pool:
            answer = pool.submit(store.enqueue, [JOB])
            assert not answer.done()

            outsider.execute("COMMIT")
            assert answer.result(30).items[0].job_id == "a"

    @pytest.mark.usefixtures("_is_impatient")
    def test_one_that_takes_too_long_makes_the_store_unavailable_for_that_time(self, path: Path) -> None:
        with closing(SqliteSource(path).open()) as store:
            with _outside_writer(path) as outsider:
                with pytest.raises(StoreUnavailableError, match="SQLITE_BUSY"):
                    store.enqueue([JOB])
                with pytest.raises(StoreUnavailableError, match="SQLITE_BUSY"):
                    store.beat(Beat("worker-1"))
                outsider.execute("COMMIT")

            assert store.counts().hot == 0
            store.enqueue([JOB])
            assert store.counts().hot == 1

    @pytest.mark.usefixtures("_is_impatient")
    def test_reads_never_wait_for_one(self, path: Path) -> None:
        with closing(SqliteSource(path).open()) as store:
            store.enqueue([JOB])
            with _outside_writer(path) as outsider:
                outsider.execute("DELETE FROM JobsHot")

                assert store.find("a") is not None
                assert store.counts().hot == 1
                assert store.queues()[0].pending == 1
                assert store.suspects(timedelta(minutes=1), 10).jobs == ()


@contextmanager
def _outside_writer(path: Path) -> Iterator[sqlite3.Connection]:
    """
    Someone who knows nothing of the lock file, in the middle of a transaction.
    """
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


class TestRefusals:
    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with closing(SqliteStore(tmp_path / "missing" / "jobs.db")) as store, pytest.raises(StoreRefusedError):
            store.prepare()

    def test_a_path_that_is_a_folder(self, tmp_path: Path) -> None:
        with closing(SqliteStore(tmp_path)) as store, pytest.raises(StoreRefusedError):
            store.prepare()

    def test_a_file_that_is_no_database(self, path: Path) -> None:
        path.write_bytes(b"not a database, whatever its name says\n" * 100)

        with closing(SqliteStore(path)) as store, pytest.raises(StoreRefusedError, match="SQLITE_NOTADB"):
            store.prepare()

    def test_a_database_that_was_never_prepared(self, path: Path) -> None:
        with closing(SqliteStore(path)) as store, pytest.raises(StoreRefusedError, match="no such table"):
            store.enqueue([JOB])

    @pytest.mark.case("C-065")
    def test_a_file_that_may_only_be_read(self, public_folder: Path) -> None:
        path = public_folder / "jobs.db"
        with closing(SqliteSource(path).open()) as store:
            store.enqueue([JOB])
        path.chmod(0o444)
        path.with_name("jobs.db.lock").chmod(0o666)

        with _without_privileges(), closing(SqliteStore(path)) as store:
            with pytest.raises(StoreRefusedError, match="SQLITE_READONLY"):
                store.enqueue([NewJob("b", "t", "1")])
            assert store.counts().hot == 1

    def test_a_folder_that_may_only_be_read(self, public_folder: Path) -> None:
        path = public_folder / "jobs.db"
        SqliteSource(path).open().close()
        path.with_name("jobs.db.lock").unlink()
        public_folder.chmod(0o555)

        refusal = pytest.raises(StoreRefusedError, match=r"lock file could not be used.*jobs\.db\.lock")
        with _without_privileges(), closing(SqliteStore(path)) as store, refusal:
            store.enqueue([JOB])

    def test_a_lock_that_the_file_system_does_not_give(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise portalocker.LockException("no locks here")

        monkeypatch.setattr(lock_file, "_is_locked_at_once", refuse)

        with pytest.raises(StoreRefusedError, match="lock file could not be used: no locks here"):
            store.enqueue([JOB])


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """
    A folder that users without privileges can reach and write into.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder
        folder.chmod(0o777)


@contextmanager
def _without_privileges() -> Iterator[None]:
    """
    Acts as a user whom file permissions bind, which they do not do to root.
    """
    own = os.geteuid()
    if own == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(own)


PASSING = {
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_INTERRUPT",
    "SQLITE_IOERR",
    "SQLITE_PROTOCOL",
    "SQLITE_SCHEMA",
}
LASTING = {
    "SQLITE_ERROR",
    "SQLITE_INTERNAL",
    "SQLITE_PERM",
    "SQLITE_ABORT",
    "SQLITE_READONLY",
    "SQLITE_CORRUPT",
    "SQLITE_NOTFOUND",
    "SQLITE_FULL",
    "SQLITE_CANTOPEN",
    "SQLITE_EMPTY",
    "SQLITE_TOOBIG",
    "SQLITE_CONSTRAINT",
    "SQLITE_MISMATCH",
    "SQLITE_MISUSE",
    "SQLITE_NOLFS",
    "SQLITE_AUTH",
    "SQLITE_FORMAT",
    "SQLITE_RANGE",
    "SQLITE_NOTADB",
    "SQLITE_NOTICE",
    "SQLITE_WARNING",
}


class TestErrors:
    @pytest.mark.parametrize("code", range(1, 29))
    def test_every_primary_code_is_known_to_pass_or_to_last(self, code: int) -> None:
        (name,) = [name for name in PASSING | LASTING if getattr(sqlite3, name) == code]

        assert type(_translation_of(code)) is (StoreUnavailableError if name in PASSING else StoreRefusedError)

    @pytest.mark.parametrize(
        "name,expected",
        [
            ("SQLITE_BUSY_SNAPSHOT", StoreUnavailableError),
            ("SQLITE_BUSY_RECOVERY", StoreUnavailableError),
            ("SQLITE_IOERR_READ", StoreUnavailableError),
            ("SQLITE_READONLY_DIRECTORY", StoreRefusedError),
            ("SQLITE_CANTOPEN_ISDIR", StoreRefusedError),
            ("SQLITE_CONSTRAINT_UNIQUE", StoreRefusedError),
        ],
    )
    def test_an_extended_code_counts_as_its_primary_one(self, name: str, expected: type[StoreError]) -> None:
        assert type(_translation_of(getattr(sqlite3, name))) is expected

    def test_an_error_without_a_code_lasts(self) -> None:
        error = errors.translation(sqlite3.ProgrammingError("Cannot operate on a closed database"))

        assert isinstance(error, StoreRefusedError)
        assert "Cannot operate on a closed database" in str(error)

    def test_the_text_and_the_cause_are_kept(self, path: Path) -> None:
        with (
            closing(Database(path)) as database,
            pytest.raises(StoreRefusedError) as caught,
            database.write() as transaction,
        ):
            transaction.run_script("SELECT missing")

        assert "no such column: missing" in str(caught.value)
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)

    def test_other_errors_pass_through(self, path: Path) -> None:
        with closing(Database(path)) as database, pytest.raises(ZeroDivisionError) as caught, database.write():
            raise ZeroDivisionError

        assert caught.value.__cause__ is caught.value.__context__ is None


def _translation_of(code: int) -> StoreError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = code
    told = errors.translation(error)
    assert told is not None
    return told


class TestTexts:
    def test_a_result_is_kept_whole_though_json_in_sqlite_ends_at_a_nul(self, store: SqliteStore) -> None:
        store.enqueue([JOB, NewJob("b", "t", "1")])
        first, second = store.turn(Turn("worker-1", 1, want=2)).claimed
        ends = (complete(first.lease, 1.5, "a\0b", "c\0d"), complete(second.lease, 2.5, "2"))
        store.turn(Turn("worker-1", 2, settlements=ends))

        kept = [store.find(job_id) for job_id in ("a", "b")]

        assert [(job.duration_ms, job.result, job.result_note) for job in kept if isinstance(job, ArchivedJob)] == [
            (1.5, "a\0b", "c\0d"),
            (2.5, "2", None),
        ]

    @pytest.mark.parametrize("text", ["0", "", "NULL", None])
    def test_what_is_optional_is_kept_as_it_is_and_never_taken_for_nothing(
        self, path: Path, store: SqliteStore, text: str | None
    ) -> None:
        store.enqueue([NewJob("a", "t", "1", tags=text, idempotency_key=text, trace_parent=text, created_by=text)])

        rows = _all(path, "SELECT Tags, IdempotencyKey, TraceParent, CreatedBy FROM JobsHot")
        assert rows == [(text, text, text, text)]

    def test_long_texts_are_kept_whole_beside_short_ones(self, store: SqliteStore) -> None:
        texts = {"a": "1", "b": f'"{"x" * 9_998}"', "c": f'"{"x" * 9_999}"', "d": f'"{chr(0x1F680) * 50_000}"'}
        store.enqueue([NewJob(job_id, "t", text) for job_id, text in texts.items()])
        claimed = store.turn(Turn("worker-1", 1, want=2, prefetch=2)).claimed
        again = store.turn(Turn("worker-1", 1, want=2, prefetch=2)).claimed
        store.turn(Turn("worker-1", 2, starts=tuple(job.lease for job in claimed[2:])))
        ends = tuple(complete(job.lease, 1.0, texts[job.lease.job_id]) for job in claimed)
        store.turn(Turn("worker-1", 3, settlements=ends))

        assert [(job.lease.job_id, job.payload) for job in claimed] == list(texts.items())
        assert [job.payload for job in again] == list(texts.values())
        kept = [store.find(job_id) for job_id in texts]
        assert [job.result for job in kept if isinstance(job, ArchivedJob)] == list(texts.values())


class TestMigrations:
    def test_an_empty_database_lacks_everything(self, path: Path) -> None:
        with closing(Database(path)) as empty, empty.read() as transaction:
            state = schema.state(transaction)

        assert state == SchemaState(0, schema.VERSION, schema.TABLES)
        assert not state.is_ready

    def test_every_script_is_recorded_once_however_many_prepare(self, path: Path) -> None:
        in_processes(3, "prepare", SqliteSource(path).address)
        with closing(SqliteSource(path).open()):
            rows = _all(path, "SELECT Version, Name FROM SchemaMigrations ORDER BY Version")

        assert [version for version, _ in rows] == list(range(1, schema.VERSION + 1))
        assert [name for _, name in rows][:3] == ["0001_three_pillars", "0002_hot_path_indexes", "0003_metric_buckets"]

    def test_scripts_are_numbered_without_a_gap_and_say_what_they_do(self) -> None:
        for number, script in enumerate(schema.SCRIPTS, start=1):
            assert script.name.startswith(f"{number:04}_")
            assert script.read_text(encoding="utf-8").startswith("-- ")

    def test_all_tables_that_are_asked_for_are_there(self, path: Path, store: SqliteStore) -> None:
        present = {name for (name,) in _all(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}

        assert present - {"sqlite_sequence"} == set(schema.TABLES)

    def test_an_older_database_is_brought_up_to_date_with_its_rows(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(schema, "SCRIPTS", schema.SCRIPTS[:1])
            with closing(SqliteStore(path)) as old:
                assert not old.prepare().is_ready
        _run(path, "INSERT INTO Queues (Name, IsPaused, LastUpdatedUtc) VALUES ('mail', 1, 0)")

        with closing(SqliteStore(path)) as store:
            assert store.prepare().is_ready
            assert [(row.name, row.is_paused) for row in store.queues()] == [("default", False), ("mail", True)]

    def test_a_newer_database_is_left_alone_and_will_do(self, path: Path, store: SqliteStore) -> None:
        _run(path, "INSERT INTO SchemaMigrations VALUES (99, '0099_future', 'later', 0)")

        state = store.prepare()

        assert (state.version, state.expected_version) == (99, schema.VERSION)
        assert state.is_ready
        assert len(_all(path, "SELECT * FROM SchemaMigrations")) == schema.VERSION + 1

    def test_a_script_that_fails_leaves_nothing_behind(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = path.with_name("0002_broken.sql")
        broken.write_text("-- Broken on purpose.\nCREATE TABLE Fine (Id TEXT);\nCREATE TABEL Broken (Id TEXT);\n")
        with monkeypatch.context() as patch:
            patch.setattr(schema, "SCRIPTS", (schema.SCRIPTS[0], broken))
            with closing(SqliteStore(path)) as store, pytest.raises(StoreRefusedError, match="TABEL"):
                store.prepare()
        assert _all(path, "SELECT name FROM sqlite_master") == []

        with closing(SqliteStore(path)) as store:
            assert store.prepare().is_ready


def _all(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def _run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
