"""
What SQL Server, its driver and the network say, as the store's own errors.

One table; numbers and SQLSTATEs decide, never the text.

Sources: sql-docs "Troubleshoot transient connection errors in SQL Database", the list that Entity Framework Core
retries, and the ODBC SQLSTATEs of Microsoft's driver.
"""

from __future__ import annotations

import re
from enum import StrEnum

from chokaq_core.domain.errors import StoreError, StoreRefusedError, StoreUnavailableError
from chokaq_core.domain.value import Value


class FaultKind(StrEnum):
    """
    What to do about a fault: repeat at once, repeat with patience, or call a person.
    """

    BUSY = "busy"
    AWAY = "away"
    REFUSED = "refused"


class Fault(Value):
    """
    What one failed call came to.

    Attributes:
        meaning: what it means, for the operator.
        is_session_lost: whether the connection cannot be trusted any more.
    """

    kind: FaultKind
    meaning: str
    is_session_lost: bool = True


def _busy(meaning: str) -> Fault:
    return Fault(FaultKind.BUSY, meaning, is_session_lost=False)


def _away(meaning: str) -> Fault:
    return Fault(FaultKind.AWAY, meaning)


def _refused(meaning: str) -> Fault:
    return Fault(FaultKind.REFUSED, meaning)


NUMBERS: dict[int, Fault] = {
    # Rivals on the same rows. The whole call is repeated, and finds what the winner wrote.
    1205: _busy("chosen as deadlock victim"),
    1222: _busy("a lock was not granted in time"),
    2601: _busy("another caller wrote the same row first"),
    2627: _busy("another caller wrote the same row first"),
    3960: _busy("a row changed under snapshot isolation"),
    41301: _busy("a row changed under optimistic concurrency"),
    41302: _busy("a row changed under optimistic concurrency"),
    41305: _busy("a row changed under optimistic concurrency"),
    41325: _busy("a row changed under optimistic concurrency"),
    41839: _busy("a transaction that this one depends on did not commit"),
    # The server is short of something for the moment.
    601: _busy("a scan met rows that were being moved"),
    615: _away("the database's id changed while it moved"),
    701: _away("the server is short of memory"),
    1204: _away("the server is out of locks"),
    1221: _away("the server is out of locks"),
    8645: _away("memory for the query was not granted in time"),
    8651: _away("memory for the query was not granted"),
    10928: _away("the database has reached its limit of workers or sessions"),
    10929: _away("the server is too busy to give the database more"),
    10936: _away("the elastic pool has reached its limit of requests"),
    40501: _away("the service is busy and asks for ten seconds of patience"),
    49918: _away("the server is short of resources for the request"),
    49919: _away("the server is short of resources for creations and updates"),
    49920: _away("the server is short of resources for operations of this subscription"),
    # The database moves, starts, resumes or fails over.
    921: _away("the database has not been recovered yet"),
    922: _away("the database is being recovered"),
    927: _away("the database is being restored"),
    983: _away("the availability replica is not ready"),
    3935: _away("the transaction was forced to end"),
    4060: _away("the database cannot be opened: moving, resuming, or its name or the login's access is wrong"),
    4221: _away("a readable secondary waits for versions of rows"),
    9001: _away("the database's log is not available"),
    17142: _away("the server is paused"),
    17197: _away("the login was not answered in time"),
    18401: _away("the server is in script upgrade mode"),
    40143: _away("the service could not process the request"),
    40166: _away("the service could not process the request"),
    40197: _away("the service met an error, such as a failover or an upgrade"),
    40540: _away("the service could not process the request"),
    40613: _away("the database is not available: failing over, or resuming from a pause"),
    42108: _away("the dedicated pool is not online"),
    42109: _away("the serverless database is resuming"),
    # The connection was cut or never came up.
    20: _away("the server does not support the encryption asked for, or a gateway cut the connection"),
    64: _away("the connection was cut during login"),
    121: _away("the connection timed out"),
    233: _away("the connection was closed by the server"),
    997: _away("the connection was cut"),
    10053: _away("the connection was aborted"),
    10054: _away("the connection was reset"),
    10060: _away("the server does not answer"),
    10061: _away("the server refuses connections"),
    11001: _away("the server's name is not known"),
    17830: _away("the login was not completed in time"),
    # A person is needed.
    208: _refused("a table is missing: apply the migrations, or set SqlServer.AutoCreateSqlTable"),
    207: _refused("a column is missing: the schema is older than the code"),
    229: _refused("permission is missing: run permissions.sql and add the login to its role"),
    230: _refused("permission on a column is missing: run permissions.sql"),
    262: _refused("permission to create tables is missing: apply the migrations with another login"),
    300: _refused("permission on the server is missing"),
    916: _refused("the login has no user in the database"),
    1105: _refused("the database is full: give it more room"),
    2760: _refused("the schema is missing or may not be used"),
    3906: _refused("the database is read-only"),
    3908: _refused("the database is in emergency mode or damaged"),
    9002: _refused("the database's log is full"),
    15247: _refused("permission is missing"),
    15151: _refused("the object is missing or permission for it is"),
    18452: _refused("the login is from an untrusted domain"),
    18456: _refused("the login failed: look at user, password, or the identity's user in the database"),
    18470: _refused("the login is disabled"),
    18486: _refused("the login is locked"),
    18487: _refused("the login's password has expired"),
    18488: _refused("the login's password must be changed"),
    40532: _refused("the login failed: the server does not know it"),
    40544: _refused("the database has reached its size quota"),
    40549: _refused("the transaction ran too long and was ended"),
    40615: _refused("the server's firewall does not let this address in"),
    40914: _refused("the server's network rules do not let this address in"),
    47073: _refused("the server allows no connections from public networks"),
}
"""Native error numbers of SQL Server and Azure SQL."""

SQLSTATES: dict[str, Fault] = {
    "40001": _busy("chosen as deadlock victim"),
    "08001": _away("the server could not be reached, or its certificate was not accepted"),
    "08003": _away("the connection is not open"),
    "08004": _away("the server rejected the connection"),
    "08007": _away("the connection was cut within a transaction"),
    "08S01": _away("the connection was cut"),
    "HYT00": _away("no answer in time"),
    "HYT01": _away("no connection in time"),
    "HY008": _away("the call was ended"),
    "IMC01": _away("the connection broke and could not be restored"),
    "IMC02": _away("the connection broke and could not be restored"),
    "IMC03": _away("the connection broke and could not be restored"),
    "IMC04": _away("the connection broke and could not be restored"),
    "IMC05": _away("the connection broke and could not be restored"),
    "IMC06": _away("the connection broke and could not be restored"),
    "IM002": _refused("the ODBC driver is not installed"),
    "IM003": _refused("the ODBC driver could not be loaded"),
    "28000": _refused("the login failed"),
    "42S02": _refused("a table is missing: apply the migrations, or set SqlServer.AutoCreateSqlTable"),
    "42S22": _refused("a column is missing: the schema is older than the code"),
    "23000": _busy("another caller wrote the same row first"),
}
"""ODBC's SQLSTATEs, for errors whose number says nothing."""

CONNECTION_LOST = "08"
"""Class of SQLSTATEs that say that the connection is gone."""

GENERAL = "HY000"
"""SQLSTATE that says nothing; without a number of the server it is the driver's own."""

_NUMBER = re.compile(r"\((-?\d+)\)")
_UNKNOWN = _refused("the server refused")


def fault_of(error: Exception) -> Fault:
    """
    What a driver's error means. pyodbc puts SQLSTATE first, then text with the native number in brackets.
    """
    state, numbers = state_of(error), numbers_of(error)
    known = next((NUMBERS[number] for number in numbers if number in NUMBERS), None)
    if known is not None:
        return known
    if state in SQLSTATES:
        return SQLSTATES[state]
    if state == GENERAL and not any(numbers):
        return _away("the driver met an answer that it does not understand")
    return _away("the connection was cut") if state.startswith(CONNECTION_LOST) else _UNKNOWN


def state_of(error: Exception) -> str:
    """
    The SQLSTATE, or an empty text where there is none.
    """
    first = error.args[0] if error.args else ""
    return first if isinstance(first, str) else ""


def numbers_of(error: Exception) -> list[int]:
    """
    Native error numbers in the order of the messages.
    """
    text = error.args[1] if len(error.args) > 1 and isinstance(error.args[1], str) else ""
    return [int(number) for number in _NUMBER.findall(text)]


def store_error(error: Exception, fault: Fault) -> StoreError:
    """
    The store's own error for a driver's error. The driver's text names servers, so only its codes are repeated.
    """
    numbers = ", ".join(str(number) for number in dict.fromkeys(numbers_of(error)) if number) or "none"
    text = f"SQL Server: {fault.meaning} (SQLSTATE {state_of(error) or 'none'}, error {numbers})"
    return StoreRefusedError(text) if fault.kind is FaultKind.REFUSED else StoreUnavailableError(text)
