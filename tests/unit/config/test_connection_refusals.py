from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.config.connection_string import parse_connection_string
from chokaq_core.config.kinds import RefusedError

LOGIN = "Database=jobs;User ID=app;Password=pw"
PLANTED = "PLANTEDsecret"


def rules(text: str) -> tuple[str, ...]:
    with pytest.raises(RefusedError) as refused:
        parse_connection_string(text)
    return refused.value.rules


@pytest.mark.parametrize(
    "server, rule",
    [
        ("", "Server is missing; write Server=tcp:host,1433"),
        ("tcp:", "Server is missing; write Server=tcp:host,1433"),
        (",1433", "Server is missing; write Server=tcp:host,1433"),
        ("db:1433", "Server takes its port after a comma, not a colon; write Server=tcp:host,1433"),
        (r"np:\\db\pipe", "Server must be reached over TCP; write Server=tcp:host,1433"),
        ("lpc:db", "Server must be reached over TCP; write Server=tcp:host,1433"),
        ("a b", "Server holds a blank, or another character that no host's name has"),
        ("{a;b}", "Server holds a blank, or another character that no host's name has"),
        ("db,", "Server needs a port from 1 to 65535 after its comma"),
        ("db,0", "Server needs a port from 1 to 65535 after its comma"),
        ("db,65536", "Server needs a port from 1 to 65535 after its comma"),
        ("db,-1", "Server needs a port from 1 to 65535 after its comma"),
        ("db,1433,1434", "Server needs a port from 1 to 65535 after its comma"),
    ],
)
def test_a_server_that_cannot_be_reached_is_refused(server: str, rule: str) -> None:
    assert rules(f"Server={server};{LOGIN}") == (rule,)


@pytest.mark.parametrize(
    "text, rule",
    [
        (
            "Server=db;PWD={abc",
            "the value of keyword number 2 is not closed as it was opened; double a quote inside it",
        ),
        (
            "Server=db;PWD={a}b",
            "the value of keyword number 2 is not closed as it was opened; double a quote inside it",
        ),
        ("PWD='a'b'", "the value of keyword number 1 is not closed as it was opened; double a quote inside it"),
        ('Database="x', "the value of keyword number 1 is not closed as it was opened; double a quote inside it"),
        (
            "Server=db;UID=app;PWD=ab;cd",
            "the text after 3 keyword(s) has no '='; a value that holds ';' must stand in quotes or braces",
        ),
        ("hunter2", "the text after 0 keyword(s) has no '='; a value that holds ';' must stand in quotes or braces"),
    ],
)
def test_a_string_that_cannot_be_taken_apart_is_refused(text: str, rule: str) -> None:
    assert rules(text) == (rule,)


@pytest.mark.parametrize(
    "keyword, rule",
    [
        ("DSN=x", "keyword DSN is refused: name Server and Database in the string itself"),
        ("Command Timeout=5", "keyword Command Timeout is refused: set SqlServer.CommandTimeoutSeconds instead"),
        (
            "ApplicationIntent=ReadOnly",
            "keyword ApplicationIntent is refused: ChokaQ writes with every connection; leave it out",
        ),
        (
            "Failover Partner=x",
            (
                "keyword Failover Partner is refused: database mirroring is not supported; name an availability "
                "group's listener"
            ),
        ),
        ("ColumnEncryption=Enabled", "keyword ColumnEncryption is refused: Always Encrypted is not supported"),
        (
            "Network Library=dbnmpntw",
            "keyword Network Library is refused: only TCP is supported; write the server as tcp:host,port",
        ),
        ("Data Source=x", "Server is given twice, the second time as keyword number 5; keep one"),
        ("uid=x", "User ID is given twice, the second time as keyword number 5; keep one"),
        ("Encrypt=sure", "Encrypt must be yes, no, true, false, mandatory, optional or strict"),
        ("TrustServerCertificate=1", "TrustServerCertificate must be yes, no, true or false"),
        ("Trusted_Connection=maybe", "Trusted_Connection must be yes, no, true, false or SSPI"),
        ("Connect Timeout=0", "Connect Timeout must be a whole number of seconds from 1 to 300"),
        ("Timeout=00:00:30", "Connect Timeout must be a whole number of seconds from 1 to 300"),
        ("Trusted_Connection=yes", "Trusted_Connection stands beside another login; keep one of them"),
        (f"Application Name={'x' * 129}", "Application Name must be at most 128 characters"),
        ("App=a\x00b", "the value of Application Name holds control characters or invalid text"),
        ("App=a\ud800b", "the value of Application Name holds control characters or invalid text"),
        ("WSID=a\nb", "the value of WSID holds control characters or invalid text"),
        (
            "Authentication=Active Directory Default",
            "Password does not go with this Authentication, which logs in with a token; remove it",
        ),
        (
            "Authentication=Active Directory Interactive",
            (
                "Authentication must be Active Directory Default, Active Directory Managed Identity, Active Directory "
                "Service Principal, Active Directory Workload Identity or Sql Password; other ways need a person at a "
                "keyboard or an old protocol"
            ),
        ),
    ],
)
def test_a_keyword_that_cannot_be_followed_is_named(keyword: str, rule: str) -> None:
    assert rules(f"Server=db;{LOGIN};{keyword}") == (rule,)


@pytest.mark.parametrize(
    "keyword, rule",
    [
        ("Bogus", "keyword Bogus is not known; the nearest is User ID"),
        ("Datbase", "keyword Datbase is not known; the nearest is Database"),
        ("Pasword", "keyword Pasword is not known; the nearest is Password"),
        (
            "trust server certificat",
            "keyword trust server certificat is not known; the nearest is TrustServerCertificate",
        ),
        ("ConnectRetyCount", "keyword ConnectRetyCount is not known; the nearest is ConnectRetryCount"),
        ("Max Pol Size", "keyword Max Pol Size is not known; the nearest is Max Pool Size"),
        ("x9$", "keyword number 3 is not known; a value that holds ';' must stand in quotes or braces"),
        ("", "keyword number 3 is not known; a value that holds ';' must stand in quotes or braces"),
    ],
)
def test_a_keyword_that_nobody_knows_is_refused_with_the_nearest(keyword: str, rule: str) -> None:
    assert rules(f"Server=db;Database=jobs;{keyword}=x;Encrypt=no;Trusted_Connection=yes") == (rule,)


@pytest.mark.parametrize(
    "keyword, rule",
    [
        ("Trust Server Certificat", "keyword number 5 is not known; the nearest is TrustServerCertificate"),
        ("Bogus", "keyword number 5 is not known; a value that holds ';' must stand in quotes or braces"),
    ],
)
def test_behind_the_password_only_its_place_is_told(keyword: str, rule: str) -> None:
    assert rules(f"Server=db;{LOGIN};{keyword}=x") == (rule,)
    assert rules(f"Server=db;Database=jobs;UID=app;PWD='pw';Encrypt=no;{keyword}=x") == (rule.replace("5", "6"),)


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "Server=db;Database=jobs",
            (
                (
                    "User ID and Password must both be given; without a password use Authentication=Active Directory "
                    "Default or Trusted_Connection=yes"
                ),
            ),
        ),
        (
            "Server=db;UID=app;PWD=x",
            ("Database is missing; name the database that holds, or shall hold, the jobs",),
        ),
        (
            "Encrypt=no",
            (
                "Server is missing; write Server=tcp:host,1433",
                "Database is missing; name the database that holds, or shall hold, the jobs",
                (
                    "User ID and Password must both be given; without a password use Authentication=Active Directory "
                    "Default or Trusted_Connection=yes"
                ),
            ),
        ),
        (
            "Server=db;Database=jobs;UID=app;PWD=",
            (
                (
                    "User ID and Password must both be given; without a password use Authentication=Active Directory "
                    "Default or Trusted_Connection=yes"
                ),
            ),
        ),
    ],
)
def test_everything_that_is_missing_is_told_at_once(text: str, expected: tuple[str, ...]) -> None:
    assert rules(text) == expected


@pytest.mark.parametrize("user", ["0f1e2d", "0f1e2d@", "@contoso", "a@b@c"])
def test_a_service_principal_must_name_its_tenant(user: str) -> None:
    text = f"Server=db;Database=jobs;Authentication=Active Directory Service Principal;PWD=x;UID={user}"

    assert rules(text) == (
        "User ID of a service principal must name its tenant; write User ID=<client id>@<tenant id>",
    )


@pytest.mark.parametrize(
    "text",
    [
        f"Server=db;Database=jobs;UID=app;PWD=abc;{PLANTED}",
        f"Server=db;Database=jobs;UID=app;PWD=abc;{PLANTED}=x",
        f"Server=db;Database=jobs;UID=app;PWD=abc;x=y;{PLANTED}=x;Encrypt=sure",
        f"Server=db;Database=jobs;UID=app;Pasword=abc;{PLANTED}=x",
        f"Server=db;Database=jobs;UID=app;PWD='{PLANTED}",
        f"Server=db;Database=jobs;UID=app;PWD={{{PLANTED}",
        f"Server=db;Database=jobs;UID=app;Encrypt={PLANTED};PWD=x",
        f"Server={PLANTED} {PLANTED};Database=jobs;UID=app;PWD=x",
        f"Server=db:{PLANTED};Database={PLANTED * 20}",
        f"{PLANTED}",
        f"{PLANTED}==",
        f"={PLANTED}",
        f"Keystore Secret={PLANTED};Server=db;Database=jobs",
    ],
)
def test_no_refusal_repeats_a_value_or_what_may_be_a_piece_of_one(text: str) -> None:
    assert PLANTED not in " ".join(rules(text))


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    _read_or_refused(text)


PIECES = st.sampled_from(
    [
        *";;;=={}'\" \n",
        "}}",
        "''",
        "Server=db;",
        "Database=jobs;",
        "Uid=app;",
        "Pwd=",
        "Driver={x};",
        "Encrypt",
        "tcp:,1433",
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=30).map("".join))
def test_any_mixture_of_keywords_and_quotes_is_read_or_refused(text: str) -> None:
    _read_or_refused(text)


@given(
    st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=8).map("".join),
    st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=8).map("".join),
    st.sampled_from(["Password=", "pwd = ", "PWD={", "Password='", 'Password="']),
)
def test_a_planted_password_is_never_shown(before: str, after: str, opening: str) -> None:
    text = f"Server=db;Database=jobs;Uid=app;{opening}{before}{PLANTED}{after}"
    assert PLANTED not in _read_or_refused(text)


def _read_or_refused(text: str) -> str:
    try:
        return repr(parse_connection_string(text))
    except RefusedError as error:
        return f"{error} {error.hint} {error!r}"
