"""
How long the idempotency middleware remembers what ran.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class IdempotencyRules:
    """
    The settings of section `Idempotency`.

    Attributes:
        in_progress_ttl: how long a running job holds its key before another may claim it.
        default_result_ttl: how long a result is remembered when the job does not say; None means for ever.
        min_result_ttl: no job may ask for less; None sets no bound.
        max_result_ttl: no job may ask for more; None sets no bound.
    """

    in_progress_ttl: timedelta = timedelta(minutes=30)
    default_result_ttl: timedelta | None = None
    min_result_ttl: timedelta | None = None
    max_result_ttl: timedelta | None = None
