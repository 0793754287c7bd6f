"""
The databases that the contract suite runs on. A further store joins by one more entry in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.ports import Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract import sqlserver

Now = Callable[[], datetime]


class StoreSource(Protocol):
    """
    One database, and stores that work on it.
    """

    def open(self, now: Now | None = None, circuit_rules: CircuitRules | None = None) -> Store:
        """
        A store with its schema made ready; with `now` in place of the database's clock, and other rules for circuits.
        """

    @property
    def address(self) -> str:
        """
        What another process gives to `open_address` to work on the same database.
        """

    @property
    def has_readpast(self) -> bool:
        """
        Whether callers pass over what others have in hand, or take turns, so that none finds another's rows.
        """

    def load(self, count: int) -> int:
        """
        How many of a test's jobs or threads are put on this database: all, or a tenth, but two, where it is very slow.
        """


@dataclass(frozen=True, slots=True)
class SqliteSource:
    """
    A database in a file, or, without a path, a new one in memory for every store.
    """

    path: Path | None

    def open(self, now: Now | None = None, circuit_rules: CircuitRules | None = None) -> Store:
        """
        A store on the file, or one with a memory of its own.
        """
        store: Store = SqliteStore(self.path, clock=now, circuit_rules=circuit_rules)
        store.prepare()
        return store

    @property
    def address(self) -> str:
        """
        The file's path.
        """
        assert self.path is not None, "no other process can reach a database in memory"
        return f"sqlite:{self.path}"

    @property
    def has_readpast(self) -> bool:
        """
        One writer at a time needs none.
        """
        return True

    def load(self, count: int) -> int:
        """
        All of it.
        """
        return count


@dataclass(frozen=True, slots=True)
class StoreKind:
    """
    A kind of database; `is_shared` tells whether several stores and processes can work on one of its databases.
    """

    name: str
    is_shared: bool
    create: Callable[[Path], StoreSource]


KINDS = (
    StoreKind("sqlite-memory", is_shared=False, create=lambda _folder: SqliteSource(None)),
    StoreKind("sqlite-file", is_shared=True, create=lambda folder: SqliteSource(folder / "jobs.db")),
    StoreKind("sqlserver", is_shared=True, create=lambda _folder: sqlserver.create_source()),
)


def open_address(address: str) -> Store:
    """
    A store on the database that another process works on, its schema not looked at.
    """
    kind, _, place = address.partition(":")
    if kind == "sqlserver":
        return sqlserver.open_schema(place)
    assert kind == "sqlite", f"no kind of store answers to {kind!r}"
    store: Store = SqliteStore(Path(place))
    return store
