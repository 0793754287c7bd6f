"""
The embedded store: SQLite in memory or on a file. Newcomers, tests and local development run on it.
"""

from __future__ import annotations

from chokaq_core.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
