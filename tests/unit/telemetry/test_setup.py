from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from chokaq_core.telemetry.setup import Targets, targets_of
from tests.support.collector import collecting

# Each of these runs in a process of its own, because global providers can be set once only.
PRELUDE = """
import logging, os, sys
from datetime import timedelta
logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s", stream=sys.stderr)
from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.telemetry import build_telemetry
from chokaq_core.telemetry.setup import flush, turn_on

def azure_monitor():
    print("azure monitor")

def work():
    telemetry = build_telemetry(MetricRules())
    job = JobRef("job-1", "email.send.v1", "mail", attempt=1, worker_id="w")
    with telemetry.tracing.running(job, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"):
        telemetry.events.publish([Event(EventName.JOB_ENQUEUED, job), Event(EventName.JOB_ABANDONED, job)])
"""


def run(script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "APPLICATIONINSIGHTS"))}
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + script], capture_output=True, text=True, check=True, env=kept | environ
    )


@pytest.mark.parametrize(
    "environ,targets",
    [
        ({}, Targets()),
        ({"APPLICATIONINSIGHTS_CONNECTION_STRING": "x"}, Targets(azure_monitor=True)),
        ({"APPLICATIONINSIGHTS_CONNECTION_STRING": ""}, Targets()),
        (
            {
                "APPLICATIONINSIGHTS_CONNECTION_STRING": "x",
                "PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY": "true",
            },
            Targets(),
        ),
        (
            {
                "APPLICATIONINSIGHTS_CONNECTION_STRING": "x",
                "PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY": "false",
            },
            Targets(azure_monitor=True),
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, Targets(otlp=True)),
        ({"CHOKAQ_TELEMETRY": " Console "}, Targets(console=True)),
        ({"CHOKAQ_TELEMETRY": "off"}, Targets()),
        (
            {"APPLICATIONINSIGHTS_CONNECTION_STRING": "x", "OTEL_EXPORTER_OTLP_ENDPOINT": "y"},
            Targets(azure_monitor=True, otlp=True),
        ),
    ],
)
def test_the_environment_says_where_telemetry_goes(environ: Mapping[str, str], targets: Targets) -> None:
    assert targets_of(environ) == targets


def test_where_nothing_is_asked_for_no_sdk_is_loaded() -> None:
    done = run("""
print(turn_on(os.environ, azure_monitor))
print([name for name in sys.modules if name.startswith("opentelemetry")])
print(flush(timedelta(seconds=1)))
""")
    assert done.stdout.splitlines() == ["Targets(azure_monitor=False, otlp=False, console=False)", "[]", "True"]


def test_a_collector_gets_metrics_spans_and_lines() -> None:
    with collecting() as collector:
        done = run(
            "print(turn_on(os.environ, azure_monitor)); work(); print(flush(timedelta(seconds=30)))",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            WEBSITE_SITE_NAME="my-app",
        )
    assert done.stdout.splitlines() == ["Targets(azure_monitor=False, otlp=True, console=False)", "True"]
    for fact in (b"chokaq.jobs.enqueued", b"email.send.v1", b"my-app"):
        assert fact in collector.all_of("/v1/metrics")
    for fact in (b"run mail", bytes.fromhex("0af7651916cd43dd8448eb211c80319c"), b"my-app"):
        assert fact in collector.all_of("/v1/traces")
    for fact in (b"JobAbandoned", b"chokaq.event_id", bytes.fromhex("0af7651916cd43dd8448eb211c80319c")):
        assert fact in collector.all_of("/v1/logs")


def test_a_named_service_keeps_its_name() -> None:
    with collecting() as collector:
        run(
            "turn_on(os.environ, azure_monitor); work(); flush(timedelta(seconds=30))",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_SERVICE_NAME="billing",
            WEBSITE_SITE_NAME="my-app",
        )
    assert b"billing" in collector.all_of("/v1/metrics")
    assert b"my-app" not in collector.all_of("/v1/metrics")


def test_an_export_joins_the_providers_that_stand() -> None:
    script = """
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
reader = InMemoryMetricReader()
def azure_monitor():
    metrics.set_meter_provider(MeterProvider([reader]))
    trace.set_tracer_provider(TracerProvider())
turn_on(os.environ, azure_monitor)
work()
flush(timedelta(seconds=30))
print("chokaq.jobs.enqueued" in reader.get_metrics_data().to_json())
"""
    with collecting() as collector:
        done = run(
            script,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            APPLICATIONINSIGHTS_CONNECTION_STRING="InstrumentationKey=x",
        )
    assert done.stdout == "True\n"
    assert b"chokaq.jobs.enqueued" in collector.all_of("/v1/metrics")
    assert b"run mail" in collector.all_of("/v1/traces")
    assert "Overriding" not in done.stderr


def test_the_console_gets_one_line_for_each_span_and_batch_of_metrics() -> None:
    done = run("turn_on(os.environ, azure_monitor); work(); flush(timedelta(seconds=30))", CHOKAQ_TELEMETRY="console")
    span, metrics = (json.loads(line) for line in done.stdout.splitlines()[:2])
    assert span["name"] == "run mail"
    assert metrics["resource_metrics"][0]["scope_metrics"][0]["metrics"][0]["name"] == "chokaq.jobs.enqueued"


def test_a_package_that_is_not_installed_is_told_and_the_app_goes_on() -> None:
    done = run(
        """
sys.modules["opentelemetry.exporter.otlp.proto.http.metric_exporter"] = None
print(turn_on(os.environ, azure_monitor))
work()
""",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
    )
    assert done.stdout == "Targets(azure_monitor=False, otlp=False, console=False)\n"
    assert "chokaq.telemetry ERROR telemetry to OTLP is asked for, but" in done.stderr
    assert "is not installed; add it to requirements.txt" in done.stderr


def test_a_target_that_fails_is_told_without_its_secret_and_the_next_is_turned_on() -> None:
    done = run(
        """
def azure_monitor():
    raise ValueError("bad connection string: InstrumentationKey=x;AccountKey=s3cret")
print(turn_on(os.environ, azure_monitor))
""",
        APPLICATIONINSIGHTS_CONNECTION_STRING="x",
        CHOKAQ_TELEMETRY="console",
    )
    assert done.stdout.startswith("Targets(azure_monitor=False, otlp=False, console=True)\n")
    assert "telemetry to Application Insights could not be turned on: bad connection string" in done.stderr
    assert "s3cret" not in done.stderr


def test_a_flush_ends_in_time_whatever_the_collector_does() -> None:
    script = """
import time
turn_on(os.environ, azure_monitor)
work()
began = time.monotonic()
print(flush(timedelta(milliseconds=300)), flush(timedelta(milliseconds=300)))
print(time.monotonic() - began < 30)
import threading
print(sum(thread.name == "chokaq-flush" for thread in threading.enumerate()))
sys.stdout.flush()
os._exit(0)
"""
    with collecting() as collector:
        collector.answers_after.clear()
        done = run(script, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert done.stdout.splitlines() == ["False False", "True", "1"]


AZURE = """
from chokaq_core.hosting.azure_monitor import turn_on_azure_monitor
print(turn_on(os.environ, turn_on_azure_monitor))
work()
print(flush(timedelta(seconds=30)))
from opentelemetry._logs import get_logger_provider
print(hasattr(get_logger_provider(), "force_flush"))
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("is_worker_exporting,has_logs", [("false", "False"), ("true", "True")])
def test_application_insights_gets_metrics_spans_and_only_the_lines_that_the_host_does_not_send(
    is_worker_exporting: str, has_logs: str
) -> None:
    with collecting() as collector:
        key = "00000000-0000-0000-0000-000000000001"
        done = run(
            AZURE,
            APPLICATIONINSIGHTS_CONNECTION_STRING=f"InstrumentationKey={key};IngestionEndpoint={collector.url}/",
            APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL="true",
            PYTHON_ENABLE_OPENTELEMETRY=is_worker_exporting,
            OTEL_TRACES_SAMPLER="always_on",
        )
    assert done.stdout.splitlines() == ["Targets(azure_monitor=True, otlp=False, console=False)", "True", has_logs]
    sent = b"".join(body for bodies in collector.bodies.values() for body in bodies)
    assert b"chokaq.jobs.enqueued" in sent
    assert b"run mail" in sent
    assert (b"JobAbandoned" in sent) is (has_logs == "True")
