"""
Settings of the store: which one, how it is spoken to, how long it keeps what is done.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.config.connection_string import CONNECTION_STRING
from chokaq_core.config.kinds import FLAG, ZERO, count_of, duration, text, whole
from chokaq_core.config.setting import Section, Setting

SQL_SERVER = Section(
    "SqlServer",
    "The production store: SQL Server or Azure SQL.",
    (
        Setting(
            "SqlServer.ConnectionString",
            ("sqlserver.connection",),
            CONNECTION_STRING,
            None,
            purpose=(
                "Chooses SQL Server as the store and says where it is, in ADO.NET or ODBC spelling. When the setting "
                "is absent the embedded store serves, which is refused in Azure."
            ),
            change="jobs must survive, and be shared between, processes: always in production.",
        ),
        Setting(
            "SqlServer.SchemaName",
            ("sqlserver.schema_name",),
            text(r"[A-Za-z_][A-Za-z0-9_]{0,127}", "1 to 128 letters, digits and '_', the first no digit"),
            "chokaq",
            purpose="Schema that holds the tables.",
            change="several apps share a database, each with its own jobs.",
        ),
        Setting(
            "SqlServer.AutoCreateSqlTable",
            ("sqlserver.auto_create",),
            FLAG,
            default=False,
            purpose=(
                "Whether the app may create its tables and apply migrations. With false it never alters a database, "
                "and the health check says what is missing."
            ),
            change="the app's login may change the schema: on your machine, or when no pipeline applies migrations.",
        ),
        Setting(
            "SqlServer.PollingInterval",
            ("worker.polling_interval",),
            duration(),
            timedelta(seconds=1),
            purpose="Pause between the claims of a worker that lingers and found nothing.",
            change="the database shall be asked less often, or jobs start sooner while a worker lingers.",
        ),
        Setting(
            "SqlServer.NoQueuesSleepInterval",
            ("worker.no_queues_sleep_interval",),
            duration(),
            timedelta(seconds=5),
            purpose=(
                "The same pause when every queue is paused or inactive. Longer than `Functions.IdleLinger`, it ends "
                "the run."
            ),
            change="queues are paused for long and often.",
        ),
        Setting(
            "SqlServer.CommandTimeoutSeconds",
            ("sqlserver.command_timeout",),
            count_of(timedelta(seconds=1), 1, 3_600),
            timedelta(seconds=30),
            purpose="Longest time that one SQL statement may take, in seconds. It does not bound handlers.",
            change="a busy database needs longer, or a fault shall be seen sooner.",
        ),
        Setting(
            "SqlServer.CleanupBatchSize",
            ("retention.batch_size",),
            whole(1, 100_000),
            1_000,
            purpose="Rows deleted in one transaction when old jobs are cleaned up, whichever the store.",
            change="clean-up must catch up quickly, or the log and other users of the database must be spared.",
        ),
        Setting(
            "SqlServer.WorkerShutdownGracePeriod",
            ("grace.sqlserver",),
            duration(low=ZERO),
            timedelta(seconds=30),
            purpose="With SQL Server: how long running handlers may go on after a stop was asked for.",
            change="handlers need longer to come to an end, or a stop shall be quick.",
        ),
        Setting(
            "SqlServer.PrefetchedJobReleaseTimeout",
            ("worker.release_timeout",),
            duration(),
            timedelta(seconds=5),
            purpose="Bound on giving fetched jobs back at the end of a run, at a pause or at a shutdown.",
            change="the database is slow and jobs are left to recovery instead.",
        ),
        Setting(
            "SqlServer.MaxTransientRetries",
            ("sqlserver.max_transient_retries",),
            whole(0, 100),
            3,
            purpose="Repetitions of one call to the store after a deadlock, a failover or a lost connection.",
            change="such faults are frequent. Loops above a call go on by themselves, so a few are enough.",
        ),
        Setting(
            "SqlServer.TransientRetryBaseDelayMs",
            ("sqlserver.transient_retry_base_delay", "worker.retry_base_delay"),
            count_of(timedelta(milliseconds=1), 1, 60_000),
            timedelta(milliseconds=200),
            purpose="Pause before the first repetition, in milliseconds; later pauses are longer.",
            change="you change `MaxTransientRetries`.",
        ),
    ),
)

SQLITE = Section(
    "Sqlite",
    "The embedded store, for development and tests.",
    (
        Setting(
            "Sqlite.Path",
            ("sqlite_path",),
            text(
                r"(?![:])(?!file:)[^\x00]*[^\s\x00][^\x00]*",
                "the path of a file; SQLite's own names, `:memory:` and `file:`, are refused",
            ),
            None,
            purpose="File of the embedded store, relative to the working directory. Unused when SQL Server is chosen.",
            change="jobs shall survive a restart of your local process.",
            null="in memory: the jobs end with the process",
        ),
    ),
)

IN_MEMORY = Section(
    "InMemory",
    "The bound of the embedded store in memory.",
    (
        Setting(
            "InMemory.MaxCapacity",
            ("in_memory_max_capacity",),
            whole(1, 100_000_000),
            100_000,
            purpose=(
                "Jobs kept in memory; beyond it the oldest archived ones go first, then those in the DLQ, active ones "
                "never."
            ),
            change="the process has little memory, or a test needs a longer history.",
        ),
    ),
)

RETENTION = Section(
    "Retention",
    "How long finished work is kept.",
    (
        Setting(
            "Retention.Archive",
            ("retention.archive",),
            duration(),
            timedelta(days=7),
            purpose="Age at which succeeded jobs are deleted.",
            change="you look further back, or the table grows too large.",
            null="keep for ever",
        ),
        Setting(
            "Retention.DLQ",
            ("retention.dlq",),
            duration(),
            timedelta(days=30),
            purpose="Age at which jobs in the DLQ are deleted, looked at or not.",
            change="nobody looks at the DLQ for weeks, or its payloads must not be kept that long.",
            null="keep for ever",
        ),
        Setting(
            "Retention.MetricBuckets",
            ("retention.metric_buckets",),
            duration(),
            timedelta(days=2),
            purpose="Age at which the per-second counts behind throughput and failure rates are deleted.",
            change="the Deck shall chart a longer past.",
            null="keep for ever",
        ),
        Setting(
            "Retention.OperatorLog",
            ("retention.operator_log",),
            duration(),
            timedelta(days=90),
            purpose="Age at which entries of the log of operators' commands are deleted.",
            change="an audit asks for a longer, or a shorter, memory.",
            null="keep for ever",
        ),
    ),
)

STORING = (SQL_SERVER, SQLITE, IN_MEMORY, RETENTION)
