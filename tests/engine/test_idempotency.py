"""
Jobs that share an idempotency key: one does the work, the others wait for it and take its result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from chokaq_core.contracts import IdempotentJob, JobContext, Profile
from chokaq_core.contracts.request import RawRequest
from chokaq_core.domain.errors import InvalidJobError, RegistrationError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import NewJob, Status
from chokaq_core.policy.idempotency import IdempotencyRules
from chokaq_core.ports import Claim, PillarCounts, Store
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import MILLISECOND, MINUTE, SECOND, Gates, Rig, profile_of, wait
from tests.support.faulty_store import FaultyStore
from tests.support.polling import wait_until

CHARGE = "order.charge.v1"


class Charge(IdempotentJob):
    order: str = "7"
    note: str = ""

    @property
    def idempotency_key(self) -> str:
        return self.order


class ChargeFor(Charge):
    minutes: int

    @property
    def result_ttl(self) -> timedelta | None:
        return timedelta(minutes=self.minutes)


class Work:
    """
    The handler of these tests, of either colour: it keeps what it did, and fails as often as it is told.
    """

    def __init__(self, *, failures: int = 0) -> None:
        self.failures = failures
        self.done: list[str] = []

    def run(self, job: Charge) -> dict[str, str]:
        if self.failures:
            self.failures -= 1
            raise OSError("connection refused")
        self.done.append(job.note)
        return {"charged": job.note}

    async def run_async(self, job: Charge) -> dict[str, str]:
        await asyncio.sleep(0)
        return self.run(job)

    def of_colour(self, is_async: bool) -> Callable[..., Any]:
        return self.run_async if is_async else self.run


def charging(handler: Callable[..., Any], job_type: type[Charge] = Charge, **options: Any) -> Profile:  # noqa: ANN401
    return profile_of(handler, CHARGE, job_type=job_type, **options)


def answers(rig: Rig) -> list[object]:
    return [event.facts["claim"] for event in rig.events.of(EventName.IDEMPOTENCY_CLAIM_ANSWERED)]


colours = pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])


@colours
def test_the_second_job_of_a_key_is_archived_with_the_result_of_the_first(
    open_rig: OpenRig, store: Store, is_async: bool
) -> None:
    work = Work()
    rig = open_rig(charging(work.of_colour(is_async)), claims=store)

    first = rig.archived(rig.run(Charge(note="first")))
    second = rig.archived(rig.run(Charge(note="second")))
    other = rig.archived(rig.run(Charge(order="8", note="other")))

    assert (first.result, second.result, other.result) == (
        '{"charged":"first"}',
        '{"charged":"first"}',
        '{"charged":"other"}',
    )
    assert work.done == ["first", "other"]
    assert answers(rig) == ["claimed", "completed", "completed_duplicate", "claimed", "completed"]


@colours
def test_a_job_whose_key_is_at_work_is_put_off_and_looks_again(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock, gates: Gates, is_async: bool
) -> None:
    may_end = gates.new()
    runs: list[str] = []

    def run(job: Charge) -> str:
        runs.append(job.note)
        wait(may_end)
        return job.note

    async def run_async(job: Charge) -> str:
        return await asyncio.to_thread(run, job)

    rig = open_rig(charging(run_async if is_async else run), store=clocked_store, claims=clocked_store)
    first = rig.enqueue(Charge(note="first"))
    with rig.visiting():
        rig.events.wait_for(EventName.IDEMPOTENCY_CLAIM_ANSWERED)
        second = rig.enqueue(Charge(note="second"))
        rig.events.wait_for(EventName.JOB_POSTPONED, second)
        job = rig.hot(second)
        assert (job.status, job.attempt, job.due_at) == (Status.PENDING, 0, clock.now() + 5 * SECOND)
        may_end.set()

    clock.advance(5 * SECOND)
    rig.visit()

    assert [rig.archived(job_id).result for job_id in (first, second)] == ['"first"', '"first"']
    assert runs == ["first"]
    assert answers(rig) == ["claimed", "in_progress_duplicate", "completed", "completed_duplicate"]


@colours
def test_a_failure_releases_the_key_for_the_next_attempt(open_rig: OpenRig, store: Store, is_async: bool) -> None:
    work = Work(failures=1)
    rig = open_rig(charging(work.of_colour(is_async)), claims=store)

    job = rig.archived(rig.run(Charge(note="first")))

    assert (job.attempt, job.result) == (2, '{"charged":"first"}')
    assert answers(rig) == ["claimed", "released", "claimed", "completed"]


def test_a_job_that_died_leaves_its_key_to_others(open_rig: OpenRig, store: Store) -> None:
    work = Work(failures=1)
    rig = open_rig(charging(work.run, max_attempts=1), claims=store)
    rig.dead(rig.run(Charge(note="first")))

    assert rig.archived(rig.run(Charge(note="second"))).result == '{"charged":"second"}'


@colours
def test_a_job_that_is_cancelled_by_its_timeout_releases_its_key(
    open_rig: OpenRig, store: Store, is_async: bool
) -> None:
    def run(job: Charge, ctx: JobContext) -> None:
        wait_until(lambda: ctx.cancelled)
        ctx.raise_if_cancelled()

    async def run_async(job: Charge) -> None:
        await asyncio.Event().wait()

    # On a busy machine a short time may be over before the key is claimed; then the next one is longer.
    for timeout in (20 * MILLISECOND, SECOND, MINUTE):
        rig = open_rig(charging(run_async if is_async else run, timeout=timeout), claims=store)
        assert rig.dead(rig.run(Charge(order=str(timeout)))).reason is FailureReason.TIMEOUT
        if answers(rig):
            rig.events.wait_for(EventName.IDEMPOTENCY_CLAIM_ANSWERED, count=2)
            assert answers(rig) == ["claimed", "released"]
            return
    pytest.fail("no run came as far as its claim")


def test_a_job_may_retake_the_claim_of_its_own_lost_run(open_rig: OpenRig, store: Store) -> None:
    work = Work()
    rig = open_rig(charging(work.run), claims=store)
    job_id = rig.enqueue(Charge(note="again"))
    store.claim_key(Claim(CHARGE, "7", job_id), 30 * MINUTE)

    rig.visit()

    assert rig.archived(job_id).result == '{"charged":"again"}'


def test_a_job_whose_success_was_not_stored_takes_its_own_result_again(open_rig: OpenRig, store: Store) -> None:
    work = Work()
    rig = open_rig(charging(work.run), claims=store)
    job_id = rig.enqueue(Charge(note="again"))
    store.complete_key(Claim(CHARGE, "7", job_id), '{"charged":"before"}', None)

    rig.visit()

    assert rig.archived(job_id).result == '{"charged":"before"}'
    assert work.done == []


@pytest.mark.parametrize("value", [None, 1, "text", [1, {"a": None}], {"deep": [1.5, True]}])
def test_any_result_is_played_back(open_rig: OpenRig, store: Store, value: object) -> None:
    rig = open_rig(charging(lambda job: value), claims=store)

    first, second = (rig.archived(rig.run(Charge())).result for _ in range(2))

    assert first == second
    assert answers(rig)[-1] == "completed_duplicate"


def test_idempotency_is_outermost_and_spares_duplicates_the_middleware(open_rig: OpenRig, store: Store) -> None:
    seen: list[str] = []

    def note(job: object, ctx: JobContext, call_next: Callable[[], Any]) -> Any:  # noqa: ANN401
        seen.append(ctx.job_id)
        return [call_next()]

    rig = open_rig(charging(lambda job: 1), middleware=(note,), claims=store)
    first, second = rig.run(Charge()), rig.run(Charge())

    assert seen == [first]
    assert rig.archived(second).result == "[1]"


@pytest.mark.parametrize("key", ["", " \t"])
def test_a_blank_key_protects_nothing(open_rig: OpenRig, store: Store, key: str) -> None:
    work = Work()
    rig = open_rig(charging(work.run), claims=store)

    for note in ("first", "second"):
        rig.run(Charge(order=key, note=note))

    assert work.done == ["first", "second"]
    assert answers(rig) == ["empty_key", "empty_key"]


def test_other_types_have_keys_of_their_own(open_rig: OpenRig, store: Store) -> None:
    class Refund(Charge):
        pass

    refunds = profile_of(lambda job: "refunded", "order.refund.v1", job_type=Refund)
    rig = open_rig(charging(lambda job: "charged"), refunds, claims=store)
    rig.run(Charge())

    assert rig.archived(rig.run(Refund())).result == '"refunded"'


def test_jobs_that_are_not_protected_claim_nothing(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store(), claims=faulty.as_store())
    rig.run()

    assert faulty.calls["claim_key"] == 0


class TestTrouble:
    @colours
    def test_a_claim_store_that_is_away_puts_the_job_off(
        self, open_rig: OpenRig, faulty: FaultyStore, is_async: bool
    ) -> None:
        work = Work()
        faulty.refuse("claim_key")
        rig = open_rig(charging(work.of_colour(is_async)), store=faulty.as_store(), claims=faulty.as_store())

        job = rig.hot(rig.run(Charge()))

        assert (job.status, job.attempt, job.attempt_errors) == (Status.PENDING, 0, ())
        assert work.done == []

    def test_a_success_stays_one_though_its_claim_cannot_be_completed(
        self, open_rig: OpenRig, faulty: FaultyStore
    ) -> None:
        faulty.refuse("complete_key")
        rig = open_rig(charging(Work().run), store=faulty.as_store(), claims=faulty.as_store())

        assert rig.archived(rig.run(Charge(note="first"))).result == '{"charged":"first"}'
        assert answers(rig) == ["claimed", "complete_conflict"]

    def test_a_success_stays_one_though_its_claim_passed_to_another_job(self, open_rig: OpenRig, store: Store) -> None:
        def run(job: Charge, ctx: JobContext) -> str:
            store.release_key(Claim(CHARGE, "7", ctx.job_id))
            store.claim_key(Claim(CHARGE, "7", "another"), 30 * MINUTE)
            return "mine"

        rig = open_rig(charging(run), claims=store)

        assert rig.archived(rig.run(Charge())).result == '"mine"'
        assert answers(rig) == ["claimed", "complete_conflict"]

    def test_a_failure_stays_the_jobs_error_though_its_claim_cannot_be_released(
        self, open_rig: OpenRig, faulty: FaultyStore
    ) -> None:
        faulty.refuse("release_key")
        work = Work(failures=1)
        rig = open_rig(charging(work.run, max_attempts=1), store=faulty.as_store(), claims=faulty.as_store())

        job = rig.dead(rig.run(Charge()))

        assert job.error_type == "OSError"
        assert job.error_details is not None
        assert "its idempotency claim could not be released" in job.error_details

    def test_work_that_was_never_awaited_is_not_done(self, open_rig: OpenRig, store: Store) -> None:
        def run(job: Charge) -> object:
            return Work().run_async(job)

        rig = open_rig(charging(run), claims=store)

        assert rig.dead(rig.run(Charge())).reason is FailureReason.FATAL_ERROR
        assert answers(rig) == ["claimed", "released"]

    def test_protected_jobs_without_a_claim_store_are_a_mistake(self, open_rig: OpenRig) -> None:
        with pytest.raises(RegistrationError, match=r"handler of 'order.charge.v1': .* needs a claim store"):
            open_rig(charging(Work().run))


class TestLifetimes:
    RULES: ClassVar = IdempotencyRules(
        in_progress_ttl=30 * MINUTE,
        default_result_ttl=20 * MINUTE,
        min_result_ttl=10 * MINUTE,
        max_result_ttl=60 * MINUTE,
    )

    @pytest.mark.parametrize(
        "job,kept_for",
        [(Charge(), 20 * MINUTE), (ChargeFor(minutes=10), 10 * MINUTE), (ChargeFor(minutes=60), 60 * MINUTE)],
    )
    def test_a_result_is_remembered_as_the_job_or_the_settings_say(
        self, open_rig: OpenRig, clocked_store: Store, clock: SteppedClock, job: Charge, kept_for: timedelta
    ) -> None:
        work = Work()
        profile = charging(work.run, type(job))
        rig = open_rig(profile, store=clocked_store, claims=clocked_store, idempotency=self.RULES)
        rig.run(job)
        clock.advance(kept_for - SECOND)
        rig.run(job)
        assert len(work.done) == 1

        clock.advance(SECOND)
        rig.run(job)
        assert len(work.done) == 2

    @pytest.mark.parametrize("minutes,words", [(9, "shorter than Idempotency.MinResultTtl"), (61, "longer than")])
    def test_a_lifetime_out_of_bounds_is_refused_at_enqueue(
        self, open_rig: OpenRig, store: Store, minutes: int, words: str
    ) -> None:
        rig = open_rig(charging(Work().run, ChargeFor), claims=store, idempotency=self.RULES)

        with pytest.raises(InvalidJobError, match=f"payload.result_ttl: .*{words}"):
            rig.enqueue(ChargeFor(minutes=minutes))
        with pytest.raises(InvalidJobError, match=f"payload.result_ttl: .*{words}"):
            rig.engine.producer.enqueue_raw(RawRequest(CHARGE, f'{{"minutes": {minutes}}}'))
        assert store.counts() == PillarCounts(hot=0, archive=0, dlq=0)

    @pytest.mark.case("C-024")
    def test_a_lifetime_beyond_what_a_database_can_add_is_refused_at_enqueue_and_cut_afterwards(
        self, open_rig: OpenRig, store: Store
    ) -> None:
        minutes = timedelta.max // MINUTE
        work = Work()
        rig = open_rig(charging(work.run, ChargeFor), claims=store)

        with pytest.raises(
            InvalidJobError, match=r"payload\.result_ttl: .* longer than 3650 days; None means for ever"
        ):
            rig.enqueue(ChargeFor(minutes=minutes))
        store.enqueue([NewJob("stored-before", CHARGE, f'{{"order":"7","note":"","minutes":{minutes}}}')])
        rig.visit()

        assert rig.archived("stored-before").attempt == 1
        assert work.done == [""]

    def test_a_lifetime_that_was_allowed_when_the_job_was_accepted_does_not_stop_it(
        self, open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
    ) -> None:
        work = Work()
        generous = open_rig(charging(work.run, ChargeFor), store=clocked_store, claims=clocked_store)
        job_id = generous.enqueue(ChargeFor(minutes=1000))
        strict = open_rig(
            charging(work.run, ChargeFor), store=clocked_store, claims=clocked_store, idempotency=self.RULES
        )

        strict.visit()

        assert strict.archived(job_id).attempt == 1
        clock.advance(60 * MINUTE)
        strict.run(ChargeFor(minutes=60))
        assert len(work.done) == 2
