"""
The export to Application Insights.
"""

from __future__ import annotations

import logging
import os

from chokaq_core.telemetry.setup import EXPORT_INTERVAL_MS, is_true


def turn_on_azure_monitor() -> None:
    """
    Sends spans and metrics to Application Insights, and log lines where the Functions host does not.

    The host passes a worker's log lines on to Application Insights unless the worker says that it exports them itself,
    which it does when PYTHON_ENABLE_OPENTELEMETRY is set; only then are they exported here.

    Raises:
        ImportError: azure-monitor-opentelemetry is not installed.
        ValueError: the connection string is none.
    """
    from azure.monitor.opentelemetry import configure_azure_monitor  # noqa: PLC0415 - takes a second to load

    logging.getLogger("azure").setLevel(logging.WARNING)
    # The package reads its switches from the environment only.
    os.environ.setdefault("OTEL_METRIC_EXPORT_INTERVAL", str(EXPORT_INTERVAL_MS))
    if is_true(os.environ.get("PYTHON_ENABLE_OPENTELEMETRY")):
        # What the exporter says of a failed export would be exported in turn, and so on without end.
        logging.getLogger("azure.monitor.opentelemetry").setLevel(logging.CRITICAL)
    else:
        os.environ.setdefault("OTEL_LOGS_EXPORTER", "none")
    configure_azure_monitor(
        # Wakes are sent with Azure's SDK: a span for each of its calls would outnumber the jobs'.
        instrumentation_options={"azure_sdk": {"enabled": False}},
        enable_live_metrics=False,
        enable_performance_counters=False,
    )
