"""
Claims on idempotency keys, on every kind of claim store: one job does the work, whatever happens in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.ports import Claim, ClaimAnswer, ClaimState, ClaimStore
from chokaq_core.stores.memory_claims import MemoryClaims
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.racing import at_once
from tests.contract.sources import KINDS
from tests.support.clock import SteppedClock

TYPE = "order.charge.v1"
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
CLAIMED = ClaimAnswer(ClaimState.CLAIMED)
IN_PROGRESS = ClaimAnswer(ClaimState.IN_PROGRESS)
OpenClaims = Callable[[SteppedClock, Path, ExitStack], ClaimStore]


def _memory(clock: SteppedClock, _folder: Path, _stack: ExitStack) -> ClaimStore:
    return MemoryClaims(monotonic=lambda: clock.now().timestamp())


def _of_kind(name: str, clock: SteppedClock, folder: Path, stack: ExitStack) -> ClaimStore:
    (kind,) = (kind for kind in KINDS if kind.name == name)
    return stack.enter_context(closing(kind.create(folder).open(clock.now)))


OPENERS: dict[str, OpenClaims] = {"memory": _memory, **{kind.name: partial(_of_kind, kind.name) for kind in KINDS}}


@pytest.fixture(params=list(OPENERS))
def claims(request: pytest.FixtureRequest, clock: SteppedClock, tmp_path: Path) -> Iterator[ClaimStore]:
    with ExitStack() as stack:
        yield OPENERS[request.param](clock, tmp_path, stack)


def claim(job_id: str = "job-1", key: str = "7", type_key: str = TYPE) -> Claim:
    return Claim(type_key, key, job_id)


class TestClaiming:
    def test_the_first_job_claims_and_others_see_it_at_work(self, claims: ClaimStore) -> None:
        assert claims.claim_key(claim(), HOUR) == CLAIMED
        assert claims.claim_key(claim("job-2"), HOUR) == IN_PROGRESS

    def test_the_same_job_may_retake_its_own_claim_which_then_lasts_afresh(
        self, claims: ClaimStore, clock: SteppedClock
    ) -> None:
        claims.claim_key(claim(), HOUR)
        clock.advance(59 * MINUTE)

        assert claims.claim_key(claim(), HOUR) == CLAIMED
        clock.advance(59 * MINUTE)
        assert claims.claim_key(claim("job-2"), HOUR) == IN_PROGRESS

    def test_a_claim_that_has_expired_is_free(self, claims: ClaimStore, clock: SteppedClock) -> None:
        claims.claim_key(claim(), HOUR)
        clock.advance(HOUR)

        assert claims.claim_key(claim("job-2"), HOUR) == CLAIMED
        assert claims.claim_key(claim(), HOUR) == IN_PROGRESS

    @pytest.mark.parametrize(
        "other",
        [
            claim("job-2", type_key="order.refund.v1"),
            claim("job-2", key="7 "),
            claim("job-2", key="ab"),
            claim("job-2", key="Ä"),
        ],
    )
    def test_another_key_or_type_has_nothing_to_do_with_it(self, claims: ClaimStore, other: Claim) -> None:
        for key in ("7", "AB", "ä"):
            claims.claim_key(claim(key=key), HOUR)

        assert claims.claim_key(other, HOUR) == CLAIMED


class TestCompleting:
    @pytest.mark.parametrize("result", ['{"charged":true}', None, '"é🎉"'])
    def test_work_that_is_done_is_answered_with_its_result(self, claims: ClaimStore, result: str | None) -> None:
        claims.claim_key(claim(), HOUR)

        assert claims.complete_key(claim(), result, None)
        assert claims.claim_key(claim("job-2"), HOUR) == ClaimAnswer(ClaimState.COMPLETED, result)
        assert claims.claim_key(claim(), HOUR) == ClaimAnswer(ClaimState.COMPLETED, result)

    def test_it_is_remembered_for_its_own_time(self, claims: ClaimStore, clock: SteppedClock) -> None:
        claims.claim_key(claim(), MINUTE)
        claims.complete_key(claim(), "1", HOUR)
        clock.advance(59 * MINUTE)
        assert claims.claim_key(claim("job-2"), HOUR) == ClaimAnswer(ClaimState.COMPLETED, "1")

        clock.advance(MINUTE)
        assert claims.claim_key(claim("job-2"), HOUR) == CLAIMED

    def test_without_a_time_it_is_remembered_for_ever(self, claims: ClaimStore, clock: SteppedClock) -> None:
        claims.complete_key(claim(), "1", None)
        clock.advance(timedelta(days=36_500))

        assert claims.prune_keys(100) == 0
        assert claims.claim_key(claim("job-2"), HOUR) == ClaimAnswer(ClaimState.COMPLETED, "1")

    def test_a_repeated_completion_is_the_same_completion(self, claims: ClaimStore) -> None:
        claims.claim_key(claim(), HOUR)

        assert [claims.complete_key(claim(), "1", None) for _ in range(2)] == [True, True]

    def test_a_claim_that_expired_unnoticed_may_still_be_completed(
        self, claims: ClaimStore, clock: SteppedClock
    ) -> None:
        claims.claim_key(claim(), HOUR)
        clock.advance(2 * HOUR)

        assert claims.complete_key(claim(), "1", None)

    @pytest.mark.parametrize("is_done", [True, False])
    def test_a_claim_that_passed_to_another_job_may_not(
        self, claims: ClaimStore, clock: SteppedClock, is_done: bool
    ) -> None:
        claims.claim_key(claim(), HOUR)
        clock.advance(HOUR)
        claims.claim_key(claim("job-2"), HOUR)
        if is_done:
            claims.complete_key(claim("job-2"), "2", None)

        assert not claims.complete_key(claim(), "1", None)
        expected = ClaimAnswer(ClaimState.COMPLETED, "2") if is_done else IN_PROGRESS
        assert claims.claim_key(claim("job-3"), HOUR) == expected


class TestReleasing:
    def test_a_released_key_is_free(self, claims: ClaimStore) -> None:
        claims.claim_key(claim(), HOUR)

        assert claims.release_key(claim())
        assert claims.claim_key(claim("job-2"), HOUR) == CLAIMED

    def test_nobody_releases_the_claim_of_another_job(self, claims: ClaimStore) -> None:
        claims.claim_key(claim(), HOUR)

        assert not claims.release_key(claim("job-2"))
        assert claims.claim_key(claim("job-2"), HOUR) == IN_PROGRESS

    def test_done_work_is_not_released(self, claims: ClaimStore) -> None:
        claims.complete_key(claim(), "1", None)

        assert not claims.release_key(claim())
        assert claims.claim_key(claim("job-2"), HOUR) == ClaimAnswer(ClaimState.COMPLETED, "1")

    def test_a_key_that_nobody_holds_is_not_released(self, claims: ClaimStore, clock: SteppedClock) -> None:
        assert not claims.release_key(claim())
        claims.claim_key(claim(), HOUR)
        clock.advance(HOUR)
        assert not claims.release_key(claim())


def test_only_expired_claims_are_pruned_and_no_more_than_asked_for(claims: ClaimStore, clock: SteppedClock) -> None:
    claims.complete_key(claim(key="for ever"), "1", None)
    claims.claim_key(claim(key="long"), 10 * HOUR)
    for number in range(5):
        claims.claim_key(claim(key=f"short-{number}"), HOUR)
    clock.advance(HOUR)

    assert [claims.prune_keys(3) for _ in range(3)] == [3, 2, 0]
    assert claims.claim_key(claim("job-2", key="long"), HOUR) == IN_PROGRESS
    assert claims.claim_key(claim("job-2", key="for ever"), HOUR) == ClaimAnswer(ClaimState.COMPLETED, "1")


def test_of_many_jobs_that_claim_at_once_one_does_the_work(claims: ClaimStore) -> None:
    for number in range(20):
        calls = [partial(claims.claim_key, claim(f"job-{n}", key=str(number)), HOUR) for n in range(8)]
        answers = at_once(calls)
        assert sorted(answer.state for answer in answers) == [ClaimState.CLAIMED, *[ClaimState.IN_PROGRESS] * 7]


class TestMemory:
    def test_it_holds_no_more_than_its_capacity_and_forgets_what_ends_first(self, clock: SteppedClock) -> None:
        claims = MemoryClaims(3, monotonic=lambda: clock.now().timestamp())
        claims.claim_key(claim(key="running"), HOUR)
        claims.complete_key(claim(key="for ever"), "1", None)
        claims.complete_key(claim(key="a day"), "1", 24 * HOUR)

        assert claims.claim_key(claim(key="new"), HOUR) == CLAIMED

        assert len(claims) == 3
        assert claims.claim_key(claim("job-2", key="running"), HOUR) == IN_PROGRESS
        assert claims.claim_key(claim("job-2", key="for ever"), HOUR) == ClaimAnswer(ClaimState.COMPLETED, "1")

    def test_running_work_is_never_forgotten(self, clock: SteppedClock) -> None:
        claims = MemoryClaims(2, monotonic=lambda: clock.now().timestamp())
        for key in ("1", "2"):
            claims.claim_key(claim(key=key), HOUR)

        with pytest.raises(StoreUnavailableError, match="all 2 claims in memory are of running jobs"):
            claims.claim_key(claim(key="3"), HOUR)
        clock.advance(HOUR)
        assert claims.claim_key(claim(key="3"), HOUR) == CLAIMED

    def test_expired_claims_go_in_passing(self, clock: SteppedClock) -> None:
        claims = MemoryClaims(monotonic=lambda: clock.now().timestamp())
        for number in range(100):
            claims.claim_key(claim(key=str(number)), HOUR)
        clock.advance(HOUR)

        for number in range(10):
            claims.claim_key(claim(key=f"new-{number}"), HOUR)

        assert len(claims) == 10

    def test_keys_that_come_and_go_leave_nothing_behind(self, clock: SteppedClock) -> None:
        claims = MemoryClaims(monotonic=lambda: clock.now().timestamp())
        for number in range(10_000):
            claims.claim_key(claim(key=str(number)), HOUR)
            claims.release_key(claim(key=str(number)))

        assert len(claims) == 0
        assert len(claims._expiring) <= 20  # noqa: SLF001 - what the claims leave is to be bounded


@dataclass(frozen=True, slots=True)
class Attempt:
    """
    A worker takes up one of the jobs, or goes on with the one that it runs: it succeeds, fails, crashes, or waits.
    """

    worker: int
    job: str
    way: str
    seconds: int


@dataclass(slots=True)
class Race:
    """
    Two workers that run the jobs of one key. One that crashes says nothing, and its job is taken up again later.
    """

    claims: ClaimStore
    clock: SteppedClock
    running: dict[int, tuple[str, float]] = field(default_factory=dict)
    done: list[tuple[str, float]] = field(default_factory=list)

    def take(self, attempt: Attempt) -> None:
        self.clock.advance(timedelta(seconds=attempt.seconds))
        if attempt.worker not in self.running:
            self._begin(attempt)
        else:
            self._end(attempt)

    def _begin(self, attempt: Attempt) -> None:
        if attempt.job in {job for job, _ in self.running.values()}:
            return
        answer = self.claims.claim_key(claim(attempt.job), MINUTE)
        now = self.clock.now().timestamp()
        living = [job for job, until in self.running.values() if until > now]
        match answer.state:
            case ClaimState.CLAIMED:
                assert living == [], f"{attempt.job} runs beside {living}"
                assert self._remembered(now) is None, f"{attempt.job} runs again what is done"
                self.running[attempt.worker] = (attempt.job, now + 60)
            case ClaimState.IN_PROGRESS:
                assert self._remembered(now) is None
            case ClaimState.COMPLETED:
                assert answer.result == self._remembered(now)

    def _end(self, attempt: Attempt) -> None:
        job, until = self.running.pop(attempt.worker)
        now = self.clock.now().timestamp()
        if attempt.way == "succeed":
            is_kept = self.claims.complete_key(claim(job), f'"{job}"', timedelta(minutes=5))
            assert is_kept or until <= now, "a job that holds its key completes it"
            if is_kept:
                self.done.append((f'"{job}"', now + 300))
        elif attempt.way == "fail":
            is_released = self.claims.release_key(claim(job))
            assert is_released or until <= now, "a job that holds its key releases it"

    def _remembered(self, now: float) -> str | None:
        living = [result for result, until in self.done if until > now]
        return living[-1] if living else None


_ATTEMPTS = st.lists(
    st.builds(
        Attempt,
        st.integers(0, 1),
        st.sampled_from(["job-1", "job-2", "job-3"]),
        st.sampled_from(["succeed", "fail", "crash"]),
        st.sampled_from([0, 1, 20, 59, 60, 61, 400]),
    ),
    max_size=30,
)


@pytest.mark.parametrize("name", ["memory", "sqlite-memory"])
@given(attempts=_ATTEMPTS)
def test_whatever_two_workers_do_the_work_behind_a_key_is_done_by_one_job_at_a_time_and_then_no_more(
    name: str, attempts: list[Attempt]
) -> None:
    clock = SteppedClock()
    with ExitStack() as stack:
        race = Race(OPENERS[name](clock, Path(), stack), clock)
        for attempt in attempts:
            race.take(attempt)


def test_the_embedded_store_and_the_memory_keep_the_same_port() -> None:
    stores: list[ClaimStore] = [MemoryClaims(), SqliteStore()]

    assert [type(store).__name__ for store in stores] == ["MemoryClaims", "SqliteStore"]
