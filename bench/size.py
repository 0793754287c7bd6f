"""
How large a run is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """
    The full run, or a quick one whose figures are rougher.
    """

    is_quick: bool = False

    def of(self, full: int, quick: int) -> int:
        """
        The number that belongs to this size.
        """
        return quick if self.is_quick else full
