"""
Alerts, workbook and queries agree with the code: metric names, events, tags, reasons, settings.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.config import load_settings
from chokaq_core.config.catalog import SETTINGS
from chokaq_core.domain.circuit import CircuitEventName
from chokaq_core.domain.errors import ConfigurationError, StoreError, StoreRefusedError, StoreUnavailableError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.hosting.health import timer_periods
from chokaq_core.policy import health
from chokaq_core.telemetry.wording import WORDING, Wording
from tests.support import kql, kusto
from tests.support.documents import ROOT, read_document
from tests.support.infra import INFRA, Alert, alerts, parameter_values, parsed, query_of, variable, workbook_queries

OPERATIONS = read_document(ROOT / "docs/operations.md")

QUERIES = {**{alert.id: query_of(alert.id) for alert in alerts()}, **workbook_queries()}
DEFAULTS: dict[str, Any] = {setting.name: setting.default for setting in SETTINGS}
PERIODS = timer_periods(load_settings(ROOT / "infra", {}))
"""How often each timer runs by default, by the name it notes itself under."""
EVENTS = {event.title: event.id for event in EventName}

each_query = pytest.mark.parametrize("name", QUERIES)
each_alert = pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.id)

WANTED = {
    "queue-lag", "queue-lag-sql-unhealthy", "sql-unhealthy", "worker-missing", "timers-silent", "maintenance-silent",
    "configuration-invalid",
    "dlq-rate", "dlq-fatal", "dlq-rejected", "dlq-throttled", "dlq-timeout", "dlq-zombie", "dlq-exhausted",
    "heartbeat-failures", "heartbeat-pressure", "transition-conflicts", "circuit-open", "slots-abandoned",
    "poison-wakes",
}  # fmt: skip

SAID_BY_A_FAILING_STORE = {StoreError, StoreUnavailableError, StoreRefusedError}


def test_there_is_an_alert_for_everything_that_a_person_must_hear_of() -> None:
    assert {alert.id for alert in alerts()} == WANTED
    assert len(alerts()) == len(WANTED)


def test_the_template_loads_the_query_of_every_alert() -> None:
    loaded = {
        name.strip("'"): value["function"]["parameters"]["file_path"]
        for name, value in variable("alerts.bicep", "queries").items()
    }
    assert loaded == {alert.id: f"queries/{alert.id}.kql" for alert in alerts()}
    files = {path.stem for path in (INFRA / "queries").iterdir()}
    assert files == {alert.id for alert in alerts()}


def test_the_template_takes_its_thresholds_from_the_file() -> None:
    default = parsed(INFRA / "alerts.bicep")["parameters"]["thresholds"]["default"]["function"]
    assert default["type"] == "load_json_content"
    assert default["parameters"]["file_path"] == "thresholds.json"


def test_a_deployment_may_have_thresholds_of_its_own() -> None:
    """
    Those of a parameter file, and of the page that tells of them, are for alerts that exist.
    """
    template = (INFRA / "alerts.bicep").read_text(encoding="utf-8")
    assert "threshold: contains(ownThresholds, alert.id) ? ownThresholds[alert.id] : alert.threshold\n" in template
    assert "    ownThresholds: alertThresholds\n" in (INFRA / "main.bicep").read_text(encoding="utf-8")
    examples = [json.loads(block.text) for block in read_document(ROOT / "docs/deploy.md").blocks_in("json")]
    given = [example["alertThresholds"]["value"] for example in examples if "alertThresholds" in example]
    given += [parameter_values(name).get("alertThresholds", {}) for name in ("main", "dev", "prod")]
    named = {alert for own in given for alert in own}
    assert named
    assert named <= WANTED


@each_alert
def test_an_alert_is_one_that_azure_takes(alert: Alert) -> None:
    assert 0 <= alert.severity <= 4
    assert alert.operator in {"GreaterThan", "GreaterThanOrEqual"}
    assert alert.frequency_minutes in {1, 5, 10, 15}
    assert alert.window_minutes in {5, 10, 15, 30, 45, 60}
    assert alert.frequency_minutes <= alert.window_minutes
    assert isinstance(alert.threshold, int)
    assert alert.scope in {"component", "workspace"}


@each_alert
def test_a_threshold_follows_the_setting_that_it_comes_from(alert: Alert) -> None:
    if alert.setting is not None:
        default = DEFAULTS[alert.setting]
        number = default.total_seconds() if isinstance(default, timedelta) else default
        assert alert.threshold * alert.divisor == number * alert.multiplier
    if alert.source is not None:
        assert getattr(health, alert.source) == timedelta(seconds=alert.threshold)


def test_the_settings_that_alerts_follow_are_the_ones_that_health_goes_by() -> None:
    assert {alert.id: alert.setting for alert in alerts() if alert.setting} == {
        "queue-lag": "Health.QueueLagUnhealthyThreshold",
        "queue-lag-sql-unhealthy": "Health.QueueLagUnhealthyThreshold",
        "worker-missing": "Health.WorkerHeartbeatTimeout",
        "maintenance-silent": "Functions.MaintenanceInterval",
        "heartbeat-failures": "Execution.HeartbeatFailureThreshold",
        "heartbeat-pressure": "Recovery.ProcessingZombieTimeout",
    }


@each_alert
def test_an_alert_looks_at_the_signals_that_it_names(alert: Alert) -> None:
    query = query_of(alert.id)
    metrics = {signal for signal in alert.signals if signal.startswith("chokaq.")}
    events = {EVENTS[signal] for signal in alert.signals if signal in EVENTS}
    tables = set(alert.signals) - metrics - EVENTS.keys()
    assert kql.metrics_in(query) == metrics
    assert kql.event_ids_in(query) == events
    assert tables <= kql.tables_in(query)


@each_alert
def test_an_alert_links_to_a_runbook_that_is_there(alert: Alert) -> None:
    assert alert.runbook in OPERATIONS.anchors()


@each_query
def test_every_metric_of_a_query_exists_with_the_tags_that_it_reads(name: str) -> None:
    assert kql.metric_problems(QUERIES[name]) == []


@each_query
def test_every_table_and_column_of_a_query_exists(name: str) -> None:
    assert kql.name_problems(QUERIES[name]) == []


@each_alert
def test_a_query_answers_when_nothing_was_sent(alert: Alert) -> None:
    """
    Without a group, `summarize` over no rows gives a row; with one it gives none, and none must mean that all is well.
    """
    last = [line for line in kql.statements(query_of(alert.id)) if line.startswith("summarize")][-1]
    assert (" by " in last) == bool(alert.dimension)
    if alert.id == "timers-silent":  # its sender is the very thing that it watches
        assert "iff(readings == 0, 86400.0" in query_of(alert.id)
        assert not alert.dimension


def test_reasons_in_queries_are_reasons() -> None:
    labels = {reason.label for reason in FailureReason}
    named = {text for query in QUERIES.values() if "reason" in query for text in kql.compared_with(query, "reason")}
    assert named == {
        "Cancelled", "FatalError", "MaxRetriesExceeded", "Rejected", "RetryLifetimeExpired", "Throttled", "Timeout",
        "Zombie",
    }  # fmt: skip
    assert named <= labels


def test_the_circuit_event_in_the_query_is_one() -> None:
    assert kql.compared_with(query_of("circuit-open"), "event") == [str(CircuitEventName.OPENED)]


def test_the_errors_in_queries_are_the_ones_that_a_store_raises() -> None:
    assert all(error.__name__.startswith("Store") for error in SAID_BY_A_FAILING_STORE)
    assert "startswith 'Store'" in query_of("sql-unhealthy")
    assert f"'{ConfigurationError.__name__}'" in query_of("configuration-invalid")


def test_a_line_of_the_log_has_one_brace_before_its_facts() -> None:
    """
    The queries cut the facts out of the message at `{"event_id":`.
    """
    words = [entry.text for entry in WORDING.values() if isinstance(entry, Wording)]
    assert [text for text in words if "{" in text] == []


def test_the_matrix_of_the_documentation_is_the_file_of_thresholds() -> None:
    rows = [line for line, above in OPERATIONS.prose if above == "Alert matrix" and line.startswith("| [`")]
    shown = {re.search(r"`([\w-]+)`", row).group(1): row for row in rows}  # type: ignore[union-attr]
    assert shown.keys() == WANTED
    for alert in alerts():
        cells = [cell.strip() for cell in shown[alert.id].strip("|").split("|")]
        sign = ">" if alert.operator == "GreaterThan" else "≥"
        assert cells[0] == f"[`{alert.id}`](../infra/queries/{alert.id}.kql)"
        assert cells[1] == str(alert.severity)
        assert cells[3] == f"{sign} {alert.threshold} {alert.unit}"
        assert cells[4] == f"{alert.window_minutes} min"
        assert f"](#{alert.runbook})" in cells[6]


def test_the_workbook_shows_what_an_operator_looks_for() -> None:
    metrics = {metric for query in workbook_queries().values() for metric in kql.metrics_in(query)}
    assert metrics >= {
        "chokaq.queue.lag_max", "chokaq.jobs.enqueued", "chokaq.jobs.completed", "chokaq.jobs.dlq",
        "chokaq.jobs.retried", "chokaq.jobs.processing_duration", "chokaq.workers.alive", "chokaq.circuits.events",
        "chokaq.timers.silence",
    }  # fmt: skip
    workbook = json.loads((INFRA / "workbook.json").read_text(encoding="utf-8"))
    assert workbook["fallbackResourceIds"] == ["{componentId}"]
    assert "'{componentId}'" in (INFRA / "alerts.bicep").read_text(encoding="utf-8")


def test_kustos_own_parser_takes_every_query() -> None:
    kusto.need()
    findings = kusto.analyse(QUERIES)
    assert {name: finding.faults for name, finding in findings.items() if finding.faults} == {}
    for alert in alerts():
        columns = findings[alert.id].columns
        assert columns["measure"] == "real"
        assert columns.keys() - {"measure"} == ({alert.dimension} if alert.dimension else set())


def test_each_timer_is_watched_with_the_patience_that_health_has() -> None:
    """
    A timer of a longer period than five minutes would cross the common threshold by running on time.
    """
    patience = {name: max(health.TIMER_PERIODS * period, health.TIMER_SILENCE) for name, period in PERIODS.items()}
    own = {name: wait for name, wait in patience.items() if wait > health.TIMER_SILENCE}
    assert own == {"maintenance": timedelta(minutes=45)}
    (alert,) = [alert for alert in alerts() if alert.id == "maintenance-silent"]
    assert timedelta(seconds=alert.threshold) == own["maintenance"]
    assert kql.compared_with(query_of("timers-silent"), "timer") == ["maintenance"]
    assert kql.compared_with(query_of("maintenance-silent"), "timer") == ["maintenance"]
