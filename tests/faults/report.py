"""
How many of what were survived, for the end of a run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

from tests.faults.kill_points import KillPoint
from tests.faults.reckoning import Tally


@dataclass(slots=True)
class Report:
    """
    Kills that were survived, by step; the seed repeats a run.
    """

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    tally: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)

    def survived(self, point: KillPoint, kills: int, tally: Tally) -> None:
        """
        Adds kills at a point, and what became of the jobs around them.
        """
        self.kills[str(point)] += kills
        self.tally.update({field.name: getattr(tally, field.name) for field in fields(tally)})

    def met(self, what: str, count: int = 1) -> None:
        """
        Adds faults of another kind.
        """
        self.others[what] += count

    def lines(self) -> list[str]:
        """
        The report; empty when nobody was killed.
        """
        lines = [f"seed {self.seed}"] if self.kills or self.others else []
        lines += [f"{count:6} {what}" for what, count in sorted(self.others.items())]
        return [*lines, *self._of_kills()] if self.kills else lines

    def _of_kills(self) -> list[str]:
        jobs = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.tally.items())
        least = min(self.kills.values())
        each = [f"{count:6} {point}" for point, count in sorted(self.kills.items())] if least > 1 else []
        return [
            f"{self.kills.total():6} kills at {len(self.kills)} points, at least {least} at each",
            f"       jobs around them: {jobs}",
            *each,
        ]
