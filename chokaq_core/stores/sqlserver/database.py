"""
A SQL Server database: batches are sent to it by name, faults are translated once, and what may be repeated is.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Self

from chokaq_core.policy.sqlserver import SqlServerSettings
from chokaq_core.stores.sqlserver.batches import NO_NUMBER, Parameter, load_batches
from chokaq_core.stores.sqlserver.connecting import Connector
from chokaq_core.stores.sqlserver.errors import fault_of, store_error
from chokaq_core.stores.sqlserver.odbc import pyodbc
from chokaq_core.stores.sqlserver.pool import Pool, Row, Session
from chokaq_core.stores.sqlserver.retrying import pause_before_repeat
from chokaq_core.stores.sqlserver.rows import moment_text, span_micros
from chokaq_core.stores.sqlserver.texts import Texts

LARGEST_POOL = 16
Values = dict[str, object]
Results = list[list[Row]]
Work = Callable[[Session], Results]
MakeTexts = Callable[[Texts], Values]


class Database:
    """
    One database, spoken to over two pools: one for all, and one connection for the heartbeat alone.

    Args:
        settings: where, and how patiently.
        beat_timeout: bound on each statement and login of the heartbeat.
        clock: a time to use instead of the database's; None in production.
        connector: opens connections; None makes one from the settings.
    """

    def __init__(
        self,
        settings: SqlServerSettings,
        *,
        beat_timeout: timedelta,
        clock: Callable[[], datetime] | None = None,
        connector: Connector | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._sleep = sleep
        opener = connector if connector is not None else Connector(settings.connection)
        patience = settings.command_timeout
        beat_patience = min(beat_timeout, patience)
        self._pool = Pool(
            partial(opener.connect, settings.connection.connect_timeout, patience), LARGEST_POOL, patience
        )
        self._beat_pool = Pool(partial(opener.connect, beat_patience, beat_patience), 1, beat_patience)
        self.batches = load_batches(settings.schema_name)

    def run(self, name: str, values: Values | None = None, texts: MakeTexts | None = None) -> Results:
        """
        Sends a batch, again after faults that pass; every batch is safe to repeat.

        Args:
            name: the batch.
            values: its parameters by name.
            texts: makes further parameters, and the texts that travel beside them in parameter `texts`.

        Raises:
            StoreError: what the server or the driver said, translated.
        """
        return self.attempt(lambda session: self._send(session, name, values or {}, texts))

    def run_beat(self, name: str, values: Values, texts: MakeTexts) -> Results:
        """
        The same on the heartbeat's own connection, once: the heartbeat repeats by itself.
        """
        return self._attempt(self._beat_pool, lambda session: self._send(session, name, values, texts), repeats=False)

    def attempt(self, work: Work) -> Results:
        """
        Does work on a connection, again after faults that pass.
        """
        return self._attempt(self._pool, work, repeats=True)

    def send(self, session: Session, name: str, values: Values | None = None) -> Results:
        """
        Sends one batch of several that share a connection, such as those of a migration.
        """
        return self._send(session, name, values or {}, None)

    def at(self, clock: Callable[[], datetime] | None) -> Self:
        """
        The same database under another clock, over the same connections.
        """
        twin = copy.copy(self)
        twin._clock = clock  # noqa: SLF001 - it is one of us
        return twin

    def rest(self) -> None:
        """
        Lets go of connections; the next call opens them again.
        """
        self._pool.rest()
        self._beat_pool.rest()

    def close(self) -> None:
        """
        Closes everything.
        """
        self._pool.close()
        self._beat_pool.close()

    def _attempt(self, pool: Pool, work: Work, *, repeats: bool) -> Results:
        repetitions = 0
        while True:
            try:
                return _once(pool, work)
            except pyodbc.Error as error:
                fault = fault_of(error)
                roll = random.random()  # noqa: S311 - jitter, no secret
                pause = pause_before_repeat(fault.kind, repetitions, self.settings, roll) if repeats else None
                if pause is None:
                    raise store_error(error, fault) from error
            self._sleep(pause.total_seconds())
            repetitions += 1

    def _send(self, session: Session, name: str, values: Values, texts: MakeTexts | None) -> Results:
        batch = self.batches[name]
        if texts is not None:
            carrier = Texts(session.units)
            values = {**values, **texts(carrier), "texts": carrier.joined()}
        now = moment_text(self._clock()) if self._clock is not None else ""
        bound = [now, *(_bound(parameter, values[parameter.name]) for parameter in batch.parameters)]
        return session.run(batch, bound, [_SIZE_OF_NOW, *(_size(parameter.type) for parameter in batch.parameters)])


def _once(pool: Pool, work: Work) -> Results:
    with pool.session() as session:
        try:
            return work(session)
        except pyodbc.Error as error:
            session.is_lost = fault_of(error).is_session_lost or not _is_clean(session)
            raise


def _is_clean(session: Session) -> bool:
    """
    Makes sure that a call that lost against a rival left no transaction behind; False when that cannot be said.
    """
    try:
        session.run_text("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")
    except pyodbc.Error:
        return False
    return True


def _bound(parameter: Parameter, value: object) -> object:
    """
    The value as it travels: durations as microseconds, a stand-in for an empty one.
    """
    if value is None and parameter.is_nullable:
        return NO_NUMBER
    if isinstance(value, timedelta):
        return span_micros(value)
    if isinstance(value, datetime):
        return moment_text(value)
    return value


@cache
def _size(sql_type: str) -> tuple[int, int, int]:
    """
    How a parameter is bound.

    Columns of ASCII are sought by varchar: nvarchar, pyodbc's own choice for a str, would turn a seek into a scan.
    """
    name, _, length = sql_type.rstrip(")").partition("(")
    size = int(length) if length.isdigit() else 0
    match name:
        case "varchar":
            return (pyodbc.SQL_VARCHAR, size, 0)
        case "nvarchar":
            return (pyodbc.SQL_WVARCHAR, size, 0)
        case "datetime2":
            return _SIZE_OF_NOW
        case "bigint":
            return (pyodbc.SQL_BIGINT, 0, 0)
        case "bit":
            return (pyodbc.SQL_BIT, 0, 0)
        case _:
            return (pyodbc.SQL_INTEGER, 0, 0)


_SIZE_OF_NOW = (pyodbc.SQL_VARCHAR, 26, 0)
"""Moments travel as text of fixed form, since pyodbc loses their microseconds under a declared type."""
