"""
What a collector gets of one job, from the HTTP request to the archive: one trace, the numbers, the lines.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from tests.hosting.worker_library.library import WorkerLibrary
from tests.support.collector import Collector, collecting
from tests.support.host_process import ROOT
from tests.support.otlp import Line, Span, lines_of, metrics_of, spans_of

TRACE_ID, CALLER = "c0ffee00c0ffee00c0ffee00c0ffee00", "b0b0b0b0b0b0b0b0"
EMAIL = {"to": "ada@example.org", "subject": "s3cret subject", "body": "s3cret body"}
LANE = ("mail", "email.send.v1")


@dataclass(frozen=True)
class Exported:
    """
    One job's life in an app that exports, and what came of it.
    """

    collector: Collector
    stored_parent: str
    spans: list[Span]
    lines: list[Line]

    def named(self, name: str) -> list[Span]:
        """
        The spans of a name.
        """
        return [span for span in self.spans if span.name == name]


@pytest.fixture(scope="module")
def exported(interpreter: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    """
    A job that is enqueued with a trace of its caller's and run by the next wake; then the timer that reads gauges.
    """
    folder = tmp_path_factory.mktemp("otlp")
    database = folder / "jobs.db"
    with collecting() as collector:
        environ = {
            "ChokaQ__Sqlite__Path": str(database),
            "ChokaQ__Functions__IdleLinger": "00:00:00",
            "MAIL_OUTBOX": str(folder / "outbox"),
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_SERVICE_NAME": "my-app",
        }
        library = WorkerLibrary(interpreter, ROOT, environ, folder / "worker.log")
        try:
            parent = f"00-{TRACE_ID}-{CALLER}-01"
            job = {"type": "email.send.v1", "payload": EMAIL, "id": "mail-1"}
            assert library.post(job, traceparent=parent).status == 202
            library.wake()
            assert library.job("mail-1")["status"] == "Succeeded"
            library.tick("chokaq_heartbeat")
        finally:
            library.stop()
        with closing(sqlite3.connect(database)) as archive:
            ((stored,),) = archive.execute("SELECT TraceParent FROM JobsArchive WHERE Id = 'mail-1'")
        yield Exported(collector, stored, spans_of(collector), lines_of(collector))


def test_one_trace_leads_from_the_request_to_the_archive(exported: Exported) -> None:
    (enqueue,) = exported.named("enqueue")
    (run,) = exported.named("run mail")
    (stored,) = exported.named("store enqueue")
    (settled,) = [span for span in exported.named("store turn") if span.parent_id == run.span_id]

    assert {span.trace_id for span in (enqueue, stored, run, settled)} == {TRACE_ID}
    assert [enqueue.parent_id, stored.parent_id, run.parent_id] == [CALLER, enqueue.span_id, enqueue.span_id]
    assert [enqueue.kind, stored.kind, run.kind, settled.kind] == ["producer", "client", "consumer", "client"]
    assert run.links == ((TRACE_ID, enqueue.span_id),)
    assert settled.links == ((TRACE_ID, run.span_id),)
    assert enqueue.started_at <= stored.ended_at <= run.started_at <= run.ended_at <= settled.started_at


def test_the_enqueues_span_is_stored_with_the_job(exported: Exported) -> None:
    (enqueue,) = exported.named("enqueue")

    assert exported.stored_parent == f"00-{TRACE_ID}-{enqueue.span_id}-01"


def test_the_spans_name_the_job_as_the_conventions_for_messaging_say(exported: Exported) -> None:
    (enqueue,) = exported.named("enqueue")
    (run,) = exported.named("run mail")

    common = {
        "messaging.system": "chokaq",
        "messaging.destination.name": "mail",
        "messaging.message.id": "mail-1",
        "chokaq.job.type": "email.send.v1",
    }
    assert common.items() <= enqueue.attributes.items()
    assert common.items() <= run.attributes.items()
    assert (run.attributes["messaging.operation.type"], run.attributes["chokaq.job.attempt"]) == ("process", 1)


def test_the_numbers_of_the_job_arrive(exported: Exported) -> None:
    metrics = metrics_of(exported.collector)

    for name in ("enqueued", "completed", "queue_lag", "processing_duration"):
        assert metrics[f"chokaq.jobs.{name}"] == {LANE: 1}
    assert metrics["chokaq.workers.active"] == {("mail",): 0}
    assert not {"chokaq.jobs.dlq", "chokaq.jobs.failed", "chokaq.jobs.retried"} & metrics.keys()


def test_the_gauges_speak_after_the_timer_and_with_no_worker_there(exported: Exported) -> None:
    metrics = metrics_of(exported.collector)

    assert metrics["chokaq.workers.alive"] == {(): 0}
    assert metrics["chokaq.queue.depth"] == {("default",): 0, ("mail",): 0}
    assert metrics["chokaq.heartbeat.age_max"] == {(): 0}
    assert ("heartbeat",) in metrics["chokaq.timers.silence"]


def test_the_lines_arrive_with_their_facts_as_attributes(exported: Exported) -> None:
    (started,) = [line for line in exported.lines if line.attributes.get("chokaq.event_id") == 1000]

    text, _, facts = started.text.partition(" {")
    assert text == "Worker started"
    assert json.loads("{" + facts)["worker_id"] == started.attributes["chokaq.worker_id"]


def test_nothing_that_was_sent_holds_a_payload(exported: Exported) -> None:
    assert exported.collector.bodies.keys() == {"/v1/traces", "/v1/metrics", "/v1/logs"}
    for path in exported.collector.bodies:
        assert b"my-app" in exported.collector.all_of(path)
        assert b"s3cret" not in exported.collector.all_of(path)
        assert b"ada@example.org" not in exported.collector.all_of(path)
