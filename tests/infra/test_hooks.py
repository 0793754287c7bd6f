"""
What runs after provisioning: the shell script against stand-ins for its tools, and the grant it calls.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlfluff

from infra.hooks import grant
from tests.support.infra import INFRA, parsed
from tests.support.powershell import Script

SCRIPT = INFRA / "hooks/postprovision.sh"
TWIN = INFRA / "hooks/postprovision.ps1"

OUTPUTS = {
    "AZURE_RESOURCE_GROUP": "rg-x",
    "SQL_SERVER_NAME": "sql-x",
    "SQL_SERVER_FQDN": "sql-x.database.windows.net",
    "SQL_DATABASE_NAME": "jobs",
    "SQL_IS_PRIVATE": "false",
    "APP_IDENTITY_NAME": "id-x",
    "APP_IDENTITY_PRINCIPAL_ID": "11111111-1111-4111-8111-111111111111",
}
"""What azd hands to the hook."""

STAND_IN = """#!/bin/sh
echo "{name} $*" >> "$CALLS"
case "$*" in {failing}) exit 1 ;; esac
{then}
"""


@dataclass
class Machine:
    """
    A machine whose tools only note how they were called.
    """

    folder: Path

    def tool(self, name: str, *, failing: str = "'nothing fails'", then: str = "") -> None:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(STAND_IN.format(name=name, failing=failing, then=then), encoding="utf-8")
        path.chmod(0o755)

    def provision(self, script: Path = SCRIPT, **environ: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        own = {"PATH": path, "CALLS": str(self.folder / "calls"), "CHOKAQ_HOOK_PAUSE": "0"}
        chosen = {"CHOKAQ_HOOK_PYTHON": str(self.folder / "bin/fake-python")}
        return subprocess.run(
            ["/bin/sh", str(script)],
            env=own | chosen | OUTPUTS | environ,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [re.sub(r"chokaq-hook-\d+", "RULE", line) for line in lines if " -c import" not in line]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.tool("az")
    machine.tool("curl", then="echo 203.0.113.7")
    login = 'case "$1" in -m) echo "as $ChokaQ__SqlServer__ConnectionString" >> "$CALLS" ;; esac'
    machine.tool("fake-python", then=login)
    return machine


OPEN = (
    "az sql server firewall-rule create --resource-group rg-x --server sql-x --name RULE "
    "--start-ip-address 203.0.113.7 --end-ip-address 203.0.113.7 --output none"
)
CLOSE = "az sql server firewall-rule delete --resource-group rg-x --server sql-x --name RULE --output none"
GRANT = "fake-python -m infra.hooks.grant id-x 11111111-1111-4111-8111-111111111111"
LOGIN = "as Server=tcp:sql-x.database.windows.net,1433;Database=jobs;Authentication=Active Directory Default"


def test_the_hook_opens_the_door_prepares_the_database_and_closes_the_door(machine: Machine) -> None:
    done = machine.provision()
    assert done.returncode == 0, done.stderr
    assert machine.calls == [
        "curl -fsS https://api.ipify.org",
        OPEN,
        "fake-python -m chokaq_core schema apply",
        LOGIN,
        GRANT,
        LOGIN,
        CLOSE,
    ]


def test_the_door_is_closed_after_a_failure_too(machine: Machine) -> None:
    machine.tool("fake-python", failing="*schema*")
    done = machine.provision()
    assert done.returncode == 1
    assert "gave up after 8 tries" in done.stderr
    assert machine.calls.count("fake-python -m chokaq_core schema apply") == 8
    assert GRANT not in machine.calls
    assert machine.calls[-1] == CLOSE


def test_the_door_is_closed_when_the_hook_is_ended(machine: Machine) -> None:
    machine.tool("fake-python", failing="*schema*) kill -TERM $PPID; exit 1 ;; 'nothing else'")
    done = machine.provision()
    assert done.returncode == 143
    assert machine.calls == [
        "curl -fsS https://api.ipify.org",
        OPEN,
        "fake-python -m chokaq_core schema apply",
        CLOSE,
    ]


def test_a_door_that_does_not_open_lets_nothing_through(machine: Machine) -> None:
    machine.tool("az", failing="*create*")
    done = machine.provision()
    assert done.returncode == 1
    assert machine.calls == ["curl -fsS https://api.ipify.org", OPEN, CLOSE]


def test_a_door_that_stays_open_is_told(machine: Machine) -> None:
    machine.tool("az", failing="*delete*")
    done = machine.provision()
    assert "remove it by hand" in done.stderr


def test_an_address_can_be_given(machine: Machine) -> None:
    machine.provision(CHOKAQ_CLIENT_IP="198.51.100.9")
    assert "--start-ip-address 198.51.100.9" in machine.calls[0]


def test_a_private_database_is_left_alone_and_that_is_told(machine: Machine) -> None:
    done = machine.provision(SQL_IS_PRIVATE="true")
    assert done.returncode == 0
    assert "NOT prepared" in done.stdout
    assert machine.calls == []


def test_without_packages_nothing_is_opened(machine: Machine) -> None:
    machine.tool("fake-python", failing="*import*")
    machine.tool("python3", failing="*import*")
    # Away from the checkout, whose .venv the hook would fall back on.
    hooks = machine.folder / "infra/hooks"
    hooks.mkdir(parents=True)
    done = machine.provision(script=Path(shutil.copy(SCRIPT, hooks)))
    assert done.returncode == 1
    assert "make install" in done.stderr
    assert machine.calls == []


def test_the_twin_is_powershell() -> None:
    assert Script(TWIN).faults() == []


def test_the_twin_starts_the_same_programs_with_the_same_arguments_in_the_same_order(machine: Machine) -> None:
    """
    No PowerShell runs here: what the twin would start is read from its text, what the script starts is seen.
    """
    machine.provision()
    seen = [call for call in machine.calls if not call.startswith(("curl", "as "))]
    values = {f"$env:{name.lower()}": [value] for name, value in OUTPUTS.items()}
    own = {"$rule": ["RULE"], "$address": ["203.0.113.7"], "$candidate": ["fake-python"], "$python": ["fake-python"]}
    started = Script(TWIN).started({**values, **own})
    assert started[0] == "fake-python -c import azure.identity, pydantic, pyodbc 2>$null"
    assert started[1:] == seen == [OPEN, "fake-python -m chokaq_core schema apply", GRANT, CLOSE]


def test_the_twin_closes_the_door_whatever_happens() -> None:
    script = Script(TWIN)
    assert script.calls_in("try_statement") == ["Open-Door", "Invoke-Patiently", "Invoke-Patiently"]
    assert script.calls_in("finally_clause") == ["Close-Door"]


@pytest.mark.parametrize(
    "shell, twin",
    [
        ("TRIES=8\n", "$Tries = 8\n"),
        ("${CHOKAQ_HOOK_PAUSE:-15}", "else { 15 }"),
        ("https://api.ipify.org", "https://api.ipify.org"),
        ("import azure.identity, pydantic, pyodbc", "import azure.identity, pydantic, pyodbc"),
        ('RULE="chokaq-hook-$$"', '$Rule = "chokaq-hook-$PID"'),
        ('[ "$SQL_IS_PRIVATE" = "true" ]', "$env:SQL_IS_PRIVATE -eq 'true'"),
        ("so it was NOT prepared from here.", "so it was NOT prepared from here."),
        (
            "Server=tcp:$SQL_SERVER_FQDN,1433;Database=$SQL_DATABASE_NAME;",
            "Server=tcp:$($env:SQL_SERVER_FQDN),1433;Database=$($env:SQL_DATABASE_NAME);",
        ),
        (';Authentication=Active Directory Default"', ';Authentication=Active Directory Default"'),
        # Else a PowerShell that was told so would stop at the first program that fails, in place of trying again.
        ("set -eu", "$PSNativeCommandUseErrorActionPreference = $false\n"),
    ],
)
def test_the_twins_agree(shell: str, twin: str) -> None:
    assert shell in SCRIPT.read_text(encoding="utf-8")
    assert twin in TWIN.read_text(encoding="utf-8")


def test_the_scripts_read_only_what_the_template_puts_out() -> None:
    outputs = set(parsed(INFRA / "main.bicep")["outputs"])
    own = {"CHOKAQ_CLIENT_IP", "CHOKAQ_HOOK_PYTHON", "CHOKAQ_HOOK_PAUSE"}
    shell = set(re.findall(r"\$\{?([A-Z][A-Z_]{3,})", SCRIPT.read_text(encoding="utf-8"))) - {"RULE", "TRIES"}
    twin = set(re.findall(r"\$env:([A-Z_]{3,})", TWIN.read_text(encoding="utf-8")))
    assert shell - own <= outputs
    assert shell == twin


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not on this machine")
def test_the_script_is_plain_posix_shell() -> None:
    done = subprocess.run(
        ["shellcheck", "-s", "sh", str(SCRIPT)],  # noqa: S607 - whichever the path names
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""


def test_the_grant_is_t_sql() -> None:
    sqlfluff.parse(grant.ADMIT.replace("?", "N'x'"), dialect="tsql")


def test_the_grant_makes_the_role_first_and_names_the_identity_by_its_object_id(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = sent_by(monkeypatch)
    assert grant.main(["id-x", "11111111-1111-4111-8111-111111111111"]) == 0
    assert sent[-1] == (grant.ADMIT, "id-x", "11111111-1111-4111-8111-111111111111")
    statements = [re.sub(r"--.*", "", text).split() for (text,) in sent[:-1]]
    assert [" ".join(words) for words in statements] == [
        "IF DATABASE_PRINCIPAL_ID(N'chokaq_runner') IS NULL CREATE ROLE [chokaq_runner];",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON SCHEMA::[chokaq] TO [chokaq_runner];",
        "GRANT VIEW DEFINITION ON SCHEMA::[chokaq] TO [chokaq_runner];",
    ]
    assert capsys.readouterr().out == "id-x may read and write the jobs in schema chokaq\n"


def test_the_grant_follows_the_name_of_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = sent_by(monkeypatch)
    monkeypatch.setenv("ChokaQ__SqlServer__SchemaName", "billing_jobs")
    grant.main(["id-x", "11111111-1111-4111-8111-111111111111"])
    assert "SCHEMA::[billing_jobs] TO [chokaq_runner]" in sent[1][0]


def test_the_grant_takes_no_id_that_could_carry_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = sent_by(monkeypatch)
    with pytest.raises(SystemExit):
        grant.main(["id-x", "1'; DROP TABLE Users --"])
    assert sent == []


def test_the_role_may_not_change_tables() -> None:
    text = re.sub(r"--.*", "", grant.PERMISSIONS.read_text(encoding="utf-8"))
    assert re.findall(r"GRANT ([A-Z, ]+) ON", text) == ["SELECT, INSERT, UPDATE, DELETE", "VIEW DEFINITION"]


def sent_by(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """
    What the grant sends to a database that takes everything.
    """
    connecting = pytest.importorskip("chokaq_core.stores.sqlserver.connecting")
    sent: list[Any] = []

    class Connection:
        def execute(self, *statement: object) -> None:
            sent.append(statement)

        def close(self) -> None:
            return

    monkeypatch.setattr(connecting.Connector, "connect", lambda *_: (Connection(), 1))
    login = "Server=tcp:sql-x.database.windows.net,1433;Database=jobs;Authentication=Active Directory Default"
    monkeypatch.setenv("ChokaQ__SqlServer__ConnectionString", login)
    return sent
