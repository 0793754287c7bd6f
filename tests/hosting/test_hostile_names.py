"""
20,000 jobs whose callers make up every name that they can, over HTTP and run: what is counted stays within its budgets.
"""

from __future__ import annotations

import gc
import json
import logging
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import azure.functions as func
import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.hosting import http_jobs
from chokaq_core.hosting.core import Core
from chokaq_core.telemetry import instruments
from tests.support.readings import Readings

QUEUES, TYPES, BATCH = 2_000, 500, 1_000
"""Names that callers make up; a queue of them goes with one type, so that there are as many lanes as queues."""
HALF = 10_000
OVERFLOW = "other"

ENVIRON = {
    "ChokaQ__Metrics__MaxQueueTagValues": "20",
    "ChokaQ__Metrics__MaxJobTypeTagValues": "30",
    "ChokaQ__Metrics__MaxErrorTagValues": "10",
    "ChokaQ__Retry__MaxAttempts": "1",
    "ChokaQ__Circuit__Enabled": "false",
    "ChokaQ__Worker__MaxConcurrency": "80",
    "ChokaQ__Worker__Prefetch": "400",
    "ChokaQ__Functions__IdleLinger": "00:00:00",
}


async def handle(type_key: str, payload: str, ctx: JobContext) -> None:
    """
    Fails every other round with an error of a new class.
    """
    number = json.loads(payload)["number"]
    if (number // QUEUES) % 2:
        raise type(f"Error{number}", (OSError,), {})(f"message-{number}")


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Readings:
    """
    Where the app's instruments come from, in place of the process's one provider.
    """
    readings = Readings()
    monkeypatch.setattr(instruments, "_global_meter", readings.meter)
    return readings


@pytest.fixture
def core(readings: Readings, tmp_path: Path) -> Iterator[Core]:
    """
    An app in pipe mode, which takes any type.
    """
    core = Core(tmp_path, pipe=handle, environ={**ENVIRON, "ChokaQ__Sqlite__Path": str(tmp_path / "jobs.db")})
    yield core
    core.stop()


def send_and_run(core: Core, numbers: range) -> None:
    """
    Posts jobs by the thousand and runs them.
    """
    for start in numbers[::BATCH]:
        jobs = [
            {
                "type": f"type.{number % TYPES}.v1",
                "payload": {"number": number},
                "queue": f"queue-{number % QUEUES}",
                "id": f"id-{number}",
                "idempotency_key": f"key-{number}",
                "tags": f"tag-{number}",
            }
            for number in range(start, start + BATCH)
        ]
        body = json.dumps({"jobs": jobs}).encode()
        request = func.HttpRequest(
            "POST", "https://app.example/api/jobs/batch", headers={"content-type": "application/json"}, body=body
        )
        answer = http_jobs.enqueue_batch(request, core)
        assert {entry["status"] for entry in json.loads(answer.get_body())["jobs"]} == {202}
        core.runtime().engine.attend()


def series_of(readings: Readings) -> dict[str, int]:
    return {name: len(readings.points(name)) for name in readings.metrics()}


@pytest.mark.case("C-063")
def test_20_000_jobs_with_hostile_names_leave_series_at_the_budgets_and_memory_flat(
    core: Core, readings: Readings, caplog: pytest.LogCaptureFixture
) -> None:
    # A line for each failure would be kept by pytest.
    caplog.set_level(logging.CRITICAL, logger="chokaq")
    send_and_run(core, range(HALF))
    after_half = series_of(readings)
    gc.collect()
    tracemalloc.start()
    try:
        send_and_run(core, range(HALF, 2 * HALF))
        gc.collect()
        grown_by, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert series_of(readings) == after_half
    assert grown_by < 1_000_000
    lanes = (20 + 1) * (30 + 1)
    assert {name: count for name, count in after_half.items() if count > lanes * (10 + 1)} == {}
    assert after_half["chokaq.workers.active"] == 20 + 1
    points = {name: readings.points(name) for name in readings.metrics()}
    values = {value for series in points.values() for tags in series for value in tags}
    assert len({value for value in values if value.startswith("queue-")}) == 20
    assert len({value for value in values if value.startswith("type.")}) == 30
    assert len({value for value in values if value.startswith("Error")}) == 10
    assert {value for value in values if value.startswith(("id-", "key-", "tag-", "message-"))} == set()
    assert (OVERFLOW, OVERFLOW) in points["chokaq.jobs.enqueued"]
    counts = core.runtime().store.counts()
    sums = {name: sum(points[f"chokaq.jobs.{name}"].values()) for name in ("enqueued", "completed", "dlq", "failed")}
    assert sums == {"enqueued": 20_000, "completed": 10_000, "dlq": 10_000, "failed": 10_000}
    assert (counts.hot, counts.archive, counts.dlq) == (0, 10_000, 10_000)
