"""
Lanes: one queue's jobs of one type, the unit that claims look at.
"""

from __future__ import annotations

from collections.abc import Mapping

from chokaq_core.domain.value import Value


class LaneFilter(Value):
    """
    Which lanes a claim may take from: by type where the type is named, else by queue where that is, else `others`.
    """

    types: Mapping[str, bool]
    queues: Mapping[str, bool]
    others: bool

    def lets(self, queue: str, type_key: str) -> bool:
        """
        Whether the lane of this queue and type may be claimed from.
        """
        return self.types.get(type_key, self.queues.get(queue, self.others))
