"""
The page on deployment agrees with the templates, the hooks, the workflow and the command line.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest

from chokaq_core.cli import COMMANDS, command_line
from chokaq_core.config.connection_string import CONNECTION_STRING
from chokaq_core.config.names import find, in_environment
from chokaq_core.policy.sqlserver import Authentication, SqlServerConnection
from tests.support.documents import ROOT, Document, documents, read_document
from tests.support.infra import INFRA, alerts, parameters, parsed

DEPLOY = read_document(ROOT / "docs/deploy.md")
WORKFLOW = (ROOT / ".github/workflows/infra.yml").read_text(encoding="utf-8")
PAGES = [document for document in documents() if document.name.startswith(("docs/", "README"))]
HOOKS = [*(INFRA / "hooks").glob("postprovision.*")]

WORDS = {command.words for command in COMMANDS}

AZD_OWN = {"AZURE_ENV_NAME", "AZURE_LOCATION", "AZURE_PRINCIPAL_ID", "AZURE_PRINCIPAL_TYPE", "AZURE_SUBSCRIPTION_ID"}
"""What azd itself knows."""

AZ = {
    "account show": "--output --query",
    "ad app create": "--app-roles --display-name --enable-id-token-issuance --output --query --sign-in-audience "
    "--web-redirect-uris",
    "ad app delete": "--id",
    "ad app federated-credential create": "--id --parameters",
    "ad signed-in-user show": "--output --query",
    "ad sp create": "--id",
    "ad sp show": "--id --output --query",
    "functionapp keys delete": "--key-name --key-type --name --resource-group",
    "functionapp keys list": "--name --output --query --resource-group",
    "functionapp keys set": "--key-name --key-type --name --resource-group",
    "functionapp list-flexconsumption-locations": "--output",
    "functionapp restart": "--name --resource-group",
    "functionapp show": "--name --output --query --resource-group",
    "keyvault secret set": "--name --output --value --vault-name",
    "keyvault show": "--name --output --query",
    "login": "",
    "rest": "--body --method --uri",
    "role assignment create": "--assignee --role --scope",
    "sql db restore": "--dest-name --name --resource-group --server --time",
    "sql server firewall-rule create": "--end-ip-address --name --output --resource-group --server --start-ip-address",
    "sql server firewall-rule delete": "--name --output --resource-group --server",
}
"""
Commands of the Azure CLI and their options, held against the help of azure-cli 2.91.
Look a new one up before it is added.
"""
AZD = {
    "auth login": "",
    "deploy": "",
    "down": "--purge",
    "env get-value": "",
    "env get-values": "",
    "env list": "",
    "env new": "",
    "env select": "",
    "env set": "",
    "provision": "--preview",
    "up": "",
}
"""The same of the Azure Developer CLI, held against its reference."""


def text_of(document: Document) -> str:
    return "\n".join([*(line for line, _ in document.prose), *(block.text for block in document.blocks)])


def rows_under(heading: str) -> list[list[str]]:
    lines = [line for line, above in DEPLOY.prose if above == heading and line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_parameters_is_the_templates() -> None:
    shown = {cells[0].strip("`"): cells[1] for cells in rows_under("Parameters")}
    assert shown == {name: default_text(entry["default"]) for name, entry in parameters().items()}


def test_every_value_of_the_azd_environment_that_is_set_is_read() -> None:
    read = {
        name
        for file in ("dev", "prod", "main")
        for name in re.findall(r"\$\{([A-Z_]+)", (INFRA / f"{file}.parameters.json").read_text(encoding="utf-8"))
    }
    assigned = set(re.findall(r"azd env set ([A-Z_]+)", text_of(DEPLOY)))
    assert assigned - read - {"NAME"} == set()
    assert {name for name in read if not name.startswith("CHOKAQ_")} <= AZD_OWN


def test_every_output_that_the_page_asks_for_is_there() -> None:
    asked = set(re.findall(r"azd env get-value ([A-Z_]+)", text_of(DEPLOY)))
    assert len(asked) >= 5
    assert asked - parsed(INFRA / "main.bicep")["outputs"].keys() == set()


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_every_command_of_ours_that_a_document_names_exists_with_its_arguments(document: Document) -> None:
    assert [line for line in commands_in(text_of(document)) if not is_understood(line)] == []


def test_a_command_that_does_not_exist_is_found() -> None:
    text = (
        "`python -m chokaq_core schema update`, `python -m chokaq_core …`, "
        "`python -m chokaq_core queues pause mail --for 5`"
    )
    assert [(line, is_understood(line)) for line in commands_in(text)] == [
        ("schema update", False),
        ("queues pause mail --for 5", False),
    ]
    assert is_understood("queues set mail --max-workers 5")


def test_every_command_of_ours_that_the_hooks_call_exists() -> None:
    for hook in HOOKS:
        calls = re.findall(r"chokaq_core'?,? '?([a-z]+)'?,? '?([a-z]+)", hook.read_text(encoding="utf-8"))
        assert [" ".join(call) for call in calls] == ["schema apply"]
        assert "schema apply" in WORDS


def test_every_command_of_azure_is_one_that_was_looked_up() -> None:
    shell = [block.text for block in DEPLOY.blocks_in("sh")]
    texts = [*shell, "\n".join(DEPLOY.code_spans()), *(hook.read_text(encoding="utf-8") for hook in HOOKS)]
    texts = [re.sub(r"(?m)^#.*", "", text) for text in texts]
    text = "\n".join(re.sub(r"[\\`]\n\s*", " ", text) for text in texts)
    for program, known in (("az", AZ), ("azd", AZD)):
        calls = azure_calls(program, text)
        assert len(calls) > 20
        assert [call for call in calls if not is_known(call, known)] == []


def test_a_command_or_an_option_that_was_not_looked_up_is_found() -> None:
    calls = azure_calls("az", 'az ad sp show --id "$(az keyvault show --id 1)" --query id\naz sql db copy --name x')
    assert [(call, is_known(call, AZ)) for call in calls] == [
        ("ad sp show --id --query", True),
        ("sql db copy --name", False),
        ("keyvault show --id", False),
    ]


def test_every_variable_of_the_shell_is_assigned_further_up() -> None:
    assigned: set[str] = set()
    for line in "".join(block.text for block in DEPLOY.blocks_in("sh")).splitlines():
        read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", line))
        assert read - assigned == set(), line
        assigned |= set(re.findall(r"^([A-Z][A-Z_]+)=", line))
    spans = {name for span in DEPLOY.code_spans() for name in re.findall(r"\$([A-Z][A-Z_]+)", span)}
    assert spans <= assigned


def test_the_connection_string_of_the_example_is_one_that_the_app_takes() -> None:
    examples = [json.loads(block.text) for block in DEPLOY.blocks_in("json")]
    texts = [value for example in examples for value in example["appSettings"]["value"].values() if "Server=" in value]
    assert len(texts) == 1
    connection = CONNECTION_STRING.parse(texts[0])
    assert isinstance(connection, SqlServerConnection)
    assert connection.authentication is Authentication.ENTRA_MANAGED_IDENTITY
    assert {connection.server, connection.user} <= parsed(INFRA / "main.bicep")["outputs"].keys()


def test_every_setting_of_an_example_is_one_of_ours_or_its_own() -> None:
    examples = [json.loads(block.text) for block in DEPLOY.blocks_in("json")]
    given = [name for example in examples for name in example["appSettings"]["value"]]
    ours = [name for name in given if name.lower().startswith("chokaq")]
    assert len(ours) == 2
    assert [name for name in ours if (path := in_environment(name)) is None or find(path) is None] == []


def test_the_parameters_of_the_examples_exist() -> None:
    examples = [json.loads(block.text) for block in DEPLOY.blocks_in("json")]
    assert examples
    assert [name for example in examples for name in example if name not in parameters()] == []


def test_the_number_of_alert_rules_is_right() -> None:
    assert f"| {len(alerts())} alert rules" in text_of(DEPLOY)


def test_every_file_of_the_templates_is_on_the_page() -> None:
    named = {span for span in DEPLOY.code_spans() if span.startswith("infra/") and span.endswith(".bicep")}
    files = {path.relative_to(ROOT).as_posix() for path in INFRA.rglob("*.bicep")}
    assert files - named == set()


def test_the_page_says_what_was_never_done() -> None:
    text = " ".join(text_of(DEPLOY).split())
    assert "never compiled by the Bicep compiler nor deployed" in text
    assert "the PowerShell hook was never run" in text


def test_the_workflow_compiles_and_previews_and_deploys_nothing() -> None:
    assert "az bicep build --file infra/main.bicep" in WORKFLOW
    assert "azd provision --preview" in WORKFLOW
    assert re.findall(r"azd (?:up|deploy|down)|azd provision(?! --preview)", WORKFLOW) == []
    variables = set(re.findall(r"vars\.([A-Z_]+)", WORKFLOW))
    described = set(re.findall(r"AZURE_[A-Z_]+", WORKFLOW[: WORKFLOW.index("name: infra")]))
    assert variables == described


def default_text(default: object) -> str:
    """
    How the page shows a default.
    """
    if default is None:
        return "required"
    if default in ("", {}):
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def commands_in(text: str) -> list[str]:
    """
    What follows `python -m chokaq_core`, to the end of the line, of the span of code, or to a comment.
    """
    return [line.strip() for line in re.findall(r"python -m chokaq_core ([a-z][^`\n#|]*)", text)]


def is_understood(line: str) -> bool:
    """
    Whether the command line takes it; nothing is run.
    """
    try:
        command_line().parse_args(shlex.split(line))
    except SystemExit:
        return False
    return True


def azure_calls(program: str, text: str) -> list[str]:
    """
    The words and options of each call, without values; a call within another one stands for itself.
    """
    inner = re.findall(r"\$\(([^()]*)\)", text)
    while (flat := re.sub(r"\$\([^()]*\)", "X", text)) != text:
        text = flat
        inner += re.findall(r"\$\(([^()]*)\)", text)
    lines = [line for part in (text, *inner) for line in re.findall(rf"(?<![\w.-]){program} ([a-z][^`\n#]*)", part)]
    return [" ".join([*_leading_words(line), *sorted(set(re.findall(r"(?<!\S)--[a-z-]+", line)))]) for line in lines]


def is_known(call: str, known: dict[str, str]) -> bool:
    """
    Whether a call is of a known command, with known options only.
    """
    words, _, options = call.partition(" --")
    command = next((name for name in sorted(known, key=len, reverse=True) if f"{words} ".startswith(f"{name} ")), None)
    return command is not None and {f"--{name}" for name in options.split(" --") if name} <= set(known[command].split())


def _leading_words(line: str) -> list[str]:
    match = re.match(r"(?:[a-z][a-z-]*(?:\s+|$))*", line)
    return match[0].split() if match else []
