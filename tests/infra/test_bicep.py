"""
What the templates under infra/ promise. They are taken apart by a parser; no compiler has seen them here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.config.catalog import SETTINGS
from chokaq_core.config.connection_string import CONNECTION_STRING
from chokaq_core.config.names import find, in_environment, is_portable
from chokaq_core.hosting.wakes import StorageConnection
from chokaq_core.policy.sqlserver import Authentication, Encryption, SqlServerConnection
from tests.support.bicep import Types, names_in, names_of
from tests.support.infra import (
    INFRA,
    ROOT,
    app_settings,
    bicep_files,
    parameter_values,
    parameters,
    parsed,
    resources,
    the_resource,
    variable,
)

ROLES = {
    "Monitoring Metrics Publisher": "3913510d-42f4-4e42-8a64-420c390055eb",
    "Storage Blob Data Owner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    "Storage Queue Data Contributor": "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
    "Storage Table Data Contributor": "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
    "Key Vault Secrets User": "4633458b-17de-408a-b874-0445c86b69e6",
}

REFUSED_ON_FLEX = {
    "ENABLE_ORYX_BUILD",
    "FUNCTIONS_EXTENSION_VERSION",
    "FUNCTIONS_WORKER_PROCESS_COUNT",
    "FUNCTIONS_WORKER_RUNTIME",
    "FUNCTIONS_WORKER_RUNTIME_VERSION",
    "SCM_DO_BUILD_DURING_DEPLOYMENT",
    "WEBSITE_CONTENTAZUREFILECONNECTIONSTRING",
    "WEBSITE_CONTENTSHARE",
    "WEBSITE_RUN_FROM_PACKAGE",
    "WEBSITE_VNET_ROUTE_ALL",
}

KEYS = ("listKeys", "listAccountSas", "AccountKey=", "SharedAccessKey", "adminPassword", "administratorLoginPassword")

SESSIONS = {"S1": 900, "GP_Gen5_2": 30_000}
REQUESTS = {"S1": 90, "GP_Gen5_2": 200}
"""Most sessions, and most requests at once, by size of the database, as Azure's documentation gives them."""

LOOKED_UP = {
    "Microsoft.Authorization/roleAssignments@2022-04-01",
    "Microsoft.Insights/actionGroups@2023-01-01",
    "Microsoft.Insights/components@2020-02-02",
    "Microsoft.Insights/diagnosticSettings@2021-05-01-preview",
    "Microsoft.Insights/scheduledQueryRules@2023-12-01",
    "Microsoft.Insights/workbooks@2022-04-01",
    "Microsoft.KeyVault/vaults@2023-07-01",
    "Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31",
    "Microsoft.Network/networkSecurityGroups@2024-01-01",
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01",
    "Microsoft.Network/privateDnsZones@2020-06-01",
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-01-01",
    "Microsoft.Network/privateEndpoints@2024-01-01",
    "Microsoft.Network/virtualNetworks@2024-01-01",
    "Microsoft.OperationalInsights/workspaces@2023-09-01",
    "Microsoft.Resources/resourceGroups@2024-03-01",
    "Microsoft.Sql/servers/databases@2023-08-01",
    "Microsoft.Sql/servers/firewallRules@2023-08-01",
    "Microsoft.Sql/servers@2023-08-01",
    "Microsoft.Storage/storageAccounts/blobServices/containers@2023-05-01",
    "Microsoft.Storage/storageAccounts/blobServices@2023-05-01",
    "Microsoft.Storage/storageAccounts/queueServices/queues@2023-05-01",
    "Microsoft.Storage/storageAccounts/queueServices@2023-05-01",
    "Microsoft.Storage/storageAccounts@2023-05-01",
    "Microsoft.Web/serverfarms@2024-11-01",
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01",
    "Microsoft.Web/sites/config@2024-11-01",
    "Microsoft.Web/sites@2024-11-01",
}
"""
Held against Azure/bicep-types-az, with every property that the templates give them: names, kinds of value, allowed
texts, what is required, what is read-only. Look a new one up there before it is added.
"""

each_file = pytest.mark.parametrize("path", bicep_files(), ids=lambda path: path.name)


@each_file
def test_every_bicep_file_parses(path: Path) -> None:
    assert parsed(path).keys() & {"resources", "modules"}


@each_file
def test_no_template_reads_or_holds_a_key(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [word for word in KEYS if word.lower() in text.lower()] == []


@each_file
def test_no_template_leans_on_a_registry(path: Path) -> None:
    assert re.findall(r"'(?:br|ts)[:/]", path.read_text(encoding="utf-8")) == []


def test_every_module_is_given_its_parameters_and_no_others() -> None:
    for module in parsed(INFRA / "main.bicep")["modules"].values():
        given = {name for name, _ in parameter_given(module["config"])}
        declared = parameters(module["detail"]["path"])
        needed = {name for name, entry in declared.items() if entry["default"] is None}
        assert needed - given == set(), module["detail"]["path"]
        assert given - declared.keys() == set(), module["detail"]["path"]


def test_every_module_is_given_values_of_the_right_type() -> None:
    main = Types(INFRA / "main.bicep")
    pairs = [
        (f"{module['detail']['path']}: {name}", main.type_of(value), parameters(module["detail"]["path"])[name]["type"])
        for module in parsed(INFRA / "main.bicep")["modules"].values()
        for name, value in parameter_given(module["config"])
    ]
    assert len(pairs) > 60
    assert [(name, given, wanted) for name, given, wanted in pairs if given != wanted] == []


@each_file
def test_every_name_in_a_template_is_declared_and_every_parameter_and_variable_is_read(path: Path) -> None:
    names = names_in(path)
    assert names.unknown == set()
    assert names.unused == set()


def test_a_name_that_nothing_declares_is_found() -> None:
    text = """
param one string
param two array
param three string // three is read by nobody: two
var four = empty(one) ? five : '${six} and ${empty(seven) ? 'eight' : nine.ten}'
resource it 'A.B/c@2024-01-01' = [for (element, index) in two: {
  name: element
  eleven: four[index].twelve
  parent: thirteen
}]
"""
    names = names_of(text)
    assert names.unknown == {"five", "six", "seven", "nine", "thirteen"}
    assert names.unused == {"three"}


def test_every_kind_of_resource_is_one_that_the_published_types_of_bicep_have_in_that_version() -> None:
    assert {f"{resource.type}@{resource.api_version}" for resource in resources()} == LOOKED_UP


def test_every_output_of_a_module_that_is_used_is_there() -> None:
    main = (INFRA / "main.bicep").read_text(encoding="utf-8")
    files = {name: entry["detail"]["path"] for name, entry in parsed(INFRA / "main.bicep")["modules"].items()}
    used = re.findall(r"\b(\w+)!?\.outputs\.(\w+)", main)
    assert len(used) > 20
    assert [(name, out) for name, out in used if out not in parsed(INFRA / files[name])["outputs"]] == []


def test_the_app_works_as_its_own_identity_and_reads_references_with_it() -> None:
    app = the_resource("Microsoft.Web/sites").properties
    assert app["identity"]["type"] == "UserAssigned"
    assert app["properties"]["keyVaultReferenceIdentity"] == "identityId"
    storage = app["properties"]["functionAppConfig"]["deployment"]["storage"]
    assert storage["authentication"] == {
        "type": "UserAssignedIdentity",
        "userAssignedIdentityResourceId": "identityId",
    }


def test_the_identity_has_exactly_the_roles_that_the_app_needs() -> None:
    storage_roles = set(variable("modules/storage.bicep", "roles").values())
    texts = [str(parsed(path)) for path in bicep_files()]
    ids = {match for text in texts for match in re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f-]{17}", text)}
    assert ids == set(ROLES.values())
    assert storage_roles == {ROLES[name] for name in ROLES if name.startswith("Storage")}


def test_every_role_names_what_kind_of_principal_gets_it_and_is_bound_to_one_resource() -> None:
    assignments = resources("Microsoft.Authorization/roleAssignments")
    assert len(assignments) == 3
    for assignment in assignments:
        assert assignment.properties["properties"]["principalType"] == "ServicePrincipal"
        assert assignment.properties["scope"] in {"account", "component", "vault"}
        assert assignment.properties["name"]["function"]["type"] == "guid"


def test_nothing_speaks_below_tls_1_2() -> None:
    site = the_resource("Microsoft.Web/sites").properties["properties"]
    assert site["httpsOnly"] is True
    assert site["siteConfig"]["minTlsVersion"] == "1.2"
    assert site["siteConfig"]["ftpsState"] == "Disabled"
    account = the_resource("Microsoft.Storage/storageAccounts").properties["properties"]
    assert account["minimumTlsVersion"] == "TLS1_2"
    assert account["supportsHttpsTrafficOnly"] is True
    assert the_resource("Microsoft.Sql/servers").properties["properties"]["minimalTlsVersion"] == "1.2"


def test_nothing_can_be_opened_with_a_key_or_a_password() -> None:
    account = the_resource("Microsoft.Storage/storageAccounts").properties["properties"]
    assert account["allowSharedKeyAccess"] is False
    assert account["allowBlobPublicAccess"] is False
    administrators = the_resource("Microsoft.Sql/servers").properties["properties"]["administrators"]
    assert administrators["azureADOnlyAuthentication"] is True
    assert the_resource("Microsoft.KeyVault/vaults").properties["properties"]["enableRbacAuthorization"] is True
    assert the_resource("Microsoft.Insights/components").properties["properties"]["DisableLocalAuth"] is True
    policies = resources("Microsoft.Web/sites/basicPublishingCredentialsPolicies")
    assert {policy.symbol: policy.properties["properties"]["allow"] for policy in policies} == {
        "ftp": False,
        "scm": False,
    }


def test_the_firewall_of_the_database_opens_for_azure_only() -> None:
    rules = resources("Microsoft.Sql/servers/firewallRules")
    assert [rule.properties["properties"] for rule in rules] == [
        {"startIpAddress": "0.0.0.0", "endIpAddress": "0.0.0.0"}  # noqa: S104 - an address in a rule, nothing is bound
    ]


def test_a_serverless_database_never_pauses() -> None:
    text = (INFRA / "modules/sql.bicep").read_text(encoding="utf-8")
    assert "autoPauseDelay: isServerless ? -1 : null" in text


def test_running_jobs_outlive_a_deployment() -> None:
    config = the_resource("Microsoft.Web/sites").properties["properties"]["functionAppConfig"]
    assert config["siteUpdateStrategy"] == {"type": "RollingUpdate"}


def test_both_queues_of_wakes_are_created() -> None:
    queues = resources("Microsoft.Storage/storageAccounts/queueServices/queues")
    assert [queue.properties["name"] for queue in queues] == ["wakeQueueName", "${wakeQueueName}-poison"]


def test_callers_without_a_sign_in_are_let_through_to_the_app() -> None:
    sign_in = the_resource("Microsoft.Web/sites/config", "signIn").properties["properties"]
    assert sign_in["globalValidation"] == {
        "requireAuthentication": False,
        "unauthenticatedClientAction": "AllowAnonymous",
    }
    registration = sign_in["identityProviders"]["azureActiveDirectory"]["registration"]
    assert registration["clientSecretSettingName"] in app_settings()


def test_every_setting_of_ours_that_the_template_makes_exists() -> None:
    ours = [name for name in app_settings() if name.startswith("ChokaQ")]
    paths = {name: in_environment(name) for name in ours}
    assert len(ours) == 5
    assert [name for name, path in paths.items() if path is None or find(path) is None] == []


def test_every_name_of_a_setting_arrives_whole_on_linux() -> None:
    assert [name for name in app_settings() if not is_portable(name)] == []
    assert all(len(f"ChokaQ__{setting.name.replace('.', '__')}") <= 50 for setting in SETTINGS)


def test_no_setting_is_one_that_flex_consumption_refuses() -> None:
    assert app_settings().keys() & REFUSED_ON_FLEX == set()


def test_the_connection_string_of_the_template_is_one_that_the_app_takes() -> None:
    text = app_settings()["ChokaQ__SqlServer__ConnectionString"]
    filled = (
        text.replace("${sqlServerFqdn}", "sql-x.database.windows.net")
        .replace("${sqlDatabaseName}", "jobs")
        .replace("${identityClientId}", "3f2c1f0e-0000-4000-8000-000000000000")
    )
    assert "$" not in filled
    connection = CONNECTION_STRING.parse(filled)
    assert isinstance(connection, SqlServerConnection)
    assert (connection.server, connection.port, connection.database) == ("sql-x.database.windows.net", 1433, "jobs")
    assert connection.authentication is Authentication.ENTRA_MANAGED_IDENTITY
    assert connection.user == "3f2c1f0e-0000-4000-8000-000000000000"
    assert connection.encrypt is Encryption.YES
    assert not connection.trust_server_certificate


def test_the_storage_settings_of_the_template_lead_to_the_queue_service() -> None:
    environ = {name: str(value) for name, value in app_settings().items()}
    connection = StorageConnection.find(environ | {"AzureWebJobsStorage__accountName": "stx"})
    assert connection is not None
    assert connection.service_uri == "https://stx.queue.core.windows.net"
    assert environ["AzureWebJobsStorage__credential"] == "managedidentity"
    assert "AzureWebJobsStorage" not in environ


def test_the_platforms_sign_in_is_believed_only_where_the_template_turns_it_on() -> None:
    text = (INFRA / "modules/app.bicep").read_text(encoding="utf-8")
    assert "ChokaQ__Deck__TrustPlatformAuthentication: signsPeopleIn ? 'true' : 'false'" in text
    assert "resource signIn 'Microsoft.Web/sites/config@2024-11-01' = if (signsPeopleIn)" in text


@pytest.mark.parametrize("name", ["main", "dev", "prod"])
def test_every_parameter_of_a_parameter_file_exists_and_is_allowed(name: str) -> None:
    declared = parameters()
    for key, value in parameter_values(name).items():
        assert key in declared, key
        rules = {decorator["type"]: decorator.get("argument") for decorator in declared[key]["decorators"]}
        if not str(value).startswith("${"):
            assert value in rules.get("allowed", [value]), key
            if isinstance(value, int):
                assert rules.get("min_value", value) <= value <= rules.get("max_value", value), key


@pytest.mark.parametrize("name", ["main", "dev", "prod"])
def test_every_parameter_without_a_default_is_given(name: str) -> None:
    needed = {key for key, entry in parameters().items() if entry["default"] is None}
    assert needed == {"environmentName", "location", "adminPrincipalId"}
    assert needed - parameter_values(name).keys() == set()


def test_azd_starts_with_one_of_the_two_sets_of_values() -> None:
    assert parameter_values("main") in [parameter_values("dev"), parameter_values("prod")]


def test_every_parameter_says_what_it_is_for() -> None:
    described = {
        key: [decorator["argument"] for decorator in entry["decorators"] if decorator["type"] == "description"]
        for key, entry in parameters().items()
    }
    assert [key for key, texts in described.items() if not texts] == []


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_database_bears_all_instances_at_once(name: str) -> None:
    values = parameter_values(name)
    store = (ROOT / "chokaq_core/stores/sqlserver/database.py").read_text(encoding="utf-8")
    assert "LARGEST_POOL = 16\n" in store
    assert (16 + 1) * values["maximumInstanceCount"] <= SESSIONS[values["sqlSkuName"]]
    # A worker at work has two requests under way at most: its store thread's and its heartbeat's.
    assert 2 * values["maximumInstanceCount"] <= REQUESTS[values["sqlSkuName"]]


def test_there_is_a_thread_for_each_request_that_an_instance_takes() -> None:
    declared = parameters()
    assert declared["threadCount"]["default"] >= declared["httpConcurrency"]["default"]


def test_every_resource_that_keeps_logs_sends_them_to_the_workspace() -> None:
    settings = resources("Microsoft.Insights/diagnosticSettings")
    assert {setting.symbol for setting in settings} == {"queueLogs", "audit", "databaseLogs", "hostLogs"}
    assert all(setting.properties["properties"]["workspaceId"] == "workspaceId" for setting in settings)


def test_resources_are_tagged_so_that_azd_finds_them() -> None:
    main = (INFRA / "main.bicep").read_text(encoding="utf-8")
    assert "'azd-env-name': environmentName" in main
    assert "'azd-service-name': 'api'" in main
    azure_yaml = (INFRA.parent / "azure.yaml").read_text(encoding="utf-8")
    assert re.search(r"^services:\n  api:\n", azure_yaml, re.MULTILINE)


def test_no_resource_is_of_a_preview_version_where_a_stable_one_exists() -> None:
    previews = {resource.type for resource in resources() if resource.api_version.endswith("-preview")}
    assert previews == {"Microsoft.Insights/diagnosticSettings"}


@pytest.mark.parametrize("name", ["main", "dev", "prod"])
def test_every_setting_that_a_parameter_file_gives_is_one_of_ours_or_of_the_examples(name: str) -> None:
    given = parameter_values(name).get("appSettings", {})
    ours = [setting for setting in given if setting.startswith("ChokaQ")]
    assert [setting for setting in ours if (path := in_environment(setting)) is None or find(path) is None] == []
    examples = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "jobs").glob("*.py"))
    assert [setting for setting in given.keys() - set(ours) if f'"{setting}"' not in examples] == []


def test_the_app_roles_are_the_ones_that_the_app_looks_for() -> None:
    roles = json.loads((INFRA / "app-roles.json").read_text(encoding="utf-8"))
    source = (ROOT / "chokaq_core/hosting/principal.py").read_text(encoding="utf-8")
    looked_for = set(re.findall(r'"(ChokaQ\.\w+)":', source))
    assert {role["value"] for role in roles} == looked_for == {"ChokaQ.Reader", "ChokaQ.Operator"}
    assert len({role["id"] for role in roles}) == 2


def parameter_given(config: dict[str, Any]) -> list[tuple[str, Any]]:
    """
    What a module is given, under whatever condition it stands.
    """
    while "condition" in config:
        config = config["config"]
    return list(config["params"].items())
