"""
Turns the export of telemetry on, by environment variables; nothing is sent anywhere unless they ask for it.

    APPLICATIONINSIGHTS_CONNECTION_STRING   Application Insights, unless the Functions runtime exports there already
    OTEL_EXPORTER_OTLP_ENDPOINT             a collector, over HTTP with protobuf; the other OTEL_… variables apply too
    CHOKAQ_TELEMETRY=console                spans and metrics on standard output
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.value import Value
from chokaq_core.telemetry.text import safe_text

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor

_log = logging.getLogger("chokaq.telemetry")

EXPORT_INTERVAL_MS = 15_000
"""How often metrics are sent unless OTEL_METRIC_EXPORT_INTERVAL says it: a killed process loses what is unsent."""


class Targets(Value):
    """
    Where telemetry goes.
    """

    azure_monitor: bool = False
    otlp: bool = False
    console: bool = False

    def __bool__(self) -> bool:
        return self.azure_monitor or self.otlp or self.console


def targets_of(environ: Mapping[str, str]) -> Targets:
    """
    Where the variables send telemetry.
    """
    is_exported_by_runtime = is_true(environ.get("PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY"))
    return Targets(
        azure_monitor=bool(environ.get("APPLICATIONINSIGHTS_CONNECTION_STRING")) and not is_exported_by_runtime,
        otlp=bool(environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")),
        console=environ.get("CHOKAQ_TELEMETRY", "").strip().lower() == "console",
    )


def turn_on(environ: Mapping[str, str], azure_monitor: Callable[[], object]) -> Targets:
    """
    Turns on what the variables ask for; a target that cannot be had is told in the log and never stops the app.

    To be called once in a process, at its first use and not at import: the SDK and its exporters take a second to load.

    Args:
        azure_monitor: sets up the export to Application Insights.

    Returns:
        The targets that are on now.
    """
    wanted = targets_of(environ)
    steps: tuple[tuple[str, bool, Callable[[], object]], ...] = (
        ("Application Insights", wanted.azure_monitor, azure_monitor),
        ("OTLP", wanted.otlp, lambda: _turn_on_otlp(environ)),
        ("console", wanted.console, lambda: _turn_on_console(environ)),
    )
    return Targets(*(is_wanted and _try(name, step) for name, is_wanted, step in steps))


def flush(timeout: timedelta) -> bool:
    """
    Sends what is waiting to be sent; gives up waiting after `timeout`, whatever an exporter does.

    Returns:
        False when something may be unsent still; it goes on being sent while the process lives.
    """
    return _FLUSH.run(timeout)


def is_true(text: str | None) -> bool:
    """
    Whether an environment variable says yes.
    """
    return (text or "").strip().lower() in {"1", "true"}


def _try(name: str, step: Callable[[], object]) -> bool:
    try:
        step()
    except ImportError as error:
        _log.error(
            "telemetry to %s is asked for, but %s is not installed; add it to requirements.txt", name, error.name
        )
    except Exception as error:  # noqa: BLE001 - an app without telemetry is better than no app
        _log.error("telemetry to %s could not be turned on: %s", name, safe_text(error))
    else:
        _log.info("telemetry goes to %s", name)
        return True
    return False


def _turn_on_otlp(environ: Mapping[str, str]) -> None:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 - heavy
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - the same
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - the same

    if environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf") != "http/protobuf":
        _log.warning("OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf is supported and is what is used")
    _join(environ, _reader(environ, OTLPMetricExporter()), BatchSpanProcessor(OTLPSpanExporter()))
    _join_logs(environ)


def _turn_on_console(environ: Mapping[str, str]) -> None:
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter  # noqa: PLC0415 - heavy
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor  # noqa: PLC0415 - the same

    def line(data: Any) -> str:  # noqa: ANN401 - a span or a batch of metrics
        return f"{data.to_json(indent=None)}\n"

    _join(
        environ,
        _reader(environ, ConsoleMetricExporter(formatter=line)),
        SimpleSpanProcessor(ConsoleSpanExporter(formatter=line)),
    )


def _join(environ: Mapping[str, str], reader: MetricReader, processor: SpanProcessor) -> None:
    """
    Adds an export to the providers that stand, or sets providers with it.
    """
    from opentelemetry import metrics, trace  # noqa: PLC0415 - heavy
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - the same
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - the same

    tracers, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
    if not isinstance(tracers, TracerProvider):
        tracers = TracerProvider(resource=_resource(environ))
        trace.set_tracer_provider(tracers)
    tracers.add_span_processor(processor)
    if isinstance(meters, MeterProvider):
        meters.add_metric_reader(reader)
        _FLUSH.join(reader)
    else:
        metrics.set_meter_provider(MeterProvider([reader], _resource(environ)))


def _join_logs(environ: Mapping[str, str]) -> None:
    """
    Sends the lines of the logger `chokaq` along, their fields as attributes.
    """
    from opentelemetry import _logs as api  # noqa: PLC0415 - heavy
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter  # noqa: PLC0415 - the same
    from opentelemetry.instrumentation.logging.handler import LoggingHandler  # noqa: PLC0415 - the same
    from opentelemetry.sdk._logs import LoggerProvider  # noqa: PLC0415 - the same
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor  # noqa: PLC0415 - the same

    loggers = api.get_logger_provider()
    if not isinstance(loggers, LoggerProvider):
        loggers = LoggerProvider(resource=_resource(environ))
        api.set_logger_provider(loggers)
        logging.getLogger("chokaq").addHandler(LoggingHandler(logger_provider=loggers))
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))


def _reader(environ: Mapping[str, str], exporter: MetricExporter) -> MetricReader:
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415 - heavy

    has_own_interval = bool(environ.get("OTEL_METRIC_EXPORT_INTERVAL"))
    return PeriodicExportingMetricReader(exporter, None if has_own_interval else EXPORT_INTERVAL_MS)


def _resource(environ: Mapping[str, str]) -> Resource:
    """
    Who is speaking: the app's name on Azure unless the variables of OpenTelemetry name another.
    """
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - heavy

    is_named = "OTEL_SERVICE_NAME" in environ or "service.name" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({} if is_named else {"service.name": environ.get("WEBSITE_SITE_NAME", "chokaq")})


class _Flush:
    """
    At most one flush at a time, on a thread of its own, since exporters wait for networks as long as they like.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._readers: tuple[MetricReader, ...] = ()

    def join(self, reader: MetricReader) -> None:
        """
        Flushes this reader too: a meter provider forgets the ones that came after it was made.
        """
        self._readers += (reader,)

    def run(self, timeout: timedelta) -> bool:
        sources = [*self._readers, *_providers()]
        if not sources:
            return True
        thread = self._started(sources, timeout)
        thread.join(timeout.total_seconds())
        return not thread.is_alive()

    def _started(self, sources: Sequence[Any], timeout: timedelta) -> threading.Thread:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                arguments = (sources, timeout // timedelta(milliseconds=1))
                self._thread = threading.Thread(target=_force, args=arguments, name="chokaq-flush", daemon=True)
                self._thread.start()
            return self._thread


_FLUSH = _Flush()


def _providers() -> list[Any]:
    from opentelemetry import _logs, metrics, trace  # noqa: PLC0415 - importing this room stays light

    providers = (metrics.get_meter_provider(), trace.get_tracer_provider(), _logs.get_logger_provider())
    return [provider for provider in providers if hasattr(provider, "force_flush")]


def _force(sources: Sequence[Any], timeout_ms: int) -> None:
    for source in sources:
        try:
            source.force_flush(timeout_ms)
        except Exception as fault:  # noqa: BLE001 - one that fails must not keep the next from sending
            _log.warning("telemetry could not be sent: %s", type(fault).__qualname__)
