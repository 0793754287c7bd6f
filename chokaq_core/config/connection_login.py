"""
From the keywords of a connection string to a connection: where, as whom, how protected.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.config.connection_keywords import AUTHENTICATION, ENCRYPTION, FLAGS, Field, squashed
from chokaq_core.domain.secret import Secret
from chokaq_core.policy.sqlserver import Authentication, Encryption, SqlServerConnection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_NAME_CHARACTERS = 128

# Kept as text: `re` compiles a pattern at its first use, and most starts use none of these.
_SECONDS = r"[0-9]{1,4}"
_MAX_TIMEOUT_SECONDS = 300
_PORT = r"[0-9]{1,5}"
_MAX_PORT = 65_535
_HOST = r"[^\s;={}]+"
_HOST_WITH_COLON_PORT = r"[^:]+:[0-9]+"
_PRINCIPAL = r"[^@\s]+@[^@\s]+"

_CHOICES = (
    "Active Directory Default, Active Directory Managed Identity, Active Directory Service Principal, "
    "Active Directory Workload Identity or Sql Password"
)


def connection_of(
    fields: Mapping[Field, str], further: tuple[tuple[str, str], ...], notes: tuple[str, ...]
) -> tuple[SqlServerConnection | None, tuple[str, ...]]:
    """
    The connection, or None with the faults that stand in its way.
    """
    faults = tuple(_faults(fields))
    if faults:
        return None, faults
    host, port = _address(fields[Field.SERVER])
    password = fields.get(Field.PASSWORD)
    connection = SqlServerConnection(
        server=host,
        port=int(port) if port is not None else None,
        database=fields[Field.DATABASE],
        authentication=_authentication(fields),
        user=fields.get(Field.USER) or None,
        password=Secret(password) if password else None,
        encrypt=ENCRYPTION[_word(fields, Field.ENCRYPT)] if Field.ENCRYPT in fields else Encryption.YES,
        trust_server_certificate=_is_on(fields, Field.TRUST_CERTIFICATE),
        connect_timeout=timedelta(seconds=int(fields.get(Field.TIMEOUT, "30"))),
        application_name=fields.get(Field.APPLICATION) or "ChokaQ",
        driver=fields.get(Field.DRIVER) or None,
        further=further,
        notes=notes,
    )
    return connection, ()


def _faults(fields: Mapping[Field, str]) -> Iterator[str]:
    yield from _server_faults(fields.get(Field.SERVER, ""))
    yield from _name_faults(fields)
    yield from _choice_faults(fields)
    yield from _login_faults(fields)


def _server_faults(server: str) -> Iterator[str]:
    host, port = _address(server)
    if not host:
        yield "Server is missing; write Server=tcp:host,1433"
    elif server.lower().startswith(("np:", "lpc:", "admin:")):
        yield "Server must be reached over TCP; write Server=tcp:host,1433"
    elif re.fullmatch(_HOST_WITH_COLON_PORT, host):
        yield "Server takes its port after a comma, not a colon; write Server=tcp:host,1433"
    elif re.fullmatch(_HOST, host) is None:
        yield "Server holds a blank, or another character that no host's name has"
    elif port is not None and not (re.fullmatch(_PORT, port) and 1 <= int(port) <= _MAX_PORT):
        yield f"Server needs a port from 1 to {_MAX_PORT} after its comma"


def _address(server: str) -> tuple[str, str | None]:
    """
    Host, with its instance, and the port as text.
    """
    bare = server[4:] if server[:4].lower() == "tcp:" else server
    host, comma, port = bare.partition(",")
    return host.strip(), port.strip() if comma else None


def _name_faults(fields: Mapping[Field, str]) -> Iterator[str]:
    if not fields.get(Field.DATABASE):
        yield "Database is missing; name the database that holds, or shall hold, the jobs"
    for name in (Field.DATABASE, Field.USER, Field.APPLICATION):
        if len(fields.get(name, "")) > MAX_NAME_CHARACTERS:
            yield f"{name} must be at most {MAX_NAME_CHARACTERS} characters"


def _choice_faults(fields: Mapping[Field, str]) -> Iterator[str]:
    if Field.ENCRYPT in fields and _word(fields, Field.ENCRYPT) not in ENCRYPTION:
        yield "Encrypt must be yes, no, true, false, mandatory, optional or strict"
    if Field.TRUST_CERTIFICATE in fields and _word(fields, Field.TRUST_CERTIFICATE) not in FLAGS:
        yield "TrustServerCertificate must be yes, no, true or false"
    if Field.TRUSTED in fields and _word(fields, Field.TRUSTED) not in {*FLAGS, "sspi"}:
        yield "Trusted_Connection must be yes, no, true, false or SSPI"
    if Field.TIMEOUT in fields and not _is_timeout(fields[Field.TIMEOUT]):
        yield f"Connect Timeout must be a whole number of seconds from 1 to {_MAX_TIMEOUT_SECONDS}"


def _login_faults(fields: Mapping[Field, str]) -> Iterator[str]:
    has_user, has_password = bool(fields.get(Field.USER)), bool(fields.get(Field.PASSWORD))
    if _is_on(fields, Field.TRUSTED):
        if has_user or has_password or fields.get(Field.AUTHENTICATION):
            yield "Trusted_Connection stands beside another login; keep one of them"
        return
    if fields.get(Field.AUTHENTICATION) and _word(fields, Field.AUTHENTICATION) not in AUTHENTICATION:
        yield f"Authentication must be {_CHOICES}; other ways need a person at a keyboard or an old protocol"
        return
    authentication = _authentication(fields)
    if authentication in (Authentication.SQL_LOGIN, Authentication.ENTRA_SERVICE_PRINCIPAL):
        if not (has_user and has_password):
            yield (
                "User ID and Password must both be given; without a password use Authentication=Active Directory "
                "Default or Trusted_Connection=yes"
            )
        elif authentication is Authentication.ENTRA_SERVICE_PRINCIPAL and not re.fullmatch(
            _PRINCIPAL, fields[Field.USER]
        ):
            yield "User ID of a service principal must name its tenant; write User ID=<client id>@<tenant id>"
    elif has_password:
        yield "Password does not go with this Authentication, which logs in with a token; remove it"


def _authentication(fields: Mapping[Field, str]) -> Authentication:
    if _is_on(fields, Field.TRUSTED):
        return Authentication.INTEGRATED
    return AUTHENTICATION.get(_word(fields, Field.AUTHENTICATION), Authentication.SQL_LOGIN)


def _is_on(fields: Mapping[Field, str], name: Field) -> bool:
    word = _word(fields, name)
    return word == "sspi" or FLAGS.get(word, False)


def _is_timeout(text: str) -> bool:
    return re.fullmatch(_SECONDS, text) is not None and 1 <= int(text) <= _MAX_TIMEOUT_SECONDS


def _word(fields: Mapping[Field, str], name: Field) -> str:
    return squashed(fields.get(name, ""))
