"""
Health through its functions, in every state that stops work from being done.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.domain.job import NewJob
from chokaq_core.hosting.core import Core
from chokaq_core.hosting.http_health import health, live
from chokaq_core.hosting.single_flight import SingleFlight
from chokaq_core.ports import QueueChange, SchemaState, Turn, Vitals, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore, schema
from tests.support.clock import SteppedClock

SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def store(clock: SteppedClock) -> Iterator[SqliteStore]:
    store = SqliteStore(clock=clock.now)
    store.prepare()
    yield store
    store.close()


def _core(tmp_path: Path, **settings: str) -> Core:
    return Core(tmp_path, environ={f"ChokaQ__{name}": value for name, value in settings.items()})


def _on(core: Core, store: object) -> Core:
    core._store = store  # type: ignore[assignment]  # noqa: SLF001 - a store in a state of the test's choosing
    return core


def _answer(core: Core) -> tuple[int, dict[str, Any]]:
    answer = health(core)
    return answer.status_code, json.loads(answer.get_body())


def test_all_is_well(tmp_path: Path, store: SqliteStore) -> None:
    status, body = _answer(_on(_core(tmp_path), store))

    assert (status, body["status"]) == (200, "Healthy")
    assert set(body["checks"]) == {"chokaq_configuration", "chokaq_worker", "chokaq_queue_saturation"}


@pytest.mark.case("C-062")
def test_work_that_waits_without_a_worker_is_unhealthy_and_names_the_queue(
    tmp_path: Path, store: SqliteStore, clock: SteppedClock
) -> None:
    store.enqueue([NewJob("job-1", "t", "{}", queue="reports")])
    clock.advance(31 * SECOND)

    status, body = _answer(_on(_core(tmp_path), store))

    assert (status, body["status"]) == (503, "Unhealthy")
    assert body["checks"]["chokaq_worker"]["data"]["state"] == "missing"
    assert body["checks"]["chokaq_queue_saturation"]["data"] == {"queue": "reports", "lag_seconds": 31.0}


def test_a_queue_that_is_behind_with_a_worker_there_is_degraded_and_still_200(
    tmp_path: Path, store: SqliteStore, clock: SteppedClock
) -> None:
    store.enqueue([NewJob("job-1", "t", "{}")])
    clock.advance(6 * SECOND)
    store.register(WorkerFacts("worker-1", "host", 4))

    assert _answer(_on(_core(tmp_path), store))[0] == 200
    assert _answer(_on(_core(tmp_path), store))[1]["status"] == "Degraded"


@pytest.mark.parametrize("change", [QueueChange(is_paused=True), QueueChange(is_active=False)])
def test_what_waits_in_a_closed_queue_is_no_lag(
    tmp_path: Path, store: SqliteStore, clock: SteppedClock, change: QueueChange
) -> None:
    store.enqueue([NewJob("job-1", "t", "{}")])
    store.change_queue("default", change)
    clock.advance(timedelta(hours=1))

    assert _answer(_on(_core(tmp_path), store))[1]["status"] == "Healthy"


def test_a_low_priority_job_behind_fresh_ones_is_the_worst_lag(
    tmp_path: Path, store: SqliteStore, clock: SteppedClock
) -> None:
    store.enqueue([NewJob("old", "t", "{}", priority=1)])
    clock.advance(8 * SECOND)
    store.enqueue([NewJob("new", "t", "{}", priority=9)])
    store.register(WorkerFacts("worker-1", "host", 4))

    _, body = _answer(_on(_core(tmp_path), store))

    assert body["checks"]["chokaq_queue_saturation"]["data"]["lag_seconds"] == 8.0


def test_a_job_that_came_due_while_nobody_claimed_is_lag(
    tmp_path: Path, store: SqliteStore, clock: SteppedClock
) -> None:
    store.enqueue([NewJob("later", "t", "{}", delay=60 * SECOND)])
    clock.advance(67 * SECOND)

    _, body = _answer(_on(_core(tmp_path), store))

    assert body["checks"]["chokaq_queue_saturation"]["data"]["lag_seconds"] == 7.0


@pytest.mark.case("C-062")
def test_a_silent_timer_is_unhealthy(tmp_path: Path, store: SqliteStore, clock: SteppedClock) -> None:
    store.timer_started("poll")
    store.timer_finished("poll", "ok", has_succeeded=True)
    clock.advance(timedelta(minutes=16))

    status, body = _answer(_on(_core(tmp_path), store))

    assert (status, body["checks"]["chokaq_worker"]["data"]["silent_timers"]) == (503, ["poll"])


def test_a_worker_that_runs_a_job_is_counted(tmp_path: Path, store: SqliteStore) -> None:
    store.register(WorkerFacts("worker-1", "host", 4))
    store.enqueue([NewJob("job-1", "t", "{}")])
    store.turn(Turn("worker-1", 1, want=1, looks_again_within=SECOND))

    _, body = _answer(_on(_core(tmp_path), store))

    assert body["checks"]["chokaq_worker"]["data"]["workers"] == 1


@pytest.mark.case("C-062")
@pytest.mark.parametrize("error", [StoreUnavailableError, StoreRefusedError])
def test_a_database_that_fails_is_503_without_its_text(tmp_path: Path, error: Callable[[str], Exception]) -> None:
    class Failing:
        def vitals(self) -> object:
            raise error("Login failed; Server=tcp:db.example.net;Uid=app;Pwd=s3cret;")

    answer = health(_on(_core(tmp_path), Failing()))

    assert answer.status_code == 503
    text = answer.get_body().decode()
    assert "s3cret" not in text
    assert "db.example.net" not in text


@pytest.mark.case("C-062")
def test_why_the_database_cannot_be_used_is_logged_when_that_begins_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        is_away = True

        def vitals(self) -> Vitals:
            if self.is_away:
                raise StoreUnavailableError("Login failed; Server=tcp:db.example.net;Uid=app;Pwd=s3cret;")
            return Vitals(datetime.now(UTC), SchemaState(1, 1))

    failing, core = Failing(), _core(tmp_path)
    _on(core, failing)

    def told() -> list[str]:
        return [line for line in caplog.messages if "StoreUnavailableError" in line and "chokaq_health" in line]

    _answer(core), _answer(core)
    assert len(told()) == 1
    failing.is_away = False
    assert _answer(core)[0] == 200
    failing.is_away = True
    _answer(core)
    assert len(told()) == 2
    assert not any(word in line for line in caplog.messages for word in ("s3cret", "db.example.net"))


@pytest.mark.case("C-062")
def test_a_schema_that_is_older_than_the_code_is_unhealthy(
    tmp_path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)

    status, body = _answer(_on(_core(tmp_path), store))

    assert status == 503
    assert body["checks"]["chokaq_worker"]["description"] == (
        f"the schema is version {schema.VERSION - 1}, the code needs {schema.VERSION}"
    )


@pytest.mark.case("C-062")
def test_with_the_default_settings_the_answer_is_due_half_a_second_before_the_five_are_over(
    tmp_path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def hang(flight: object, timeout: float) -> object:
        waits.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(SingleFlight, "ask", hang)

    status, body = _answer(_on(_core(tmp_path), store))

    assert (status, waits) == (503, [4.5])
    assert body["checks"]["chokaq_worker"]["description"] == "the database did not answer within 4.5 s"


@pytest.mark.case("C-062")
def test_a_schema_that_is_missing_says_what_is_missing(tmp_path: Path) -> None:
    empty = SqliteStore()
    server = "Server=db.example.net;Database=jobs;Trusted_Connection=yes"

    status, body = _answer(_on(_core(tmp_path, SqlServer__ConnectionString=server), empty))

    assert status == 503
    assert "missing tables: JobsHot, JobsArchive, JobsDLQ" in body["checks"]["chokaq_worker"]["description"]
    empty.close()


def test_the_first_look_at_an_embedded_store_makes_its_schema(tmp_path: Path) -> None:
    empty = SqliteStore()

    status, body = _answer(_on(_core(tmp_path), empty))

    assert (status, body["status"]) == (200, "Healthy")
    assert empty.vitals().schema.is_ready
    empty.close()


@pytest.mark.case("C-062")
def test_two_hundred_calls_on_a_hanging_database_share_one_look_and_answer_in_time(tmp_path: Path) -> None:
    go_on, looks = threading.Event(), []

    class Hanging:
        def vitals(self) -> object:
            looks.append(threading.current_thread().name)
            go_on.wait()
            raise StoreUnavailableError("away")

    core = _on(_core(tmp_path, Health__CheckTimeout="00:00:00.3"), Hanging())
    with ThreadPoolExecutor(200) as callers:
        answers = list(callers.map(lambda _: health(core).status_code, range(200)))
    go_on.set()

    assert answers == [503] * 200
    assert len(looks) == 1


def test_the_next_call_after_a_hang_looks_again() -> None:
    answers = iter([1, 2])
    flight = SingleFlight(lambda: next(answers))

    assert flight.ask(60) == 1
    assert flight.ask(60) == 2


def test_invalid_settings_are_named_without_their_values(tmp_path: Path) -> None:
    core = _core(tmp_path, Retry__MaxAttempts="zero", Deck__ReadKey="s3cret-and-short")

    status, body = _answer(core)

    assert status == 503
    problems = body["checks"]["chokaq_configuration"]["data"]["problems"]
    assert [problem.partition(":")[0] for problem in problems] == ["Retry.MaxAttempts", "Deck.ReadKey"]
    assert "s3cret" not in json.dumps(body)


def test_the_process_is_alive_whatever_the_settings_are() -> None:
    assert live().status_code == 200
