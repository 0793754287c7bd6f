"""
What SQLite says, as the store's own errors. One table; the code of an error decides, never its text.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from portalocker.exceptions import BaseLockException

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@contextmanager
def translated() -> Iterator[None]:
    """
    Turns SQLite's errors inside into StoreUnavailableError or StoreRefusedError.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if code is not None and code & _PRIMARY in PASSING_CODES:
            msg = f"the embedded database is busy or did not answer ({name}): {error}"
            raise StoreUnavailableError(msg) from error
        msg = f"the embedded database refused ({name}): {error}"
        raise StoreRefusedError(msg) from error
    except (OSError, BaseLockException) as error:
        msg = f"the embedded database's lock file could not be used: {error}"
        raise StoreRefusedError(msg) from error
