"""
How many distinct values the tags of metrics may take.
"""

from __future__ import annotations

from chokaq_core.domain.value import Value


class MetricRules(Value):
    """
    The settings of section `Metrics`: each budget counts the distinct values that one process emits.

    Attributes:
        max_value_length: longer values are cut before they are counted.
        unknown_value: stands for a blank value.
        overflow_value: stands for every value beyond its budget.
    """

    max_queue_values: int = 100
    max_job_type_values: int = 500
    max_error_values: int = 100
    max_failure_reason_values: int = 50
    max_value_length: int = 128
    unknown_value: str = "unknown"
    overflow_value: str = "other"
