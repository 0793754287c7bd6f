"""
A host whose clock is wrong: what Python code of the process reads is shifted, the database's own time is not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any, Self

SetAttribute = Callable[[Any, str, object], object]
"""`setattr`, or pytest's, which puts the old value back."""


def skew_host(by: timedelta, set_attribute: SetAttribute = setattr) -> None:
    """
    Shifts the wall clock that the project's code reads in this process; its stopwatch goes on as before.
    """
    read, read_ns = time.time, time.time_ns
    set_attribute(time, "time", lambda: read() + by.total_seconds())
    set_attribute(time, "time_ns", lambda: read_ns() + by // timedelta(microseconds=1) * 1000)
    skewed = _skewed_datetime(by)
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "chokaq_core" and vars(module).get("datetime") is datetime:
            set_attribute(module, "datetime", skewed)


def _skewed_datetime(by: timedelta) -> type[datetime]:
    class AnyDatetime(type):
        """
        What was made by the real class passes for one of these.
        """

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, datetime)

    class SkewedDatetime(datetime, metaclass=AnyDatetime):
        """
        A datetime whose `now` is off.
        """

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + by

    return SkewedDatetime
