"""
What stderr looks like: time, level, logger, message, one line each.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from chokaq_core.localhost.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s  %(message)s"
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_CHATTY = ("azure", "uvicorn", "asyncio")


def set_up_logs(environ: Mapping[str, str]) -> None:
    """
    Sends all logs to stderr from the level that LOGLEVEL names (INFO); chatty libraries speak from WARNING on.

    Raises:
        HostError: LOGLEVEL names no level.
    """
    level = environ.get("LOGLEVEL", "").strip().upper() or "INFO"
    if level not in _LEVELS:
        raise HostError(f"LOGLEVEL is '{level}': expected one of {', '.join(_LEVELS)}.")
    logging.basicConfig(level=level, format=_FORMAT, datefmt="%H:%M:%S", force=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
