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

    def survived(self, point: KillPoint, kills: int, tally: Tally) -> None:
        """
        Adds kills at a point, and what became of the jobs around them.
        """
        self.kills[str(point)] += kills
        self.tally.update({field.name: getattr(tally, field.name) for field in fields(tally)})

    def lines(self) -> list[str]:
        """
        The report; empty when nobody was killed.
        """
        if not self.kills:
            return []
        jobs = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.tally.items())
        return [
            f"survived {self.kills.total()} kills at {len(self.kills)} points, seed {self.seed}",
            f"fewest at one point: {min(self.kills.values())}; jobs around them: {jobs}",
            *(f"{count:6} {point}" for point, count in sorted(self.kills.items()) if min(self.kills.values()) > 1),
        ]
