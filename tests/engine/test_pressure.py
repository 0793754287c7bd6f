"""
Heartbeats under pressure. The bounds are wide: they tell a starved heart from a slow machine.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from chokaq_core.domain.events import EventName
from chokaq_core.domain.value import replace
from chokaq_core.policy.heartbeat import HeartbeatRules
from tests.engine.conftest import OpenFile, OpenRig
from tests.support.engine import MILLISECOND, QUICK_WORKER, Gates, Note, profile_of
from tests.support.faulty_store import FaultyStore

ROOT = Path(__file__).parents[2]
SPINNING_SECONDS = 3.0
LONGEST_GAP_SECONDS = 10.0

WRITER = """
import sys
from datetime import timedelta
from pathlib import Path
from chokaq_core.domain.job import NewJob
from chokaq_core.stores.sqlite import SqliteStore

store, name = SqliteStore(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
for number in range(1_000_000):
    store.enqueue([NewJob(f"{name}-{number}", "nobodys.v1", "{}", delay=timedelta(hours=1))])
"""


def test_sixteen_spinning_handlers_and_four_writing_processes_do_not_hold_a_heartbeat_up(
    open_rig: OpenRig, open_file: OpenFile, gates: Gates, tmp_path: Path
) -> None:
    may_spin, beats = gates.new(), list[float]()

    def spin(job: Note) -> int:
        may_spin.wait(30)
        ends_at, turns = time.monotonic() + SPINNING_SECONDS, 0
        while time.monotonic() < ends_at:
            turns += 1
        return turns

    faulty = FaultyStore(open_file())
    rig = open_rig(
        profile_of(spin),
        store=faulty.as_store(),
        worker=replace(QUICK_WORKER, max_concurrency=16),
        heartbeat=HeartbeatRules(interval_min=100 * MILLISECOND, interval_max=100 * MILLISECOND),
    )
    ids = rig.enqueue_many(16)

    with ExitStack() as stack, rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=16)
        for number in range(4):
            command = [sys.executable, "-c", WRITER, str(tmp_path / "jobs.db"), f"writer-{number}"]
            process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE))
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        for _ in range(1000):
            faulty.after("beat", lambda: beats.append(time.monotonic()))
        beats.append(time.monotonic())
        may_spin.set()
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, count=16)
        beats.append(time.monotonic())

    assert len(beats) > 5
    assert max(later - earlier for earlier, later in itertools.pairwise(beats)) < LONGEST_GAP_SECONDS
    assert {rig.archived(job_id).attempt for job_id in ids} == {1}
    assert rig.events.of(EventName.JOB_HEARTBEAT_WRITE_FAILED) == []
