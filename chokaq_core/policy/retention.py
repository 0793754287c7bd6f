"""
How long finished work is kept.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.domain.value import Value


class RetentionRules(Value):
    """
    The settings of section `Retention`; None keeps rows for ever.

    Attributes:
        archive: age, counted from the finish, at which succeeded jobs are deleted.
        dlq: age, counted from the failure, at which jobs in the DLQ are deleted.
        metric_buckets: age at which per-second counts are deleted.
        operator_log: age at which entries of the operator log are deleted.
        batch_size: rows deleted in one transaction at most (`SqlServer.CleanupBatchSize`).
    """

    archive: timedelta | None = timedelta(days=7)
    dlq: timedelta | None = timedelta(days=30)
    metric_buckets: timedelta | None = timedelta(days=2)
    operator_log: timedelta | None = timedelta(days=90)
    batch_size: int = 1_000
