from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.config.connection_string import parse_connection_string
from chokaq_core.domain.secret import Secret
from chokaq_core.policy.sqlserver import Authentication, Encryption, SqlServerConnection

LOGIN = "Database=jobs;User ID=app;Password=pw"


def read(text: str) -> SqlServerConnection:
    return parse_connection_string(text)


def test_the_string_of_the_azure_portal_for_ado_net_is_read() -> None:
    text = (
        "Server=tcp:contoso.database.windows.net,1433;Initial Catalog=jobs;Persist Security Info=False;User ID=app;"
        "Password={pass;}}word};MultipleActiveResultSets=False;Encrypt=True;TrustServerCertificate=False;"
        "Connection Timeout=15;"
    )
    assert read(text) == SqlServerConnection(
        server="contoso.database.windows.net",
        port=1433,
        database="jobs",
        authentication=Authentication.SQL_LOGIN,
        user="app",
        password=Secret("pass;}word"),
        encrypt=Encryption.YES,
        trust_server_certificate=False,
        connect_timeout=timedelta(seconds=15),
        application_name="ChokaQ",
        driver=None,
        further=(),
        notes=(),
    )


def test_the_string_of_the_azure_portal_for_odbc_is_read() -> None:
    text = (
        "Driver={ODBC Driver 18 for SQL Server};Server=tcp:contoso.database.windows.net,1433;Database=jobs;Uid=app;"
        'Pwd="quoted";Encrypt=yes;TrustServerCertificate=no;Connection Timeout=30;'
    )
    assert read(text) == SqlServerConnection(
        server="contoso.database.windows.net",
        port=1433,
        database="jobs",
        authentication=Authentication.SQL_LOGIN,
        user="app",
        password=Secret('"quoted"'),
        driver="ODBC Driver 18 for SQL Server",
    )


def test_the_string_of_a_developers_machine_is_read() -> None:
    text = "Server=localhost;Database=ChokaQ;Trusted_Connection=True;TrustServerCertificate=True;"
    assert read(text) == SqlServerConnection(
        server="localhost",
        port=None,
        database="ChokaQ",
        authentication=Authentication.INTEGRATED,
        trust_server_certificate=True,
    )


@pytest.mark.parametrize(
    "server, host, port",
    [
        ("db", "db", None),
        ("tcp:db", "db", None),
        ("TCP:db,1433", "db", 1433),
        ("db , 1433", "db", 1433),
        (r"db\SQLEXPRESS", r"db\SQLEXPRESS", None),
        (r"db\SQLEXPRESS,1500", r"db\SQLEXPRESS", 1500),
        (".", ".", None),
        ("(local)", "(local)", None),
        ("::1,1433", "::1", 1433),
        ("tcp:[::1],65535", "[::1]", 65535),
    ],
)
@pytest.mark.parametrize("keyword", ["Server", "Data Source", "DATASOURCE", "Addr", "address", "Network Address"])
def test_a_server_is_read_in_every_spelling(keyword: str, server: str, host: str, port: int | None) -> None:
    connection = read(f"{keyword}={server};{LOGIN}")
    assert (connection.server, connection.port) == (host, port)


@pytest.mark.parametrize(
    "written, password",
    [
        ("pw", "pw"),
        ("  pw  ", "pw"),
        ("a=b", "a=b"),
        ("a'b\"c", "a'b\"c"),
        ("a{b}c", "a{b}c"),
        ("'a;b'", "a;b"),
        ("'a''b'", "a'b"),
        ('"a;""b"', 'a;"b'),
        ("' a '", " a "),
        ("{a;b}", "a;b"),
        ("{a}}b}", "a}b"),
        ("{a}}}", "a}"),
        ("{'a'}", "'a'"),
        ("{ключ;🔑}", "ключ;🔑"),
        ("'Server=x;Database=y'", "Server=x;Database=y"),
    ],
)
def test_a_password_is_read_whatever_it_holds(written: str, password: str) -> None:
    assert read(f"Server=db;Database=jobs;UID=app;PWD={written};Encrypt=no").password == Secret(password)


@pytest.mark.parametrize("written, password", [('"a', '"a'), ("'a'", "'a'"), ("{a;}}b}", "a;}b"), ("a'b", "a'b")])
def test_with_a_driver_only_braces_quote(written: str, password: str) -> None:
    assert read(f"PWD={written};Driver=x;Server=db;Database=jobs;UID=app").password == Secret(password)


@pytest.mark.parametrize(
    "login, authentication, user",
    [
        ("Integrated Security=SSPI", Authentication.INTEGRATED, None),
        ("Authentication=Active Directory Default", Authentication.ENTRA_DEFAULT, None),
        ("Authentication=ActiveDirectoryMsi", Authentication.ENTRA_MANAGED_IDENTITY, None),
        (
            "Authentication='Active Directory Managed Identity';UID=ab-12",
            Authentication.ENTRA_MANAGED_IDENTITY,
            "ab-12",
        ),
        ("authentication=active directory msi;user id=", Authentication.ENTRA_MANAGED_IDENTITY, None),
        (
            "Authentication=ActiveDirectoryServicePrincipal;UID=ab@cd;PWD=x",
            Authentication.ENTRA_SERVICE_PRINCIPAL,
            "ab@cd",
        ),
        ("Authentication=Active Directory Workload Identity", Authentication.ENTRA_WORKLOAD_IDENTITY, None),
        ("Authentication=SqlPassword;UID=ab;PWD=x", Authentication.SQL_LOGIN, "ab"),
        ("Trusted_Connection=no;UID=ab;PWD=x", Authentication.SQL_LOGIN, "ab"),
    ],
)
def test_each_way_to_log_in_is_understood(login: str, authentication: Authentication, user: str | None) -> None:
    connection = read(f"Server=db;Database=jobs;{login}")
    assert (connection.authentication, connection.user) == (authentication, user)


def test_only_logins_of_entra_need_a_token() -> None:
    assert [way.name for way in Authentication if not way.needs_token] == ["SQL_LOGIN", "INTEGRATED"]


@pytest.mark.parametrize(
    "word, encryption",
    [("True", "yes"), ("mandatory", "yes"), ("Optional", "no"), ("FALSE", "no"), ("Strict", "strict"), ("yes", "yes")],
)
def test_encryption_has_one_word_for_each_meaning(word: str, encryption: str) -> None:
    assert read(f"Server=db;{LOGIN};Encrypt={word}").encrypt == encryption


def test_what_the_driver_understands_is_passed_on_and_what_nobody_needs_is_told() -> None:
    connection = read(
        f"Server=db;{LOGIN};Multi Subnet Failover=True;Host Name In Certificate=*.example;Workstation ID=w1;"
        "Max Pool Size=50;Pooling=false;Enlist=false;"
    )
    assert connection.further == (
        ("MultiSubnetFailover", "True"),
        ("HostnameInCertificate", "*.example"),
        ("WSID", "w1"),
    )
    assert connection.notes == ("Max Pool Size", "Pooling")


def test_blanks_line_ends_and_empty_parts_between_pairs_do_not_matter() -> None:
    text = " ;; Server = db ;\n\tDatabase= jobs;;User ID =app; Password= pw ;\r\n"
    assert read(text) == read(f"Server=db;{LOGIN}")


VALUES = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=40)


@given(database=VALUES, user=VALUES, password=VALUES, style=st.sampled_from(["{}", "''", '""', "odbc"]))
def test_what_was_quoted_well_comes_out_as_it_went_in(database: str, user: str, password: str, style: str) -> None:
    opening, closing = ("{", "}") if style == "odbc" else (style[0], style[1])
    values = [f"{opening}{value.replace(closing, closing * 2)}{closing}" for value in (database, user, password)]
    driver = "Driver={x};" if style == "odbc" else ""
    connection = read(f"{driver}Server=db;Database={values[0]};UID={values[1]};PWD={values[2]}")
    assert (connection.database, connection.user, connection.password) == (database, user, Secret(password))
