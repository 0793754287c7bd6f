"""
The engine's events as metrics while a job runs.
"""

from __future__ import annotations

import threading

from chokaq_core.domain.events import EventName
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.telemetry.metrics import Metrics
from chokaq_core.telemetry.tags import Tags
from tests.engine.conftest import OpenRig
from tests.support.engine import Note, Rig, profile_of, wait
from tests.support.readings import Readings


def readings_of(rig: Rig) -> Readings:
    """
    What the events that the engine has told so far come to.
    """
    readings = Readings()
    metrics = Metrics(Tags(MetricRules()), readings.instruments)
    metrics.publish([event for name in EventName for event in rig.events.of(name)])
    return readings


def test_a_run_that_is_under_way_is_an_active_worker(open_rig: OpenRig) -> None:
    is_running, may_end = threading.Event(), threading.Event()

    def waiting(job: Note) -> None:
        is_running.set()
        wait(may_end)

    rig = open_rig(profile_of(waiting))
    rig.enqueue(queue="day")
    with rig.visiting():
        wait(is_running)
        rig.events.wait_for(EventName.JOB_STARTED)
        assert readings_of(rig).points("chokaq.workers.active") == {("day",): 1}
        may_end.set()
    rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED)
    assert "chokaq.workers.active" not in readings_of(rig).metrics()
