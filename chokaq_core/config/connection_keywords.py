"""
The keywords of connection strings, and what becomes of each.

The words are those of ADO.NET (Microsoft.Data.SqlClient) and of Microsoft's ODBC driver, synonyms included. They are
compared without blanks, underscores and letter case: `Trust Server Certificate` and `TrustServerCertificate` are one.
"""

from __future__ import annotations

from enum import StrEnum

from chokaq_core.policy.sqlserver import Authentication, Encryption


class Field(StrEnum):
    """
    The keywords that are understood here, by the name that errors use.
    """

    SERVER = "Server"
    DATABASE = "Database"
    USER = "User ID"
    PASSWORD = "Password"  # noqa: S105 - the keyword, not one of its values
    AUTHENTICATION = "Authentication"
    TRUSTED = "Trusted_Connection"
    ENCRYPT = "Encrypt"
    TRUST_CERTIFICATE = "TrustServerCertificate"
    TIMEOUT = "Connect Timeout"
    APPLICATION = "Application Name"
    DRIVER = "Driver"


FIELDS: dict[str, Field] = {
    "server": Field.SERVER,
    "datasource": Field.SERVER,
    "addr": Field.SERVER,
    "address": Field.SERVER,
    "networkaddress": Field.SERVER,
    "database": Field.DATABASE,
    "initialcatalog": Field.DATABASE,
    "userid": Field.USER,
    "uid": Field.USER,
    "user": Field.USER,
    "password": Field.PASSWORD,
    "pwd": Field.PASSWORD,
    "authentication": Field.AUTHENTICATION,
    "trustedconnection": Field.TRUSTED,
    "integratedsecurity": Field.TRUSTED,
    "encrypt": Field.ENCRYPT,
    "trustservercertificate": Field.TRUST_CERTIFICATE,
    "connecttimeout": Field.TIMEOUT,
    "connectiontimeout": Field.TIMEOUT,
    "timeout": Field.TIMEOUT,
    "applicationname": Field.APPLICATION,
    "app": Field.APPLICATION,
    "driver": Field.DRIVER,
}

PASSED_ON: dict[str, str] = {
    "multisubnetfailover": "MultiSubnetFailover",
    "hostnameincertificate": "HostnameInCertificate",
    "servercertificate": "ServerCertificate",
    "serverspn": "ServerSPN",
    "connectretrycount": "ConnectRetryCount",
    "connectretryinterval": "ConnectRetryInterval",
    "ipaddresspreference": "IpAddressPreference",
    "keepalive": "KeepAlive",
    "keepaliveinterval": "KeepAliveInterval",
    "workstationid": "WSID",
    "wsid": "WSID",
}
"""Keywords that the driver gets as they are, by ODBC's name."""

WITHOUT_EFFECT: dict[str, str] = {
    "pooling": "Pooling",
    "maxpoolsize": "Max Pool Size",
    "minpoolsize": "Min Pool Size",
    "loadbalancetimeout": "Load Balance Timeout",
    "connectionlifetime": "Connection Lifetime",
    "poolblockingperiod": "Pool Blocking Period",
    "packetsize": "Packet Size",
}
"""Keywords that are accepted with a note, because here they change nothing: the store pools its own connections."""

IGNORED = frozenset(
    {
        "persistsecurityinfo",
        "multipleactiveresultsets",
        "marsconnection",
        "enlist",
        "typesystemversion",
        "transactionbinding",
        "asynchronousprocessing",
        "async",
        "description",
        "replication",
    }
)
"""Keywords that are dropped in silence: portals and tools write them everywhere, and nothing here depends on them."""

_NAME_IT = "name Server and Database in the string itself"
_NO_ALWAYS_ENCRYPTED = "Always Encrypted is not supported"

REFUSED: dict[str, str] = {
    "dsn": _NAME_IT,
    "filedsn": _NAME_IT,
    "savefile": _NAME_IT,
    "attachdbfilename": _NAME_IT,
    "contextconnection": _NAME_IT,
    "userinstance": _NAME_IT,
    "commandtimeout": "set SqlServer.CommandTimeoutSeconds instead",
    "failoverpartner": "database mirroring is not supported; name an availability group's listener",
    "applicationintent": "ChokaQ writes with every connection; leave it out",
    "network": "only TCP is supported; write the server as tcp:host,port",
    "net": "only TCP is supported; write the server as tcp:host,port",
    "networklibrary": "only TCP is supported; write the server as tcp:host,port",
    "columnencryption": _NO_ALWAYS_ENCRYPTED,
    "columnencryptionsetting": _NO_ALWAYS_ENCRYPTED,
    "keystoreauthentication": _NO_ALWAYS_ENCRYPTED,
    "keystoreprincipalid": _NO_ALWAYS_ENCRYPTED,
    "keystoresecret": _NO_ALWAYS_ENCRYPTED,
    "enclaveattestationurl": _NO_ALWAYS_ENCRYPTED,
    "attestationprotocol": _NO_ALWAYS_ENCRYPTED,
    "language": "it changes how the server reads dates; leave it out",
    "currentlanguage": "it changes how the server reads dates; leave it out",
    "quotedid": "ChokaQ's statements need the driver's own value; leave it out",
    "ansinpw": "ChokaQ's statements need the driver's own value; leave it out",
    "autotranslate": "ChokaQ's statements need the driver's own value; leave it out",
}
"""Keywords that the drivers know and ChokaQ refuses, with the way out."""

FLAGS = {"yes": True, "true": True, "no": False, "false": False}

ENCRYPTION = {
    "yes": Encryption.YES,
    "true": Encryption.YES,
    "mandatory": Encryption.YES,
    "no": Encryption.NO,
    "false": Encryption.NO,
    "optional": Encryption.NO,
    "strict": Encryption.STRICT,
}

AUTHENTICATION = {
    "sqlpassword": Authentication.SQL_LOGIN,
    "activedirectorydefault": Authentication.ENTRA_DEFAULT,
    "activedirectorymanagedidentity": Authentication.ENTRA_MANAGED_IDENTITY,
    "activedirectorymsi": Authentication.ENTRA_MANAGED_IDENTITY,
    "activedirectoryserviceprincipal": Authentication.ENTRA_SERVICE_PRINCIPAL,
    "activedirectoryworkloadidentity": Authentication.ENTRA_WORKLOAD_IDENTITY,
}


def squashed(word: str) -> str:
    """
    A keyword or one of its fixed values as the tables here spell it.
    """
    return "".join(word.split()).replace("_", "").lower()
