"""
Values of metric tags, within their budgets.

A tag that holds tenant names or error texts makes thousands of time series. Each family of tags admits so many distinct
values a process, first come; later ones are counted together under the overflow value. So memory is bounded too.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chokaq_core.policy.error_text import storable

if TYPE_CHECKING:
    from chokaq_core.policy.metric_tags import MetricRules

MAX_WORD_VALUES = 32
"""Budget of a tag whose values are words of ours, such as a transition; no setting, since it is never reached."""
MAX_ATTEMPT = 10


class TagValues:
    """
    The values that one family of tags may take. Safe to use from any thread.
    """

    def __init__(self, budget: int, rules: MetricRules) -> None:
        self._budget = budget
        self._rules = rules
        self._admitted: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, value: object) -> str:
        """
        The value to report: trimmed, or the unknown value for a blank one, or the overflow value beyond the budget.
        """
        known = self._admitted.get(value) if type(value) is str else None
        return known if known is not None else self._admit(_trimmed(value, self._rules.max_value_length))

    def _admit(self, value: str) -> str:
        if not value:
            return self._rules.unknown_value
        if value in {self._rules.unknown_value, self._rules.overflow_value}:
            return value
        with self._lock:
            if value not in self._admitted and len(self._admitted) >= self._budget:
                return self._rules.overflow_value
            return self._admitted.setdefault(value, value)


class Tags:
    """
    All families of tags of one process.
    """

    def __init__(self, rules: MetricRules) -> None:
        self._errors = TagValues(rules.max_error_values, rules)
        self._unknown = rules.unknown_value
        self.queue = TagValues(rules.max_queue_values, rules).of
        self.type = TagValues(rules.max_job_type_values, rules).of
        self.reason = TagValues(rules.max_failure_reason_values, rules).of
        self.transition = TagValues(MAX_WORD_VALUES, rules).of
        self.state = TagValues(MAX_WORD_VALUES, rules).of
        self.change = TagValues(MAX_WORD_VALUES, rules).of
        self.claim = TagValues(MAX_WORD_VALUES, rules).of
        self.timer = TagValues(MAX_WORD_VALUES, rules).of

    def error(self, error_type: object) -> str:
        """
        The short name of an error's class: no module, no enclosing function.
        """
        return self._errors.of(error_type.rpartition(".")[2] if type(error_type) is str else error_type)

    def attempt(self, number: int | None) -> str:
        """
        The number of an attempt; from the tenth on they are counted together.
        """
        if number is None:
            return self._unknown
        return str(number) if number < MAX_ATTEMPT else f"{MAX_ATTEMPT}+"


def _trimmed(value: object, limit: int) -> str:
    """
    The value as text that every exporter takes, without blanks around it, cut to the limit.
    """
    if value is None:
        return ""
    try:
        text = str.__str__(str(value))
    except BaseException:  # noqa: BLE001 - a tag must never end the thread that counts
        return ""
    return storable(text[: 2 * limit].strip()[:limit]).strip()
