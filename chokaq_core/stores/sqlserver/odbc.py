"""
pyodbc, with a clear word where it cannot be loaded.
"""

from __future__ import annotations

from chokaq_core.domain.errors import StoreRefusedError

try:
    import pyodbc
except ImportError as error:
    raise StoreRefusedError(
        f"pyodbc cannot be loaded ({error}); it needs the ODBC driver manager (on Debian and Ubuntu: unixodbc)"
    ) from error

# The driver manager's own pool would hand out sessions with another isolation level, or log in with a stale token.
# It is read at the process's first connection, so set before any.
pyodbc.pooling = False

__all__ = ["pyodbc"]
