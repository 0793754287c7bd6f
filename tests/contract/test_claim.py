"""
Which jobs a claim takes, in what order, and what it says about those it did not take.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ClaimedJob, Lease, Place, Status
from chokaq_core.domain.lanes import LaneFilter
from chokaq_core.domain.moves import complete, dead_letter, postpone, release, retry
from chokaq_core.ports import Edit
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Ending, Stage, changed
from tests.support.clock import NOON

MICROSECOND = timedelta(microseconds=1)


class TestLanes:
    """
    A claim that may take from some lanes alone.
    """

    @pytest.mark.parametrize(
        "lanes,expected",
        [
            (None, ["mail a", "mail b", "reports a", "reports b"]),
            (LaneFilter({}, {}, others=True), ["mail a", "mail b", "reports a", "reports b"]),
            (LaneFilter({}, {}, others=False), []),
            (LaneFilter({"a": True}, {}, others=False), ["mail a", "reports a"]),
            (LaneFilter({"a": False}, {}, others=True), ["mail b", "reports b"]),
            (LaneFilter({}, {"mail": True}, others=False), ["mail a", "mail b"]),
            (LaneFilter({}, {"mail": False}, others=True), ["reports a", "reports b"]),
            (LaneFilter({"a": True}, {"reports": True}, others=False), ["mail a", "reports a", "reports b"]),
            (
                LaneFilter({"a": True, "b": False}, {"mail": False, "reports": True}, others=True),
                ["mail a", "reports a"],
            ),
            (LaneFilter({"A": True, "aa": True, "'\\\"": True}, {"Mail": True}, others=False), []),
        ],
    )
    def test_the_type_decides_before_the_queue_and_that_before_the_rest(
        self, stage: Stage, lanes: LaneFilter | None, expected: list[str]
    ) -> None:
        for queue in ("mail", "reports"):
            for type_key in ("a", "b"):
                stage.add(queue=queue, type_key=type_key)

        claimed = stage.turn(want=10, lanes=lanes).claimed

        assert sorted(f"{job.queue} {job.type_key}" for job in claimed) == expected

    def test_what_is_left_out_is_claimed_by_the_next_turn_that_may(self, stage: Stage) -> None:
        first, second = stage.add(type_key="slow.v1"), stage.add(type_key="quick.v1")
        quick_only = LaneFilter({"quick.v1": True}, {}, others=False)

        narrow = stage.turn(want=2, lanes=quick_only)

        assert [job.lease.job_id for job in narrow.claimed] == [second.id]
        assert not narrow.is_full
        assert stage.claim(2) == [first.id]

    def test_a_repeat_gives_the_jobs_of_its_lanes_again(self, stage: Stage) -> None:
        stage.add(type_key="slow.v1")
        quick = stage.add(type_key="quick.v1")
        turn = stage.next_turn(want=2, lanes=LaneFilter({"quick.v1": True}, {}, others=False))

        answers = [stage.store.turn(turn) for _ in range(2)]

        assert [[job.lease.job_id for job in answer.claimed] for answer in answers] == [[quick.id], [quick.id]]

    def test_what_a_turn_gives_back_it_may_claim_again(self, stage: Stage) -> None:
        slow, quick = stage.fetched(type_key="slow.v1"), stage.fetched(type_key="quick.v1")

        answer = stage.turn(
            settlements=(release(slow.lease), release(quick.lease)),
            want=2,
            lanes=LaneFilter({"quick.v1": True}, {}, others=False),
        )

        assert [(job.lease.job_id, job.lease.number) for job in answer.claimed] == [(quick.lease.job_id, 2)]
        assert stage.hot(slow.lease.job_id).status is Status.PENDING


class TestWhatAClaimDoes:
    def test_a_job_to_run_is_leased_started_and_counted(self, stage: Stage) -> None:
        before = stage.hot(stage.add().id)
        stage.clock.advance(MINUTE)

        stage.turn(want=1)

        assert changed(before, stage.hot(before.id)) == {
            "status": Status.PROCESSING,
            "worker_id": WORKER,
            "lease_number": 1,
            "attempt": 1,
            "started_at": NOON + MINUTE,
            "heartbeat_at": NOON + MINUTE,
            "last_updated_at": NOON + MINUTE,
            "is_ready": False,
        }

    def test_a_job_ahead_is_leased_and_its_attempt_not_counted_yet(self, stage: Stage) -> None:
        before = stage.hot(stage.add().id)
        stage.clock.advance(MINUTE)

        stage.turn(prefetch=1)

        after = changed(before, stage.hot(before.id))
        assert after.pop("heartbeat_at", None) in {None, NOON + MINUTE}
        assert after == {
            "status": Status.FETCHED,
            "worker_id": WORKER,
            "lease_number": 1,
            "last_updated_at": NOON + MINUTE,
            "is_ready": False,
        }

    def test_the_answer_holds_all_that_a_run_needs(self, stage: Stage) -> None:
        trace_parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        job = stage.add(queue="mail", created_by="billing", trace_parent=trace_parent, delay=MINUTE)
        stage.clock.advance(2 * MINUTE)

        answer = stage.turn(want=1)

        assert answer.claimed == (
            ClaimedJob(
                lease=Lease(job.id, WORKER, 1),
                queue="mail",
                type_key="email.send.v1",
                payload='{"to": "ann"}',
                status=Status.PROCESSING,
                attempt=1,
                interruptions=0,
                due_at=NOON + MINUTE,
                lifetime_start_at=NOON + MINUTE,
                claimed_at=NOON + 2 * MINUTE,
                created_by="billing",
                trace_parent=trace_parent,
                is_cancel_requested=False,
            ),
        )
        assert answer.now == NOON + 2 * MINUTE

    def test_the_best_jobs_run_and_the_next_ones_are_fetched_ahead(self, stage: Stage) -> None:
        first, second, third, fourth, fifth = stage.add_many(5)

        claimed = stage.turn(want=2, prefetch=2).claimed

        assert [(job.lease.job_id, job.status, job.attempt) for job in claimed] == [
            (first, Status.PROCESSING, 1),
            (second, Status.PROCESSING, 1),
            (third, Status.FETCHED, 0),
            (fourth, Status.FETCHED, 0),
        ]
        assert stage.claim(10) == [fifth]

    def test_a_held_job_is_claimed_by_nobody_else(self, stage: Stage) -> None:
        stage.add_many(2)
        stage.turn(want=1, prefetch=1)

        assert stage.claim(10, OTHER_WORKER) == []
        assert stage.claim(10, WORKER) == []

    def test_a_claim_of_nothing_takes_nothing(self, stage: Stage) -> None:
        stage.add()

        assert stage.turn().claimed == ()


class TestOrderWithinAQueue:
    def test_higher_priorities_come_first(self, stage: Stage) -> None:
        low, middle, high, top = (stage.add(priority=p).id for p in (0, 10, 11, 1_000_000))

        assert stage.claim(10) == [top, high, middle, low]

    def test_among_equal_priorities_the_earliest_due_comes_first(self, stage: Stage) -> None:
        late, early, middle = (stage.add(delay=n * SECOND).id for n in (3, 1, 2))
        stage.clock.advance(MINUTE)

        assert stage.claim(10) == [early, middle, late]

    def test_among_equal_due_times_the_smallest_id_comes_first(self, stage: Stage) -> None:
        for job_id in ("c", "B", "a", "10", "9"):
            stage.add(id=job_id)

        assert stage.claim(10) == ["10", "9", "B", "a", "c"]

    def test_a_retry_stands_behind_what_has_waited_longer(self, stage: Stage) -> None:
        first = stage.running()
        second = stage.add()
        stage.clock.advance(SECOND)
        stage.settle(retry(first.lease, timedelta(0), BOOM))

        assert stage.claim(10) == [second.id, first.lease.job_id]

    def test_a_released_job_takes_its_old_place(self, stage: Stage) -> None:
        first = stage.fetched()
        stage.clock.advance(SECOND)
        second = stage.add()
        stage.settle(release(first.lease))

        assert stage.claim(10) == [first.lease.job_id, second.id]

    def test_jobs_of_many_types_are_one_order(self, stage: Stage) -> None:
        ids = [stage.add(type_key=f"type-{n % 3}", priority=n).id for n in range(9)]

        assert stage.claim(4) == ids[:-5:-1]
        assert stage.claim(10) == ids[-5::-1]

    @pytest.mark.parametrize("queue", ["one", None], ids=["one-queue", "many-queues"])
    def test_one_of_many_types_may_have_all_the_best_jobs(self, stage: Stage, queue: str | None) -> None:
        others = [stage.add(type_key=f"type-{n}", queue=queue or f"queue-{n}").id for n in range(8)]
        best = [stage.add(type_key="best", queue=queue or "best", priority=30 - n).id for n in range(20)]

        assert stage.claim(12) == best[:12]
        assert stage.claim(9) == [*best[12:], others[0]]

    def test_an_edited_priority_counts_at_the_next_claim(self, stage: Stage) -> None:
        first, second = stage.add_many(2)
        stage.store.edit([second], Edit(priority=11), "ann")

        assert stage.claim(10) == [second, first]


class TestDelayedJobs:
    @pytest.mark.case("C-024")
    def test_a_job_is_claimable_from_its_due_time_on(self, stage: Stage) -> None:
        job = stage.add(delay=MINUTE)
        stage.clock.advance(MINUTE - MICROSECOND)
        assert stage.claim() == []

        stage.clock.advance(MICROSECOND)
        assert stage.claim() == [job.id]

    def test_a_delayed_job_of_high_priority_stands_in_nobodys_way(self, stage: Stage) -> None:
        stage.add(delay=MINUTE, priority=1000)
        due = stage.add(priority=1)

        assert stage.claim(10) == [due.id]

    def test_a_claim_looks_at_no_more_than_a_thousand_that_came_due_earliest_first(self, stage: Stage) -> None:
        jobs = [stage.new_job(delay=n * SECOND) for n in range(1, 1001)]
        stage.store.enqueue(jobs)
        last = stage.add(delay=1001 * SECOND, priority=1000)
        stage.clock.advance(1002 * SECOND)

        assert stage.claim() == [jobs[0].id]
        assert stage.claim() == [last.id]


class TestTurnsBetweenQueues:
    def test_queues_of_equal_priority_take_turns_in_one_claim(self, stage: Stage) -> None:
        red = stage.add_many(5, queue="red")
        blue = stage.add_many(5, queue="blue")
        green = stage.add_many(1, queue="green")

        assert stage.claim(7) == [blue[0], green[0], red[0], blue[1], red[1], blue[2], red[2]]

    def test_turns_go_on_from_claim_to_claim(self, stage: Stage) -> None:
        for queue in ("red", "blue", "green"):
            stage.add_many(4, queue=queue)
        last_queue, served = "", []
        for _ in range(7):
            answer = stage.turn(want=1, after_queue=last_queue)
            last_queue = answer.last_queue
            served.append(answer.claimed[0].queue)

        assert served == ["blue", "green", "red", "blue", "green", "red", "blue"]

    def test_the_last_queue_served_in_turn_is_answered_whatever_the_order_of_its_rows(self, stage: Stage) -> None:
        for queue in ("red", "blue", "green"):
            stage.add_many(4, queue=queue)

        first = stage.turn(want=2)
        second = stage.turn(want=2, after_queue=first.last_queue)

        assert [job.queue for job in first.claimed] == ["blue", "green"]
        assert [job.queue for job in second.claimed] == ["red", "blue"]
        assert second.last_queue == "blue"

    @pytest.mark.parametrize(
        "after_queue,expected",
        [
            ("", "blue"),
            ("blue", "green"),
            ("color-that-was", "green"),
            ("green", "red"),
            ("red", "blue"),
            ("zebra", "blue"),
        ],
    )
    def test_the_cycle_goes_on_behind_any_name(self, stage: Stage, after_queue: str, expected: str) -> None:
        for queue in ("red", "blue", "green"):
            stage.add(queue=queue)

        assert stage.turn(want=1, after_queue=after_queue).claimed[0].queue == expected

    def test_a_claim_that_found_nothing_keeps_the_place_in_the_cycle(self, stage: Stage) -> None:
        assert stage.turn(want=1, after_queue="green").last_queue == "green"
        assert stage.turn(after_queue="green").last_queue == "green"

    def test_a_crowded_queue_does_not_starve_another(self, stage: Stage) -> None:
        stage.add_many(500, queue="crowded")
        stage.clock.advance(MINUTE)
        lone = stage.add_many(3, queue="lone")

        assert set(lone) <= set(stage.claim(6))

    def test_a_queue_of_many_types_takes_no_more_turns_than_one_of_a_single_type(self, stage: Stage) -> None:
        for n in range(20):
            stage.add(queue="many", type_key=f"type-{n}")
        stage.add_many(20, queue="one")

        claimed = stage.turn(want=10).claimed

        assert [job.queue for job in claimed] == ["many", "one"] * 5

    def test_a_queue_whose_best_job_has_a_higher_priority_goes_first(self, stage: Stage) -> None:
        plain = stage.add_many(2, queue="blue", priority=5)
        urgent = stage.add_many(2, queue="red", priority=6)

        assert stage.claim(3) == [*urgent, plain[0]]

    def test_a_queue_falls_back_into_the_cycle_of_its_next_priority(self, stage: Stage) -> None:
        blue = [stage.add(queue="blue", priority=p).id for p in (9, 5, 5)]
        red = [stage.add(queue="red", priority=p).id for p in (5, 5, 1)]

        assert stage.claim(6) == [blue[0], red[0], blue[1], red[1], blue[2], red[2]]


class TestClosedQueues:
    @pytest.mark.case("C-060")
    @pytest.mark.parametrize("control", [{"is_paused": True}, {"is_active": False}])
    def test_nothing_is_claimed_from_a_closed_queue(self, stage: Stage, control: dict[str, bool]) -> None:
        stage.add_many(3, queue="closed", priority=1000)
        stage.set_queue("closed", **control)
        free = stage.add(queue="free")

        assert stage.claim(10) == [free.id]

    @pytest.mark.parametrize("control", ["is_paused", "is_active"])
    def test_jobs_are_claimed_again_once_it_is_opened(self, stage: Stage, control: str) -> None:
        job = stage.add(queue="mail")
        stage.set_queue("mail", **{control: control == "is_paused"})
        assert stage.claim() == []

        stage.set_queue("mail", **{control: control != "is_paused"})
        assert stage.claim() == [job.id]

    def test_an_activated_queue_is_paused_if_it_was(self, stage: Stage) -> None:
        stage.add(queue="mail")
        stage.set_queue("mail", is_paused=True)
        stage.set_queue("mail", is_active=False)
        stage.set_queue("mail", is_active=True)

        assert stage.claim() == []


class TestMaxWorkers:
    def test_fetched_and_running_jobs_of_all_workers_count(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=3)
        stage.add_many(10, queue="mail")

        assert len(stage.claim(1, WORKER)) == 1
        assert len(stage.turn(OTHER_WORKER, prefetch=1).claimed) == 1
        assert len(stage.claim(10, "worker-3")) == 1
        assert stage.claim(10, "worker-4") == []

    def test_a_claim_to_run_and_ahead_is_cut_to_the_limit(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=3)
        stage.add_many(10, queue="mail")

        claimed = stage.turn(want=2, prefetch=5).claimed

        assert [job.status for job in claimed] == [Status.PROCESSING, Status.PROCESSING, Status.FETCHED]

    def test_a_limited_queue_takes_no_room_from_others(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=1)
        mail = stage.add_many(5, queue="mail", priority=1000)
        other = stage.add_many(5, queue="other")

        assert stage.claim(4) == [mail[0], *other[:3]]

    @pytest.mark.parametrize(
        "ending",
        [
            lambda lease: complete(lease, 1.0),
            lambda lease: dead_letter(lease, FailureReason.FATAL_ERROR, BOOM),
            lambda lease: retry(lease, MINUTE, BOOM),
            lambda lease: postpone(lease, MINUTE),
        ],
        ids=["complete", "dead_letter", "retry", "postpone"],
    )
    def test_a_settlement_makes_room_for_the_claim_of_its_own_turn(self, stage: Stage, ending: Ending) -> None:
        stage.set_queue("mail", max_workers=1)
        first = stage.running(queue="mail")
        second = stage.add(queue="mail")

        answer = stage.turn(settlements=(ending(first.lease),), want=5)

        assert [job.lease.job_id for job in answer.claimed] == [second.id]

    def test_cancel_and_pause_make_room_as_well(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=1)
        first = stage.fetched(queue="mail")
        second = stage.add(queue="mail")
        stage.store.cancel([first.lease.job_id], "ann")

        assert stage.claim() == [second.id]

    @pytest.mark.case("C-054")
    def test_a_limit_below_what_runs_stops_claims_until_enough_has_ended(self, stage: Stage) -> None:
        stage.add_many(10, queue="mail")
        running = stage.turn(want=3).claimed
        stage.set_queue("mail", max_workers=2)
        assert stage.claim() == []

        stage.settle(complete(running[0].lease, 1.0))
        assert stage.claim() == []

        stage.settle(complete(running[1].lease, 1.0))
        assert len(stage.claim(5)) == 1

    def test_clearing_the_limit_opens_the_queue(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=1)
        stage.add_many(5, queue="mail")
        stage.claim()
        stage.set_queue("mail", clear=frozenset({"max_workers"}))

        assert len(stage.claim(10)) == 4


class TestWhatWasNotClaimed:
    def test_a_claim_is_full_when_it_got_all_it_wanted(self, stage: Stage) -> None:
        stage.add_many(3)

        assert stage.turn(want=1, prefetch=1).is_full
        assert not stage.turn(want=1, prefetch=1).is_full

    def test_a_claim_of_exactly_the_last_jobs_is_full(self, stage: Stage) -> None:
        stage.add_many(2)

        assert stage.turn(want=2).is_full
        assert not stage.turn(want=2).is_full

    def test_a_claim_of_nothing_is_never_full(self, stage: Stage) -> None:
        stage.add()

        assert not stage.turn().is_full

    def test_the_next_due_time_is_that_of_the_earliest_delayed_job(self, stage: Stage) -> None:
        for minutes in (7, 3, 5):
            stage.add(delay=minutes * MINUTE)

        assert stage.turn(want=1).next_due_at == NOON + 3 * MINUTE
        assert stage.turn().next_due_at == NOON + 3 * MINUTE

    def test_there_is_no_next_due_time_without_delayed_jobs(self, stage: Stage) -> None:
        stage.add()

        assert stage.turn(want=2).next_due_at is None

    def test_a_full_claim_names_no_next_due_time(self, stage: Stage) -> None:
        stage.add()
        stage.add(delay=MINUTE)

        assert stage.turn(want=1).next_due_at is None

    def test_a_retry_of_this_turn_counts_for_the_next_due_time(self, stage: Stage) -> None:
        first = stage.running()

        answer = stage.turn(settlements=(retry(first.lease, MINUTE, BOOM),), want=1)

        assert answer.next_due_at == NOON + MINUTE

    def test_it_says_when_every_queue_is_closed(self, stage: Stage) -> None:
        stage.set_queue("mail", is_paused=True)
        assert stage.turn(want=1).has_open_queue

        stage.set_queue("default", is_active=False)
        assert not stage.turn(want=1).has_open_queue

        stage.set_queue("mail", is_paused=False)
        assert stage.turn(want=1).has_open_queue


class TestLeaseNumbers:
    def test_every_claim_raises_the_number(self, stage: Stage) -> None:
        job = stage.fetched()
        stage.settle(release(job.lease))
        again = stage.turn(OTHER_WORKER, want=1).claimed[0]

        assert (job.lease.number, again.lease.number) == (1, 2)

    def test_the_number_outlives_archive_dlq_and_resurrection(self, stage: Stage) -> None:
        dead = stage.put(Place.DLQ)
        assert stage.dead_row(dead.id).lease_number == 1

        stage.store.resurrect([dead.id], "ann")
        assert stage.hot(dead.id).lease_number == 1

        lease = stage.turn(want=1).claimed[0].lease
        assert lease.number == 2

        stage.settle(complete(lease, 1.0))
        assert stage.archived_row(dead.id).lease_number == 2
