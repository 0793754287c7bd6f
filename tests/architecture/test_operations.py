"""
What the operators' page says of the code: metrics, events, reasons, settings, routes, tables. A rename breaks it here.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

import azure.functions as func
import pytest

from chokaq_core.config.catalog import QUEUE_SETTINGS, SECTIONS, SETTINGS
from chokaq_core.domain.errors import ChokaQError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.hosting import ChokaQ
from chokaq_core.hosting.health import SATURATION_CHECK, SQL_CHECK, WORKER_CHECK
from chokaq_core.hosting.http_health import CONFIGURATION_CHECK
from chokaq_core.localhost.functions import sort_by_trigger
from chokaq_core.telemetry.instruments import METER_NAME, Kind
from chokaq_core.telemetry.wording import WORDING, Wording
from tests.support import kql, kusto
from tests.support.documents import ROOT, Document, documents, read_document

OPERATIONS = read_document(ROOT / "docs/operations.md")
DOCUMENTS = documents()

QUERIES = {
    f"{document.name}:{block.line}": block.text for document in DOCUMENTS for block in document.blocks_in("kusto")
}
STATEMENTS = {
    f"{document.name}:{block.line}": block.text for document in DOCUMENTS for block in document.blocks_in("sql")
}

KINDS = {
    Kind.COUNTER: "counter",
    Kind.UP_DOWN_COUNTER: "up-down counter",
    Kind.HISTOGRAM: "histogram",
    Kind.GAUGE: "gauge",
}
LEVELS = {logging.DEBUG: "debug", logging.INFO: "info", logging.WARNING: "warning", logging.ERROR: "error"}

RUNBOOKS = {
    "Queue lag", "Jobs wait, and no alarm", "Worker unhealthy", "SQL unhealthy", "Silent timers", "DLQ spike",
    "Fatal errors",
    "Unresolved Key Vault reference, or other bad setting", "Payload defect and rejected jobs",
    "Type-key troubleshooting", "Throttled dependency", "Timeouts", "Cancellations", "Zombies", "Exhausted retries",
    "Open circuit", "Heartbeat pressure", "Transition conflicts", "Abandoned slots", "Poison wakes",
    "Worker autoscaling", "Bulk recovery",
}  # fmt: skip

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
each_query = pytest.mark.parametrize("name", QUERIES)
each_statement = pytest.mark.parametrize("name", STATEMENTS)


def rows_under(heading: str) -> list[list[str]]:
    """
    The cells of the tables under a heading, without the first row and the rule below it.
    """
    lines = [line for line, above in OPERATIONS.prose if above == heading and line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_metrics_is_the_list_of_instruments() -> None:
    shown = {cells[0].strip("`"): cells[1:4] for cells in rows_under("Metrics")}
    assert shown == {
        name: [
            KINDS[instrument.kind],
            instrument.unit or "none",
            ", ".join(f"`{tag}`" for tag in instrument.tags) or "–",
        ]
        for name, instrument in kql.INSTRUMENTS.items()
    }
    assert f"The meter is `{METER_NAME}`." in "\n".join(line for line, _ in OPERATIONS.prose)


@each_document
def test_every_metric_that_a_document_names_exists(document: Document) -> None:
    named = {span for span in document.code_spans() if re.fullmatch(r"chokaq\.[a-z_]+\.[a-z_]+", span)}
    assert named - kql.INSTRUMENTS.keys() == set()


def test_the_table_of_events_is_the_list_of_events() -> None:
    shown = {(int(cells[0]), cells[1].strip("`")): cells[2] for cells in rows_under("Log lines")}
    assert shown.keys() == {(event.id, event.title) for event in EventName}
    fixed = {event: entry for event, entry in WORDING.items() if isinstance(entry, Wording)}
    assert {event.id: shown[event.id, event.title] for event in fixed} == {
        event.id: LEVELS[entry.level] for event, entry in fixed.items()
    }


@each_document
def test_an_event_that_a_document_names_has_the_id_beside_it(document: Document) -> None:
    text = "\n".join(line for line, _ in document.prose)
    pairs = {(int(number), title) for number, title in re.findall(r"\b([1-7]\d{3}) `([A-Z]\w+)`", text)}
    assert pairs - {(event.id, event.title) for event in EventName} == set()


@each_document
def test_every_setting_that_a_document_names_exists(document: Document) -> None:
    sections = "|".join(section.name for section in SECTIONS if section.name != "Queues")
    pattern = re.compile(rf"(?:{sections})\.[A-Z]\w+")
    named = {span for span in document.code_spans() if pattern.fullmatch(span)}
    assert named - {setting.name for setting in SETTINGS} == set()


def test_every_reason_has_a_runbook_that_is_there() -> None:
    links = {
        cells[0].strip("`"): re.findall(r"\]\(#([\w-]+)\)", cells[1])
        for cells in rows_under("DLQ spike")
        if cells[0].startswith("`")
    }
    assert links.keys() == {reason.label for reason in FailureReason}
    assert {label for label, anchors in links.items() if not anchors or set(anchors) - OPERATIONS.anchors()} == set()


def test_every_runbook_is_there_and_says_what_it_means_and_what_to_look_at_and_to_do() -> None:
    begun = False
    texts: dict[str, str] = {}
    for line, heading in OPERATIONS.prose:
        begun = begun or heading == "Runbooks"
        if begun and heading != "Runbooks":
            texts[heading] = texts.get(heading, "") + line
    assert texts.keys() == RUNBOOKS
    exempt = {"Bulk recovery", "Worker autoscaling"}
    assert [name for name in texts.keys() - exempt if "**Means:**" not in texts[name]] == []
    assert [name for name in texts.keys() - {"Bulk recovery"} if "**Look" not in texts[name]] == []
    assert [name for name, text in texts.items() if "**Do:**" not in text] == []
    queried = {block.heading for block in OPERATIONS.blocks_in("kusto")}
    assert RUNBOOKS - queried == set()


def test_the_checks_of_health_each_lead_to_a_runbook() -> None:
    named = [cells[0].strip("`") for cells in rows_under("Health")]
    assert named == [CONFIGURATION_CHECK, SQL_CHECK, WORKER_CHECK, SATURATION_CHECK]


@each_document
def test_every_route_of_the_deck_that_a_document_calls_exists(document: Document) -> None:
    text = "\n".join([*(block.text for block in document.blocks), *(line for line, _ in document.prose)])
    called = {path.rstrip("/") for path in re.findall(r"/api/(deck/[a-z{}/]*[a-z}])", text)}
    patterns = [re.compile(re.sub(r"\\\{\w+\\\}", r"[^/]+", re.escape(route))) for route in routes_of_the_app()]
    assert {path for path in called if not any(pattern.fullmatch(path) for pattern in patterns)} == set()


def routes_of_the_app() -> list[str]:
    app = func.FunctionApp()
    ChokaQ(ROOT, environ={}).register(app)
    return [function.route for function in sort_by_trigger(app.get_functions()).http]


def test_errors_that_the_page_names_are_ours() -> None:
    ours = {error.__name__ for error in all_below(ChokaQError)}
    named = {span for span in OPERATIONS.code_spans() if re.fullmatch(r"[A-Z]\w+Error", span)}
    builtin = {"TypeError", "ValueError", "KeyError"}
    assert named - builtin - ours == {"FatalError"}
    assert "FatalError" in {reason.label for reason in FailureReason}


def test_the_settings_of_queues_that_the_page_names_exist() -> None:
    own = {setting.name.rpartition(".")[2] for setting in QUEUE_SETTINGS}
    assert {"ExecutionTimeout", "MaxWorkers"} <= own


@each_query
def test_every_query_of_the_documents_names_what_exists(name: str) -> None:
    assert kql.metric_problems(QUERIES[name]) == []
    assert kql.name_problems(QUERIES[name]) == []


def test_kustos_own_parser_takes_every_query_of_the_documents() -> None:
    kusto.need()
    findings = kusto.analyse(QUERIES)
    assert len(findings) > 30
    assert {name: finding.faults for name, finding in findings.items() if finding.faults} == {}


@each_statement
def test_every_table_and_column_of_a_statement_exists(name: str) -> None:
    """
    SQL in the documents is for people; its names are those of the schema's scripts.
    """
    tables = columns_by_table(ROOT / "chokaq_core/stores/sqlserver/schema")
    statement = STATEMENTS[name]
    named = set(re.findall(r"\bchokaq\.(\w+)", statement))
    assert named
    assert named <= tables.keys()
    columns = {column for table in named for column in tables[table]}
    given = set(re.findall(r"\bAS (\w+)", statement))
    words = set(re.findall(r"\b[A-Z][a-z]\w+\b", re.sub(r"\bchokaq\.\w+|'[^']*'|--.*", "", statement)))
    assert words - columns - given == set()


@each_statement
def test_a_statement_of_the_documents_only_reads(name: str) -> None:
    assert re.findall(r"\b(INSERT|UPDATE|DELETE|MERGE|DROP|ALTER|TRUNCATE)\b", STATEMENTS[name].upper()) == []


def columns_by_table(folder: Path) -> dict[str, set[str]]:
    """
    What the scripts of a schema create, and what they add later.
    """
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sql")))
    tables: dict[str, set[str]] = {}
    for table, body in re.findall(r"CREATE TABLE \[?chokaq\]?\.(\w+) \((.*?)\n\);", text, re.DOTALL):
        tables[table] = set(re.findall(r"^    (\w+) ", body, re.MULTILINE))
    for table, column in re.findall(r"ALTER TABLE \[?chokaq\]?\.(\w+) ADD (\w+) ", text):
        tables[table].add(column)
    return tables


def all_below(error: type[ChokaQError]) -> set[type[ChokaQError]]:
    return {error} | {one for below in error.__subclasses__() for one in all_below(below)}
