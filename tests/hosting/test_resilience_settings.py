"""
Settings of circuits, idempotency, retention and the bound in memory, at work in a whole app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from chokaq_core.contracts import IdempotentJob, Job, Profile
from chokaq_core.domain.circuit import CircuitState
from chokaq_core.domain.errors import InvalidJobError
from chokaq_core.domain.job import ArchivedJob
from chokaq_core.hosting.core import Core
from chokaq_core.hosting.runtime import Runtime
from chokaq_core.ports import PillarCounts

OpenApp = Callable[..., Runtime]


class Note(Job):
    text: str = ""


class Charge(IdempotentJob):
    result_ttl: ClassVar[timedelta | None] = timedelta(days=2)
    order: str
    note: str

    @property
    def idempotency_key(self) -> str:
        return self.order


def profile() -> Profile:
    own = Profile("own")

    @own.handler("note.v1", max_attempts=1)
    def work(job: Note) -> None:
        if job.text == "bad":
            raise OSError("connection refused")

    @own.handler("charge.v1")
    def charge(job: Charge) -> str:
        return job.note

    return own


@pytest.fixture
def open_app(tmp_path: Path) -> Iterator[OpenApp]:
    cores: list[Core] = []

    def open_app(**settings: str) -> Runtime:
        environ = {
            f"ChokaQ__{name}": value for name, value in {"Functions__IdleLinger": "00:00:00", **settings}.items()
        }
        cores.append(Core(tmp_path, profiles=[profile()], environ=environ))
        return cores[-1].runtime()

    yield open_app
    for core in cores:
        core.stop()


def run(app: Runtime, job: Job, count: int = 1) -> list[str]:
    ids = [app.producer.enqueue(job).job_id for _ in range(count)]
    app.engine.attend()
    return ids


def test_a_circuit_opens_by_the_settings(open_app: OpenApp) -> None:
    app = open_app(Circuit__FailureThreshold="2")

    run(app, Note(text="bad"), 2)

    assert [(c.type_key, c.state) for c in app.store.circuits()] == [("note.v1", CircuitState.OPEN)]


def test_circuits_can_be_turned_off(open_app: OpenApp) -> None:
    app = open_app(Circuit__Enabled="false")

    run(app, Note(text="bad"), 9)

    assert list(app.store.circuits()) == []


def test_work_behind_a_key_is_done_once(open_app: OpenApp) -> None:
    app = open_app()

    (first,) = run(app, Charge(order="7", note="first"))
    (second,) = run(app, Charge(order="7", note="second"))

    found = [app.store.find(job_id) for job_id in (first, second)]
    assert [job.result for job in found if isinstance(job, ArchivedJob)] == ['"first"', '"first"']


def test_a_type_beyond_the_bounds_is_a_problem_of_the_app(tmp_path: Path) -> None:
    core = Core(tmp_path, profiles=[profile()], environ={"ChokaQ__Idempotency__MaxResultTtl": "1.00:00:00"})

    (problem,) = core.problems
    assert "Charge.result_ttl is 2 days, 0:00:00, longer than Idempotency.MaxResultTtl" in problem


def test_a_key_that_no_database_keeps_is_refused(open_app: OpenApp) -> None:
    with pytest.raises(InvalidJobError, match=r"payload\.idempotency_key"):
        open_app().producer.enqueue(Charge(order="x" * 256, note=""))


def test_old_jobs_are_deleted_by_the_settings(open_app: OpenApp) -> None:
    app = open_app(Retention__Archive="00:00:00.001", Retention__DLQ="null")
    run(app, Note(), 3)
    run(app, Note(text="bad"))

    report = app.maintenance.run()

    assert report.removed["archived jobs"] == 3
    assert "dead jobs" not in report.removed
    assert app.store.counts() == PillarCounts(hot=0, archive=0, dlq=1)


def test_memory_holds_no_more_than_the_settings_say(open_app: OpenApp) -> None:
    app = open_app(InMemory__MaxCapacity="20")

    run(app, Note(), 50)

    assert app.store.counts() == PillarCounts(hot=0, archive=20, dlq=0)
