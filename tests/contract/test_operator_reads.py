"""
What people look at: lists, counts, groups of errors, and the log of what they did.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.listing import JobFilter, JobQuery, JobSummary, Pillar, Position
from chokaq_core.domain.moves import complete, dead_letter
from chokaq_core.domain.operator_log import LogEntry, LogNote
from chokaq_core.domain.value import replace
from chokaq_core.ports import MAX_LOOK, CancelOutcome, Edit, ErrorGroup, JobCount, QueueChange, ResurrectOutcome, Store
from tests.contract.stages import BOOM, MINUTE, SECOND, Ending, Stage
from tests.support.clock import NOON

TAGS = ("a_b", "axb", "100%", "1000", "[x]y", "xy", r"C:\tmp", "it's", "📦 parcel")
NOTE = LogNote("ann", "resurrect", '{"ids":["a"]}')
HOT, ARCHIVE, DLQ = Pillar


def walk(
    store: Store, query: JobQuery, size: int = 7, between: Callable[[int], object] = lambda _page: None
) -> list[str]:
    """
    All ids of a list, page by page; `between` is called after each page.
    """
    ids: list[str] = []
    for page_number in range(1_000):
        page = store.list_jobs(query, size)
        assert len(page.jobs) <= size
        ids += [job.id for job in page.jobs]
        if page.further is None:
            return ids
        query = replace(query, after=page.further)
        between(page_number)
    raise AssertionError("the walk never ended")


def found(store: Store, pillar: Pillar = HOT, **values: object) -> list[str]:
    """
    The tags of the jobs that a filter finds.
    """
    page = store.list_jobs(JobQuery(pillar, JobFilter(**values)), 100)  # type: ignore[arg-type]
    return [job.tags or "" for job in page.jobs]


def fill(stage: Stage, pillar: Pillar, count: int, **values: object) -> list[str]:
    """
    Puts jobs into a pillar, all at one moment; answers their ids.
    """
    ids = stage.add_many(count, **values)
    if pillar is not HOT:
        claimed = stage.turn(want=count).claimed
        assert {job.lease.job_id for job in claimed} == set(ids)
        endings = [_ending(pillar)(job.lease) for job in claimed]
        stage.settle(*endings)
    return ids


def _ending(pillar: Pillar) -> Ending:
    if pillar is ARCHIVE:
        return lambda lease: complete(lease, 1.0)
    return lambda lease: dead_letter(lease, FailureReason.FATAL_ERROR, BOOM, 1.0)


class TestPages:
    @pytest.mark.case("C-049")
    @pytest.mark.parametrize("pillar", Pillar)
    @pytest.mark.parametrize("is_oldest_first", [False, True])
    def test_a_quiet_list_shows_each_job_once_in_the_same_order_twice(
        self, stage: Stage, pillar: Pillar, is_oldest_first: bool
    ) -> None:
        ids = fill(stage, pillar, 100)
        query = JobQuery(pillar, is_oldest_first=is_oldest_first)

        first, second = walk(stage.store, query), walk(stage.store, query)

        assert first == sorted(ids, reverse=not is_oldest_first)
        assert second == first

    @pytest.mark.case("C-049")
    @pytest.mark.parametrize("pillar", Pillar)
    def test_a_moving_list_shows_none_twice_and_skips_none_that_stayed(self, stage: Stage, pillar: Pillar) -> None:
        dead = fill(stage, DLQ, 110)
        archived = fill(stage, ARCHIVE, 100)
        stage.clock.advance(SECOND)
        hot = stage.add_many(100)
        before = {HOT: hot, ARCHIVE: archived, DLQ: dead}[pillar]

        def move(page: int) -> None:
            stage.clock.advance(SECOND)
            if page == 3:
                claimed = stage.turn(want=30).claimed
                stage.settle(*(complete(job.lease, 1.0) for job in claimed))
            if page == 5:
                stage.add_many(20)
            if page == 7:
                back = list(stage.store.resurrect(dead[50:60], "ann"))
                assert back == [ResurrectOutcome.RESURRECTED] * 10

        seen = walk(stage.store, JobQuery(pillar), between=move)

        assert len(seen) == len(set(seen))
        stayed = {job.id for job in stage.store.look_up(before).values() if job.pillar is pillar}
        assert stayed - set(seen) == set()

    def test_a_job_that_left_and_came_back_does_not_stand_twice_in_a_list_with_an_end(self, stage: Stage) -> None:
        ids = fill(stage, DLQ, 20)

        def fail_again(page: int) -> None:
            if page == 0:
                stage.clock.advance(SECOND)
                stage.store.resurrect([ids[0]], "ann")
                (again,) = stage.turn(want=1).claimed
                stage.settle(dead_letter(again.lease, FailureReason.FATAL_ERROR, BOOM))

        query = JobQuery(DLQ, JobFilter(to_at=stage.clock.now()), is_oldest_first=True)

        assert walk(stage.store, query, between=fail_again) == ids

    def test_jobs_are_listed_by_when_they_came_into_their_pillar(self, stage: Stage) -> None:
        first, second = stage.running().lease, stage.running().lease
        stage.clock.advance(SECOND)
        stage.settle(complete(second, 1.0))
        stage.clock.advance(SECOND)
        stage.settle(complete(first, 1.0))

        newest = stage.store.list_jobs(JobQuery(ARCHIVE), 10)
        oldest = stage.store.list_jobs(JobQuery(ARCHIVE, is_oldest_first=True), 10)

        assert [job.id for job in newest.jobs] == [first.job_id, second.job_id]
        assert [job.id for job in oldest.jobs] == [second.job_id, first.job_id]
        assert [job.position for job in oldest.jobs] == [
            Position(NOON + SECOND, second.job_id),
            Position(NOON + 2 * SECOND, first.job_id),
        ]
        assert newest.now == NOON + 2 * SECOND

    def test_a_list_that_fits_has_no_further_page(self, stage: Stage) -> None:
        stage.add_many(7)

        assert stage.store.list_jobs(JobQuery(HOT), 7).further is None
        assert stage.store.list_jobs(JobQuery(HOT), 6).further is not None
        assert stage.store.list_jobs(JobQuery(DLQ), 7).jobs == ()

    @pytest.mark.parametrize("is_oldest_first", [False, True])
    def test_one_call_looks_at_a_bounded_number_of_rows_and_says_where_to_go_on(
        self, stage: Stage, is_oldest_first: bool
    ) -> None:
        needles = [stage.add(tags="needle").id]
        for _ in range(11):
            stage.clock.advance(SECOND)
            stage.add_many(1_000)
        stage.clock.advance(SECOND)
        needles.append(stage.add(tags="needle").id)
        query = JobQuery(HOT, JobFilter(search="needle"), is_oldest_first=is_oldest_first)

        first = stage.store.list_jobs(query, 10)
        assert first.further is not None
        second = stage.store.list_jobs(replace(query, after=first.further), 10)

        near, far = needles if is_oldest_first else reversed(needles)
        assert [job.id for job in first.jobs] == [near]
        assert [job.id for job in second.jobs] == [far]
        assert second.further is None

    def test_a_caller_may_ask_for_a_shorter_look(self, stage: Stage) -> None:
        stage.add_many(5, tags="needle")
        stage.clock.advance(SECOND)
        stage.add_many(5)
        query = JobQuery(HOT, JobFilter(search="needle"))

        page = stage.store.list_jobs(query, 10, 5)
        assert (page.jobs, page.further is None) == ((), False)
        assert len(stage.store.list_jobs(replace(query, after=page.further), 10, 6).jobs) == 5
        assert stage.store.count_jobs(HOT, JobFilter(), 5) == JobCount(5, is_complete=False)
        assert stage.store.count_jobs(HOT, query.filter, 5) == JobCount(0, is_complete=False)


class TestFilters:
    @pytest.mark.case("C-047")
    @pytest.mark.parametrize(
        "text,tags",
        [
            ("a_b", ["a_b"]),
            ("%", ["100%"]),
            ("100%", ["100%"]),
            ("100", ["1000", "100%"]),
            ("[x]", ["[x]y"]),
            ("[", ["[x]y"]),
            ("\\", [r"C:\tmp"]),
            ("'", ["it's"]),
            (" ", ["📦 parcel"]),
            ("📦", ["📦 parcel"]),
            ("", list(reversed(TAGS))),
            ("A_B", []),
            ("_", ["a_b"]),
            ("*", []),
            ("nothing", []),
        ],
    )
    def test_search_text_is_literal(self, stage: Stage, text: str, tags: list[str]) -> None:
        for tag in TAGS:
            stage.add(tags=tag, type_key="t", queue="q")
            stage.clock.advance(SECOND)

        assert found(stage.store, search=text) == tags
        assert stage.store.count_jobs(HOT, JobFilter(search=text)) == JobCount(len(tags), is_complete=True)

    @pytest.mark.case("C-047")
    @pytest.mark.parametrize("text,types", [("a_b", ["a_b"]), ("%", ["100%"]), ("[x]", ["[x]y"]), ("\\", [r"C:\tmp"])])
    def test_types_are_searched_as_literally(self, stage: Stage, text: str, types: list[str]) -> None:
        for type_key in TAGS[:-1]:
            stage.add(type_key=type_key, queue="q")

        page = stage.store.list_jobs(JobQuery(HOT, JobFilter(search=text)), 100)

        assert [job.type_key for job in page.jobs] == types

    def test_search_finds_id_type_tags_and_key(self, stage: Stage) -> None:
        stage.add(tags="1", id="needle-1", type_key="t")
        stage.add(tags="2", type_key="a.needle.b")
        stage.add(tags="3 needle", type_key="t")
        stage.add(tags="4", type_key="t", idempotency_key="my needle")
        stage.add(tags="5", type_key="t", payload='"needle"', created_by="needle")

        assert sorted(found(stage.store, search="needle")) == ["1", "2", "3 needle", "4"]

    @pytest.mark.parametrize("pillar", Pillar)
    def test_queue_and_type_are_compared_by_exact_characters(self, stage: Stage, pillar: Pillar) -> None:
        fill(stage, pillar, 1, queue="mail", type_key="t.v1", tags="1")
        fill(stage, pillar, 1, queue="mail", type_key="T.v1", tags="2")
        fill(stage, pillar, 1, queue="mail2", type_key="t.v1", tags="3")

        assert sorted(found(stage.store, pillar, queue="mail")) == ["1", "2"]
        assert sorted(found(stage.store, pillar, type_key="t.v1")) == ["1", "3"]
        assert found(stage.store, pillar, queue="mail", type_key="T.v1") == ["2"]
        assert found(stage.store, pillar, queue="mai") == []

    def test_active_jobs_are_found_by_their_status(self, stage: Stage) -> None:
        stage.running(tags="running")
        stage.fetched(tags="fetched")
        stage.add(tags="pending")

        assert found(stage.store, status=Status.PENDING) == ["pending"]
        assert found(stage.store, status=Status.FETCHED) == ["fetched"]
        assert found(stage.store, status=Status.PROCESSING) == ["running"]

    def test_dead_jobs_are_found_by_reason_and_by_a_part_of_their_error(self, stage: Stage) -> None:
        fill(stage, DLQ, 1, tags="failed")
        cancelled = stage.add(tags="cancelled")
        stage.store.cancel([cancelled.id], "ann")

        assert found(stage.store, DLQ, reason=FailureReason.CANCELLED) == ["cancelled"]
        assert found(stage.store, DLQ, reason=FailureReason.FATAL_ERROR) == ["failed"]
        assert found(stage.store, DLQ, error_text="boom") == ["failed"]
        assert found(stage.store, DLQ, error_text="ValueErr") == ["failed"]
        assert found(stage.store, DLQ, error_text="by ann") == ["cancelled"]
        assert found(stage.store, DLQ, error_text="b_om") == []
        assert found(stage.store, DLQ, error_text="boom", reason=FailureReason.CANCELLED) == []

    @pytest.mark.parametrize("pillar", Pillar)
    def test_both_ends_of_the_time_belong_to_it(self, stage: Stage, pillar: Pillar) -> None:
        for number in range(4):
            fill(stage, pillar, 1, tags=str(number))
            stage.clock.advance(MINUTE)

        assert found(stage.store, pillar, from_at=NOON + MINUTE, to_at=NOON + 2 * MINUTE) == ["2", "1"]
        assert found(stage.store, pillar, from_at=NOON + 2 * MINUTE) == ["3", "2"]
        assert found(stage.store, pillar, to_at=NOON) == ["0"]
        assert found(stage.store, pillar, from_at=NOON + 2 * MINUTE, to_at=NOON) == []

    def test_a_position_beyond_the_filters_times_shows_nothing_outside_of_them(self, stage: Stage) -> None:
        for number in range(4):
            stage.add(tags=str(number))
            stage.clock.advance(MINUTE)
        job_filter = JobFilter(from_at=NOON + MINUTE, to_at=NOON + 2 * MINUTE)
        after = Position(NOON + 3 * MINUTE, "job-0001")

        page = stage.store.list_jobs(JobQuery(HOT, job_filter, after=after), 10)

        assert [job.tags for job in page.jobs] == ["2", "1"]


class TestCounts:
    def test_a_small_pillar_is_counted_whole(self, stage: Stage) -> None:
        stage.add_many(3, queue="a")
        stage.add_many(2, queue="b")

        assert stage.store.count_jobs(HOT, JobFilter()) == JobCount(5, is_complete=True)
        assert stage.store.count_jobs(HOT, JobFilter(queue="b")) == JobCount(2, is_complete=True)
        assert stage.store.count_jobs(DLQ, JobFilter()) == JobCount(0, is_complete=True)

    def test_a_large_one_is_counted_up_to_the_bound(self, stage: Stage) -> None:
        stage.add_many(5, queue="old")
        for _ in range(10):
            stage.clock.advance(SECOND)
            stage.add_many(1_000)

        assert stage.store.count_jobs(HOT, JobFilter()) == JobCount(10_000, is_complete=False)
        assert stage.store.count_jobs(HOT, JobFilter(queue="old")).is_complete is False
        assert stage.store.count_jobs(HOT, JobFilter(from_at=NOON + SECOND)) == JobCount(10_000, is_complete=True)
        assert MAX_LOOK == 10_000


class TestSummaries:
    def test_an_active_job_shows_its_progress_and_its_cancel_mark(self, stage: Stage) -> None:
        claimed = stage.running(queue="mail", tags="news", priority=7, idempotency_key="k", created_by="bob")
        stage.store.cancel([claimed.lease.job_id], "ann")

        (job,) = stage.store.list_jobs(JobQuery(HOT), 10).jobs

        assert job == JobSummary(
            id=claimed.lease.job_id,
            pillar=HOT,
            queue="mail",
            type_key="email.send.v1",
            status=Status.PROCESSING,
            priority=7,
            attempt=1,
            lease_number=1,
            interruptions=0,
            tags="news",
            idempotency_key="k",
            worker_id="worker-1",
            created_by="bob",
            created_at=NOON,
            due_at=NOON,
            started_at=NOON,
            last_updated_at=NOON,
            cancel_requested_at=NOON,
        )

    def test_a_succeeded_job_shows_its_duration(self, stage: Stage) -> None:
        stage.archived()

        (job,) = stage.store.list_jobs(JobQuery(ARCHIVE), 10).jobs

        assert (job.status, job.ended_at, job.duration_ms, job.reason) == (Status.SUCCEEDED, NOON, 12.5, None)

    def test_a_dead_job_shows_why(self, stage: Stage) -> None:
        stage.dead()
        stage.store.cancel([stage.add().id], "ann")
        stage.bury(stage.running().lease.job_id)

        jobs = stage.store.list_jobs(JobQuery(DLQ, is_oldest_first=True), 10).jobs

        assert [(job.status, job.reason, job.error_type, job.error_line) for job in jobs] == [
            (Status.FAILED, FailureReason.FATAL_ERROR, "ValueError", "ValueError: boom"),
            (Status.CANCELLED, FailureReason.CANCELLED, None, "cancelled by ann"),
            (Status.ZOMBIE, FailureReason.ZOMBIE, "ValueError", "ValueError: boom"),
        ]

    def test_jobs_are_looked_up_in_every_pillar(self, stage: Stage) -> None:
        dead, archived, hot = stage.dead().lease.job_id, stage.archived().lease.job_id, stage.add().id

        jobs = stage.store.look_up([hot, dead, "nobody", archived, hot])

        assert {job_id: job.pillar for job_id, job in jobs.items()} == {hot: HOT, dead: DLQ, archived: ARCHIVE}
        assert stage.store.look_up([]) == {}

    def test_holders_of_keys_are_found_among_active_jobs_alone(self, stage: Stage) -> None:
        stage.dead(idempotency_key="a")
        stage.dead(idempotency_key="b")
        holder = stage.add(idempotency_key="a")

        assert stage.store.key_holders(["a", "b", "c"]) == {"a": holder.id}


class TestTopErrors:
    def test_dead_jobs_are_grouped_by_type_error_and_reason_largest_first(self, stage: Stage) -> None:
        for type_key, error, count in [("a", "KeyError", 2), ("a", "ValueError", 3), ("b", "ValueError", 1)]:
            for _ in range(count):
                lease = stage.running(type_key=type_key).lease
                facts = ErrorFacts(error, "no", f"{error}: no\n")
                stage.settle(dead_letter(lease, FailureReason.FATAL_ERROR, facts))
                stage.clock.advance(SECOND)
        cancelled = stage.add(type_key="a")
        stage.store.cancel([cancelled.id], "ann")

        top = stage.store.top_errors(100, 3)

        fatal = FailureReason.FATAL_ERROR
        assert top.is_complete
        assert top.groups == (
            ErrorGroup("a", "ValueError", fatal, 3, NOON + 2 * SECOND, NOON + 4 * SECOND, "job-0005", "ValueError: no"),
            ErrorGroup("a", "KeyError", fatal, 2, NOON, NOON + SECOND, "job-0002", "KeyError: no"),
            ErrorGroup(
                "a",
                None,
                FailureReason.CANCELLED,
                1,
                NOON + 6 * SECOND,
                NOON + 6 * SECOND,
                cancelled.id,
                "cancelled by ann",
            ),
        )

    def test_only_the_newest_are_looked_at(self, stage: Stage) -> None:
        fill(stage, DLQ, 3, type_key="old")
        stage.clock.advance(SECOND)
        fill(stage, DLQ, 2, type_key="new")

        top = stage.store.top_errors(2, 10)

        assert [(group.type_key, group.jobs) for group in top.groups] == [("new", 2)]
        assert not top.is_complete


class TestEditingMany:
    def test_each_job_is_answered_by_its_own_state_in_order(self, stage: Stage) -> None:
        pending, running = stage.add(delay=MINUTE).id, stage.running().lease.job_id
        dead, archived = stage.dead().lease.job_id, stage.archived().lease.job_id

        outcomes = stage.store.edit([running, dead, "nobody", pending, archived], Edit(priority=3), "ann")

        assert list(outcomes) == [False, True, False, True, False]
        assert (stage.hot(pending).priority, stage.dead_row(dead).priority) == (3, 3)
        assert stage.hot(running).priority == 10

    def test_a_resurrection_can_bring_new_values_along(self, stage: Stage) -> None:
        dead = stage.dead(tags="old").lease.job_id

        outcomes = stage.store.resurrect([dead], "ann", Edit(payload='{"to": "eve"}', priority=3))

        assert list(outcomes) == [ResurrectOutcome.RESURRECTED]
        job = stage.hot(dead)
        assert (job.payload, job.priority, job.tags, job.last_modified_by) == ('{"to": "eve"}', 3, "old", "ann")

    def test_a_job_that_does_not_come_back_is_left_as_it_was(self, stage: Stage) -> None:
        dead = stage.dead(idempotency_key="order-7").lease.job_id
        stage.add(idempotency_key="order-7")
        before = stage.dead_row(dead)
        stage.clock.advance(MINUTE)

        assert list(stage.store.resurrect([dead], "ann", Edit(payload="[]"))) == [ResurrectOutcome.KEY_HELD]
        assert stage.dead_row(dead) == before


class TestOperatorLog:
    def test_each_command_writes_one_entry_with_what_it_did(self, stage: Stage) -> None:
        store = stage.store
        dead, twin = (stage.dead(idempotency_key="k").lease.job_id for _ in range(2))
        archived, running = stage.archived().lease.job_id, stage.running().lease.job_id
        stage.clock.advance(MINUTE)

        store.resurrect([dead, twin, "nobody"], "ann", note=NOTE)
        store.cancel([running, dead, archived], "ann", replace(NOTE, command="cancel"))
        store.edit([twin, running], Edit(priority=1), "ann", replace(NOTE, command="edit"))
        store.purge([archived, twin, "nobody"], replace(NOTE, command="purge"))
        store.change_queue("mail", QueueChange(is_paused=True), LogNote("bob", "pause", '{"queue":"mail"}'))

        entries = list(reversed(store.operator_log(None, 10)))
        assert [(e.command, e.affected, e.outcome) for e in entries] == [
            ("resurrect", 1, "1 resurrected, 1 key_held, 1 stale"),
            ("cancel", 2, "1 marked, 1 dead_lettered, 1 stale"),
            ("edit", 1, "1 edited, 1 stale"),
            ("purge", 2, "2 purged, 1 stale"),
            ("pause", 1, "1 changed"),
        ]
        assert entries[-1] == LogEntry(
            entries[-1].number, NOON + MINUTE, "bob", "pause", '{"queue":"mail"}', 1, "1 changed"
        )

    def test_without_a_note_nothing_is_written(self, stage: Stage) -> None:
        assert list(stage.store.cancel([stage.add().id], "ann")) == [CancelOutcome.DEAD_LETTERED]

        assert list(stage.store.operator_log(None, 10)) == []

    def test_a_command_that_touches_nothing_is_written_down_too(self, stage: Stage) -> None:
        stage.store.purge([], NOTE)

        (entry,) = stage.store.operator_log(None, 10)
        assert (entry.affected, entry.outcome) == (0, "nothing")

    def test_it_pages_by_number_newest_first(self, stage: Stage) -> None:
        for number in range(5):
            stage.store.purge([], replace(NOTE, actor=f"actor-{number}"))

        first = stage.store.operator_log(None, 2)
        second = stage.store.operator_log(first[-1].number, 10)

        assert [entry.actor for entry in [*first, *second]] == ["actor-4", "actor-3", "actor-2", "actor-1", "actor-0"]
        assert stage.store.operator_log(second[-1].number, 10) == []


class TestRescueInBatches:
    @pytest.mark.case("C-049")
    def test_recovering_in_small_batches_reaches_every_job_once(self, stage: Stage) -> None:
        ids = stage.add_many(30)
        stage.turn(prefetch=30)
        stage.clock.advance(MINUTE)

        batches = [stage.store.recover(SECOND, 7) for _ in range(6)]

        moved = [job.job_id for batch in batches for job in batch]
        assert sorted(moved) == ids
        assert [len(batch) for batch in batches] == [7, 7, 7, 7, 2, 0]
