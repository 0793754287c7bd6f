"""
What a section measures, and whether that is good enough.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """
    A bound on a figure.

    Attributes:
        is_promised: this release keeps it, so a run that breaks it fails. Others are targets, shown and no more.
    """

    limit: float
    is_at_least: bool = False
    is_promised: bool = False

    def is_met(self, value: float) -> bool:
        """
        Whether a value keeps to the bound.
        """
        return value >= self.limit if self.is_at_least else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """
    One line of the table; `value` is None when it could not be measured, and `note` says why.
    """

    what: str
    value: float | None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    budget: Budget | None = None
    note: str = ""

    @property
    def is_met(self) -> bool | None:
        """
        Whether the budget is kept; None without one, or without a value.
        """
        if self.budget is None or self.value is None:
            return None
        return self.budget.is_met(self.value)

    @property
    def is_broken_promise(self) -> bool:
        """
        Whether a promised budget was not shown to be kept.
        """
        return self.budget is not None and self.budget.is_promised and not self.is_met


def promised(limit: float) -> Budget:
    """
    A bound from above that a run must keep.
    """
    return Budget(limit, is_promised=True)


def at_most(limit: float) -> Budget:
    """
    A target from above.
    """
    return Budget(limit)


def at_least(limit: float) -> Budget:
    """
    A target from below.
    """
    return Budget(limit, is_at_least=True)


def spread(what: str, values: Sequence[float], unit: str, budget: Budget | None = None, note: str = "") -> Figure:
    """
    The median of several runs, with the least and the greatest.
    """
    return Figure(what, statistics.median(values), unit, min(values), max(values), budget, note)


def percentile(values: Sequence[float], percent: int) -> float:
    """
    The value below which so many percent of the values lie.
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
