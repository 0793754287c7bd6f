"""
Storing new jobs: what is written, and which of the four outcomes each job has.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chokaq_core.domain.job import HotJob, NewJob, Place, Status
from chokaq_core.domain.moves import retry
from chokaq_core.domain.value import replace
from chokaq_core.ports import Edit, EnqueueAnswer, EnqueueItem, EnqueueOutcome, PillarCounts, WorkerFacts, WorkerState
from tests.contract.stages import BOOM, MINUTE, SECOND, WORKER, Stage, snapshot
from tests.support.clock import NOON

CREATED, DUPLICATE, KEY_CONFLICT, ID_TAKEN = EnqueueOutcome
STORED_PLACES = [place for place in Place if place is not Place.ABSENT]


def test_a_new_job_is_stored_with_every_value_given(stage: Stage) -> None:
    job = NewJob(
        id="018f-a.B_c~1",
        type_key="email.send.v1",
        payload='{"to": "ann"}',
        queue="mail",
        priority=42,
        idempotency_key="order-7",
        tags="news,spring",
        created_by="billing",
        trace_parent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )

    answer = stage.store.enqueue([job])

    assert answer == EnqueueAnswer((EnqueueItem(CREATED, "018f-a.B_c~1"),), is_claimable=True, is_worker_looking=False)
    assert stage.store.find("018f-a.B_c~1") == HotJob(
        id="018f-a.B_c~1",
        queue="mail",
        type_key="email.send.v1",
        payload='{"to": "ann"}',
        tags="news,spring",
        idempotency_key="order-7",
        priority=42,
        attempt=0,
        lease_number=0,
        interruptions=0,
        worker_id=None,
        due_at=NOON,
        created_at=NOON,
        started_at=None,
        last_updated_at=NOON,
        lifetime_start_at=NOON,
        attempt_errors=(),
        trace_parent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        created_by="billing",
        last_modified_by=None,
        status=Status.PENDING,
        heartbeat_at=None,
        cancel_requested_at=None,
        cancel_requested_by=None,
        progress=None,
        progress_note=None,
        is_ready=True,
    )


def test_what_was_not_given_stays_empty_or_takes_its_default(stage: Stage) -> None:
    stage.store.enqueue([NewJob(id="a", type_key="t", payload="null")])

    job = stage.hot("a")

    assert (job.queue, job.priority) == ("default", 10)
    assert (job.idempotency_key, job.tags, job.created_by, job.trace_parent) == (None, None, None, None)


@pytest.mark.case("C-024")
@pytest.mark.case("C-025")
@pytest.mark.parametrize(
    "delay,due_at,expected",
    [
        (None, None, NOON),
        (timedelta(0), None, NOON),
        (timedelta(microseconds=1), None, NOON + timedelta(microseconds=1)),
        (timedelta(days=1), None, NOON + timedelta(days=1)),
        (None, NOON + timedelta(hours=5), NOON + timedelta(hours=5)),
        (None, NOON - timedelta(hours=5), NOON),
        (None, datetime(1970, 1, 1, tzinfo=UTC), NOON),
        (None, datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
        (timedelta(days=366 * 9000), None, datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_a_job_is_due_now_or_when_it_was_asked_to_be_and_never_in_the_past(
    stage: Stage, delay: timedelta | None, due_at: datetime | None, expected: datetime
) -> None:
    job = stage.hot(stage.add(delay=delay, due_at=due_at).id)

    assert job.due_at == expected
    assert job.is_ready == (expected == NOON)


def test_the_lifetime_of_a_delayed_job_starts_at_its_first_due_time(stage: Stage) -> None:
    job = stage.hot(stage.add(delay=timedelta(days=2)).id)

    assert job.lifetime_start_at == NOON + timedelta(days=2)
    assert job.created_at == NOON


def test_the_first_job_of_a_queue_makes_its_row(stage: Stage) -> None:
    assert [row.name for row in stage.store.queues()] == ["default"]

    stage.add(queue="mail")

    mail = stage.queue("mail")
    assert (mail.is_paused, mail.is_active, mail.max_workers, mail.zombie_timeout) == (False, True, None, None)


def test_a_further_job_leaves_the_controls_of_its_queue_alone(stage: Stage) -> None:
    stage.set_queue("mail", is_paused=True, max_workers=3, zombie_timeout=5 * MINUTE)

    stage.add(queue="mail")

    mail = stage.queue("mail")
    assert (mail.is_paused, mail.is_active, mail.max_workers, mail.zombie_timeout) == (True, True, 3, 5 * MINUTE)


@pytest.mark.parametrize("place", STORED_PLACES)
def test_a_repeat_of_a_lost_call_answers_created_and_writes_nothing(stage: Stage, place: Place) -> None:
    staged = stage.put(place, idempotency_key="order-7")
    stage.clock.advance(MINUTE)
    before = snapshot(stage, staged.id)

    answer = stage.store.enqueue([staged.job])

    assert answer.items == (EnqueueItem(CREATED, staged.id),)
    assert snapshot(stage, staged.id) == before


@pytest.mark.parametrize("place", STORED_PLACES)
@pytest.mark.parametrize("other", [{"type_key": "email.send.v2"}, {"payload": '{"to": "bob"}'}])
def test_an_id_that_stands_for_other_work_is_taken(stage: Stage, place: Place, other: dict[str, Any]) -> None:
    staged = stage.put(place)
    stage.clock.advance(MINUTE)
    before = snapshot(stage, staged.id)

    answer = stage.store.enqueue([replace(staged.job, **other)])

    assert answer.items == (EnqueueItem(ID_TAKEN, staged.id),)
    assert snapshot(stage, staged.id) == before


def test_an_id_is_free_again_after_a_purge(stage: Stage) -> None:
    staged = stage.put(Place.ABSENT)

    assert stage.store.enqueue([replace(staged.job, payload="{}")]).items == (EnqueueItem(CREATED, staged.id),)


@pytest.mark.parametrize("place", [Place.PENDING, Place.FETCHED, Place.PROCESSING])
def test_a_key_that_an_active_job_holds_makes_the_next_one_a_duplicate(stage: Stage, place: Place) -> None:
    first = stage.put(place, idempotency_key="order-7")
    before = snapshot(stage, first.id)
    second = stage.new_job(idempotency_key="order-7", queue="other", priority=99)

    answer = stage.store.enqueue([second])

    assert answer.items == (EnqueueItem(DUPLICATE, first.id),)
    assert stage.store.find(second.id) is None
    assert snapshot(stage, first.id) == before


@pytest.mark.parametrize("other", [{"type_key": "email.send.v2"}, {"payload": '{"to": "bob"}'}])
def test_a_key_that_is_held_for_other_work_is_a_conflict(stage: Stage, other: dict[str, Any]) -> None:
    first = stage.add(idempotency_key="order-7")
    before = snapshot(stage, first.id)
    second = stage.new_job(idempotency_key="order-7", **other)

    answer = stage.store.enqueue([second])

    assert answer.items == (EnqueueItem(KEY_CONFLICT, first.id),)
    assert stage.store.find(second.id) is None
    assert snapshot(stage, first.id) == before


def test_a_key_still_stands_for_the_payload_that_an_edit_gave_its_job(stage: Stage) -> None:
    first = stage.add(idempotency_key="order-7")
    stage.store.edit([first.id], Edit(payload='{"to": "bob"}'), "ann")

    answer = stage.store.enqueue(
        [
            stage.new_job(idempotency_key="order-7"),
            stage.new_job(idempotency_key="order-7", payload='{"to": "bob"}'),
        ]
    )

    assert answer.items == (EnqueueItem(KEY_CONFLICT, first.id), EnqueueItem(DUPLICATE, first.id))


@pytest.mark.case("C-020")
@pytest.mark.parametrize("place", [Place.ARCHIVE, Place.DLQ, Place.ABSENT])
def test_a_key_is_free_once_its_job_has_ended(stage: Stage, place: Place) -> None:
    stage.put(place, idempotency_key="order-7")

    second = stage.add(idempotency_key="order-7", payload='{"to": "bob"}')

    assert stage.hot(second.id).idempotency_key == "order-7"


def test_a_key_is_free_once_its_job_was_cancelled(stage: Stage) -> None:
    first = stage.add(idempotency_key="order-7")
    stage.store.cancel([first.id], "ann")

    assert stage.hot(stage.add(idempotency_key="order-7").id).idempotency_key == "order-7"


def test_a_key_stays_held_through_retries(stage: Stage) -> None:
    first = stage.running(idempotency_key="order-7")
    stage.settle(retry(first.lease, MINUTE, BOOM))

    answer = stage.store.enqueue([stage.new_job(idempotency_key="order-7")])

    assert answer.items == (EnqueueItem(DUPLICATE, first.lease.job_id),)


def test_two_jobs_without_a_key_never_conflict(stage: Stage) -> None:
    answer = stage.store.enqueue([stage.new_job(), stage.new_job()])

    assert [item.outcome for item in answer.items] == [CREATED, CREATED]


@pytest.mark.case("C-031")
def test_answers_stand_in_the_order_of_the_jobs_and_a_bad_one_spoils_nothing(stage: Stage) -> None:
    running = stage.running(idempotency_key="held").lease.job_id
    archived = stage.archived().lease.job_id
    jobs = [
        NewJob("z-last", "t", "1"),
        NewJob(archived, "t", "2"),
        NewJob("b", "email.send.v1", '{"to": "ann"}', idempotency_key="held"),
        NewJob("c", "t", "3", idempotency_key="held"),
        NewJob("a-first", "t", "4", idempotency_key="free"),
        NewJob(running, "email.send.v1", '{"to": "ann"}'),
    ]

    answer = stage.store.enqueue(jobs)

    assert answer.items == (
        EnqueueItem(CREATED, "z-last"),
        EnqueueItem(ID_TAKEN, archived),
        EnqueueItem(DUPLICATE, running),
        EnqueueItem(KEY_CONFLICT, running),
        EnqueueItem(CREATED, "a-first"),
        EnqueueItem(CREATED, running),
    )
    assert stage.store.counts() == PillarCounts(hot=3, archive=1, dlq=0)


@pytest.mark.case("C-031")
def test_jobs_of_one_batch_are_judged_against_those_before_them(stage: Stage) -> None:
    jobs = [
        NewJob("a", "t", "1", idempotency_key="k"),
        NewJob("a", "t", "1", idempotency_key="k"),
        NewJob("a", "t", "2"),
        NewJob("b", "t", "1", idempotency_key="k"),
        NewJob("c", "t", "3", idempotency_key="k"),
        NewJob("c", "t", "3"),
    ]

    answer = stage.store.enqueue(jobs)

    assert answer.items == (
        EnqueueItem(CREATED, "a"),
        EnqueueItem(CREATED, "a"),
        EnqueueItem(ID_TAKEN, "a"),
        EnqueueItem(DUPLICATE, "a"),
        EnqueueItem(KEY_CONFLICT, "a"),
        EnqueueItem(CREATED, "c"),
    )
    assert stage.store.counts().hot == 2


def test_a_batch_of_a_thousand_is_stored_whole_and_its_repeat_answers_the_same(stage: Stage) -> None:
    jobs = [
        NewJob(f"job-{n}", f"type-{n % 7}", f"{n}", queue=f"q{n % 5}", idempotency_key=f"key-{n}") for n in range(1000)
    ]

    first = stage.store.enqueue(jobs)
    again = stage.store.enqueue(jobs)

    assert first.items == tuple(EnqueueItem(CREATED, f"job-{n}") for n in range(1000))
    assert again == first
    assert stage.store.counts() == PillarCounts(hot=1000, archive=0, dlq=0)


def test_an_empty_batch_is_answered_with_nothing(stage: Stage) -> None:
    assert stage.store.enqueue([]) == EnqueueAnswer((), is_claimable=False, is_worker_looking=False)


class TestIsAWorkerLooking:
    def test_no_while_no_worker_has_promised(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))
        stage.turn(want=1)

        assert not _is_worker_looking(stage)

    def test_yes_until_the_promised_time(self, stage: Stage) -> None:
        _promise(stage, 2 * SECOND)
        assert _is_worker_looking(stage)

        stage.clock.advance(2 * SECOND - timedelta(microseconds=1))
        assert _is_worker_looking(stage)

        stage.clock.advance(timedelta(microseconds=1))
        assert not _is_worker_looking(stage)

    def test_the_last_promise_counts(self, stage: Stage) -> None:
        _promise(stage, MINUTE)
        stage.turn(looks_again_within=SECOND)
        assert _is_worker_looking(stage)

        stage.turn()
        assert not _is_worker_looking(stage)

    def test_not_by_a_worker_that_has_stopped(self, stage: Stage) -> None:
        _promise(stage, MINUTE)
        stage.store.retire(WORKER)

        assert not _is_worker_looking(stage)

    def test_not_by_one_that_has_come_back_and_promised_nothing_yet(self, stage: Stage) -> None:
        _promise(stage, MINUTE)
        stage.store.retire(WORKER)
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))

        assert not _is_worker_looking(stage)

    def test_not_by_a_worker_that_drains(self, stage: Stage) -> None:
        _promise(stage, MINUTE)
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16, state=WorkerState.DRAINING))

        assert not _is_worker_looking(stage)

    def test_one_of_many_is_enough(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts("worker-0", "host-1", capacity=16))
        _promise(stage, MINUTE)
        stage.store.register(WorkerFacts("worker-9", "host-1", capacity=16, state=WorkerState.STOPPED))

        assert _is_worker_looking(stage)


def _promise(stage: Stage, within: timedelta) -> None:
    stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))
    stage.turn(looks_again_within=within)


def _is_worker_looking(stage: Stage) -> bool:
    return stage.store.enqueue([stage.new_job()]).is_worker_looking
