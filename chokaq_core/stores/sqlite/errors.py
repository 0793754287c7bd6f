"""
What SQLite says, as the store's own errors. One table; the code of an error decides, never its text.
"""

from __future__ import annotations

import sqlite3

from portalocker.exceptions import BaseLockException

from chokaq_core.domain.errors import StoreError, StoreRefusedError, StoreUnavailableError

PASSING_CODES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_SCHEMA,
    }
)
"""Primary result codes that may pass by themselves (https://www.sqlite.org/rescode.html). All others need a person."""

_PRIMARY = 0xFF


def translation(error: BaseException) -> StoreError | None:
    """
    What SQLite or the lock file said, as one of the store's own errors; None for anything else.
    """
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if code is not None and code & _PRIMARY in PASSING_CODES:
            return StoreUnavailableError(f"the embedded database is busy or did not answer ({name}): {error}")
        return StoreRefusedError(f"the embedded database refused ({name}): {error}")
    if isinstance(error, (OSError, BaseLockException)):
        return StoreRefusedError(f"the embedded database's lock file could not be used: {error}")
    return None
