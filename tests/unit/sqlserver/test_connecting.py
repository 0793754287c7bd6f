"""
The connection string for the driver, and the session's settings.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.secret import Secret
from chokaq_core.domain.value import replace
from chokaq_core.policy.sqlserver import Authentication, Encryption, SqlServerConnection
from chokaq_core.stores.sqlserver.connecting import SETTINGS, odbc_string, whole_seconds
from chokaq_core.stores.sqlserver.odbc import pyodbc

CONNECTION = SqlServerConnection(
    server="s.database.windows.net",
    port=1433,
    database="jobs",
    authentication=Authentication.SQL_LOGIN,
    user="app",
    password=Secret("pa}ss;wo{rd='"),
)
TOKENS = [a for a in Authentication if a.needs_token]


def test_every_value_stands_in_braces() -> None:
    assert odbc_string(CONNECTION, "ODBC Driver 18 for SQL Server") == (
        "Driver={ODBC Driver 18 for SQL Server};Server={tcp:s.database.windows.net,1433};Database={jobs};Encrypt={yes};"
        "TrustServerCertificate={no};APP={ChokaQ};ConnectRetryCount={0};UID={app};PWD={pa}}ss;wo{rd='}"
    )


def test_a_named_instance_has_no_port() -> None:
    local = replace(CONNECTION, server="host\\sql1", port=None, encrypt=Encryption.NO, trust_server_certificate=True)

    text = odbc_string(local, "d")

    assert "Server={tcp:host\\sql1};" in text
    assert "Encrypt={no};TrustServerCertificate={yes};" in text


def test_keywords_that_are_passed_on_win() -> None:
    text = odbc_string(replace(CONNECTION, further=(("MultiSubnetFailover", "yes"), ("ConnectRetryCount", "3"))), "d")

    assert "ConnectRetryCount={3};MultiSubnetFailover={yes}" in text


@pytest.mark.parametrize("authentication", TOKENS)
def test_beside_a_token_no_login_is_named(authentication: Authentication) -> None:
    text = odbc_string(replace(CONNECTION, authentication=authentication), "d")

    assert [word for word in ("UID", "PWD", "Authentication", "Trusted_Connection") if word in text] == []


def test_the_processs_own_identity_logs_in_without_a_password() -> None:
    text = odbc_string(replace(CONNECTION, authentication=Authentication.INTEGRATED), "d")

    assert text.endswith("Trusted_Connection={yes}")
    assert "PWD" not in text


@pytest.mark.parametrize(
    "span,expected",
    [(timedelta(0), 1), (timedelta(milliseconds=1), 1), (timedelta(seconds=1), 1), (timedelta(seconds=1.5), 2)],
)
def test_timeouts_are_whole_seconds_and_never_for_ever(span: timedelta, expected: int) -> None:
    assert whole_seconds(span) == expected


@pytest.mark.case("C-008")
def test_a_session_rolls_back_on_any_error_and_reads_what_is_committed() -> None:
    lines = SETTINGS.format(lock_timeout=15_000).strip().splitlines()

    assert lines[:4] == [
        "SET NOCOUNT ON;",
        "SET XACT_ABORT ON;",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;",
        "SET LOCK_TIMEOUT 15000;",
    ]


@pytest.mark.case("C-008")
def test_the_driver_managers_pool_is_off() -> None:
    assert pyodbc.pooling is False
