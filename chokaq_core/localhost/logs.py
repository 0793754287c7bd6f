"""
What stderr looks like: time, level, logger, message, one line each; a traceback follows, indented.

Texts of strangers get there: a path that was asked for, what a remote side answered. Nothing of them can end a line, or
command the terminal that shows it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from chokaq_core.localhost.errors import HostError
from chokaq_core.telemetry.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    _ErrorInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s  %(message)s"
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_CHATTY = ("azure", "uvicorn", "asyncio")


class _OneLine(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base class's name
        return escaped(super().formatMessage(record))

    def formatException(self, ei: _ErrorInfo) -> str:  # noqa: N802 - as above
        return "\n".join(f"    {escaped(line)}" for line in super().formatException(ei).split("\n"))


def set_up_logs(environ: Mapping[str, str]) -> None:
    """
    Sends all logs to stderr from the level that LOGLEVEL names (INFO); chatty libraries speak from WARNING on.

    Raises:
        HostError: LOGLEVEL names no level.
    """
    level = environ.get("LOGLEVEL", "").strip().upper() or "INFO"
    if level not in _LEVELS:
        raise HostError(f"LOGLEVEL is '{level}': expected one of {', '.join(_LEVELS)}.")
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine(_FORMAT, datefmt="%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
