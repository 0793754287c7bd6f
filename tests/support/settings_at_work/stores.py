"""
Settings of the stores, and of what they forget.
"""

from __future__ import annotations

import re
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest import mock

from chokaq_core.config import Settings
from chokaq_core.contracts import Profile
from chokaq_core.domain.errors import StoreRefusedError
from chokaq_core.engine.scans import Maintenance
from chokaq_core.hosting.stores import make_ready, open_store
from chokaq_core.stores.sqlite import SqliteStore
from chokaq_core.stores.sqlserver import SqlServerStore
from chokaq_core.stores.sqlserver.database import Database
from chokaq_core.stores.sqlserver.errors import FaultKind
from chokaq_core.stores.sqlserver.retrying import pause_before_repeat
from tests.support.engine import RecordedEvents
from tests.support.settings_at_work.trial import (
    CONNECTION,
    DAY,
    MINUTE,
    ON_SQL_SERVER,
    SECOND,
    Note,
    Row,
    Trial,
    by,
    running,
)


def chosen_store(settings: Settings) -> type:
    with closing(open_store(settings, RecordedEvents())) as store:
        return type(store)


def is_a_file_made(settings: Settings) -> bool:
    with closing(open_store(settings, RecordedEvents())) as store:
        store.prepare()
    return Path("jobs.db").exists()


def jobs_kept_of_thirty(trial: Trial) -> int:
    profile = Profile("notes")

    @profile.handler("note.v1")
    def work(job: Note) -> None: ...

    with running(trial, profile) as core:
        for _ in range(30):
            core.runtime().producer.enqueue(Note())
        core.runtime().engine.attend()
        return core.runtime().store.counts().archive


def limits_of_reports(settings: Settings) -> tuple[int | None, timedelta | None] | None:
    """
    The limits that the row of queue `reports` starts with; None when it has no row.
    """
    with closing(open_store(settings, RecordedEvents())) as store:
        make_ready(store, settings, mock.Mock())
        return next(((q.max_workers, q.zombie_timeout) for q in store.queues() if q.name == "reports"), None)


def schemas_of_statements(trial: Trial) -> set[str]:
    batches = Database(trial.sqlserver, beat_timeout=SECOND).batches.values()
    return {schema for batch in batches for schema in re.findall(r"\[(\w+)\]\.", batch.text)}


def is_an_empty_database_migrated(trial: Trial) -> bool:
    database = mock.Mock(settings=trial.sqlserver)
    database.run.return_value = [[(0,)], []]
    SqlServerStore(trial.sqlserver, database=database).prepare()
    called: bool = database.attempt.called
    return called


def time_of_a_command(trial: Trial) -> timedelta:
    """
    How long a command may take on a connection that is being opened.
    """
    connector = mock.Mock()
    connector.connect.side_effect = StoreRefusedError("seen enough")
    with suppress(StoreRefusedError):
        Database(trial.sqlserver, beat_timeout=SECOND, connector=connector).run("schema_state", {"schema_name": "x"})
    span: timedelta = connector.connect.call_args.args[1]
    return span


def milliseconds_before_a_repeat(trial: Trial) -> float | None:
    pause = pause_before_repeat(FaultKind.BUSY, 0, trial.sqlserver, 0.5)
    return None if pause is None else pause.total_seconds() * 1000


STORES = (
    Row("SqlServer.ConnectionString", CONNECTION, by(chosen_store), SqliteStore, SqlServerStore),
    Row("SqlServer.SchemaName", "billing", schemas_of_statements, {"chokaq"}, {"billing"}, ON_SQL_SERVER),
    Row("SqlServer.AutoCreateSqlTable", "true", is_an_empty_database_migrated, False, True, ON_SQL_SERVER),
    Row("SqlServer.CommandTimeoutSeconds", "45", time_of_a_command, 30 * SECOND, 45 * SECOND, ON_SQL_SERVER),
    Row("SqlServer.MaxTransientRetries", "0", milliseconds_before_a_repeat, 200.0, None, ON_SQL_SERVER),
    Row("SqlServer.TransientRetryBaseDelayMs", "350", milliseconds_before_a_repeat, 200.0, 350.0, ON_SQL_SERVER),
    Row("Sqlite.Path", "jobs.db", by(is_a_file_made), False, True),
    Row("InMemory.MaxCapacity", "20", jobs_kept_of_thirty, 30, 20),
    Row("Queues.reports.MaxWorkers", "4", by(limits_of_reports), None, (4, None)),
    Row("Queues.reports.ZombieTimeoutSeconds", "300", by(limits_of_reports), None, (None, 5 * MINUTE)),
)


# Clean-up


def swept(settings: Settings, step: str, call: int = 0) -> tuple[timedelta, int]:
    """
    The age and the size of a batch that the maintenance asks the store for.
    """
    store = mock.Mock()
    for name in ("prune_lanes", "fold_counters", "prune_keys", "prune_operator_log", "prune_buckets", "purge_expired"):
        getattr(store, name).return_value = 0
    Maintenance(store, settings.retention).run()
    age, most = getattr(store, step).call_args_list[call].args[-2:]
    return age, most


swept_dlq = partial(swept, step="purge_expired")
swept_archive = partial(swept, step="purge_expired", call=1)
swept_buckets = partial(swept, step="prune_buckets")
swept_log = partial(swept, step="prune_operator_log")
CLEAN_UP = (
    Row("Retention.DLQ", "90.00:00:00", by(swept_dlq), (30 * DAY, 1000), (90 * DAY, 1000)),
    Row("Retention.Archive", "1.00:00:00", by(swept_archive), (7 * DAY, 1000), (DAY, 1000)),
    Row("Retention.MetricBuckets", "12:00:00", by(swept_buckets), (2 * DAY, 1000), (DAY / 2, 1000)),
    Row("Retention.OperatorLog", "365.00:00:00", by(swept_log), (90 * DAY, 1000), (365 * DAY, 1000)),
    Row("SqlServer.CleanupBatchSize", "500", by(swept_dlq), (30 * DAY, 1000), (30 * DAY, 500)),
)
