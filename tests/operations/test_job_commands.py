"""
What operators do to jobs by id.
"""

from __future__ import annotations

import json

import pytest

from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.errors import InvalidJobError, RoleTooSmallError
from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.domain.job import Place
from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.domain.moves import complete
from chokaq_core.operations.commands import Ids, JobCommand, Matching, Verb
from chokaq_core.operations.results import JobResult
from chokaq_core.ports import Edit
from tests.contract.stages import place_of
from tests.operations.conftest import ANN, READER, WORDY, Desk
from tests.support.engine import NOTE

HELD = "an active job holds its idempotency key"


def problems(error: InvalidJobError) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in error.problems]


@pytest.mark.case("C-043")
class TestKeysOfResurrectedJobs:
    def test_a_dead_job_stays_while_an_active_one_holds_its_key(self, desk: Desk) -> None:
        a = desk.stage.dead(idempotency_key="sync-44").lease.job_id
        b = desk.stage.running(idempotency_key="sync-44").lease
        before = desk.stage.dead_row(a)

        result = desk.run(Verb.RESURRECT, a)

        assert result.results == (JobResult(a, "key_held", False, HELD, b.job_id),)
        assert desk.stage.dead_row(a) == before
        assert desk.wakes.count == 0

        desk.stage.settle(complete(b, 1.0))
        assert desk.run(Verb.RESURRECT, a).results == (JobResult(a, "resurrected", True),)
        assert desk.wakes.count == 1

    def test_nothing_is_edited_where_the_resurrection_is_refused(self, desk: Desk) -> None:
        a = desk.stage.dead(idempotency_key="sync-44", type_key=NOTE).lease.job_id
        b = desk.stage.add(idempotency_key="sync-44").id
        before = desk.stage.dead_row(a)

        result = desk.run(Verb.EDIT_AND_RESURRECT, a, payload='{"text":"corrected"}')

        assert result.results == (JobResult(a, "key_held", False, HELD, b),)
        assert desk.stage.dead_row(a) == before

    def test_of_ten_the_nine_others_go_back(self, desk: Desk) -> None:
        a = desk.stage.dead(idempotency_key="sync-44").lease.job_id
        others = [desk.stage.dead().lease.job_id for _ in range(9)]
        b = desk.stage.add(idempotency_key="sync-44").id

        result = desk.run(Verb.RESURRECT, *others[:4], a, *others[4:])

        assert result.done == 9
        assert [r for r in result.results if not r.is_done] == [JobResult(a, "key_held", False, HELD, b)]
        assert place_of(desk.stage.store, a) is Place.DLQ

    def test_a_second_press_finds_nothing_to_do(self, desk: Desk) -> None:
        a = desk.stage.dead().lease.job_id

        assert desk.run(Verb.RESURRECT, a).done == 1
        assert desk.run(Verb.RESURRECT, a).results == (JobResult(a, "stale", False, "it is not in the DLQ"),)
        assert desk.stage.store.counts().hot == 1

    def test_one_call_that_names_a_job_twice_brings_it_back_once(self, desk: Desk) -> None:
        a = desk.stage.dead().lease.job_id

        assert desk.run(Verb.RESURRECT, a, a).results == (JobResult(a, "resurrected", True),)

    def test_of_twins_one_goes_back_and_holds_the_key(self, desk: Desk) -> None:
        first, second = (desk.stage.dead(idempotency_key="twin").lease.job_id for _ in range(2))

        result = desk.run(Verb.RESURRECT, first, second)

        assert result.results == (
            JobResult(first, "resurrected", True),
            JobResult(second, "key_held", False, HELD, first),
        )

    def test_a_preview_foretells_all_of_this(self, desk: Desk) -> None:
        first, second = (desk.stage.dead(idempotency_key="twin").lease.job_id for _ in range(2))
        blocked = desk.stage.dead(idempotency_key="sync-44").lease.job_id
        desk.stage.add(idempotency_key="sync-44")

        preview = desk.commands.preview(JobCommand(Verb.RESURRECT, Ids((first, blocked, second, "gone"))), ANN)

        assert preview.touched == 1
        assert [job.id for job in preview.samples] == [first]
        assert preview.effects == {"goes back to pending with fresh attempts": 1}
        assert [(r.why, r.jobs, r.sample_ids) for r in preview.refusals] == [
            (HELD, 2, (blocked, second)),
            ("there is no such job", 1, ("gone",)),
        ]


class TestEdits:
    @pytest.mark.case("C-035")
    @pytest.mark.parametrize("character", ["a", "é", "📦"])
    def test_the_limit_counts_the_bytes_that_are_stored(self, desk: Desk, character: str) -> None:
        dead = desk.stage.dead(type_key=NOTE, payload="{}").lease.job_id
        room = 100 - len('{"text":""}')
        text = character * (room // len(character.encode()))
        text += "a" * (room - len(text.encode()))

        assert desk.run(Verb.EDIT, dead, payload=f'{{"text":"{text}"}}').done == 1
        assert len(desk.stage.dead_row(dead).payload.encode()) == 100
        with pytest.raises(InvalidJobError) as refused:
            desk.run(Verb.EDIT, dead, payload=f'{{"text":"{text}a"}}')

        assert problems(refused.value) == [("payload", "too_large")]
        assert "101 bytes" in str(refused.value)
        assert desk.run(Verb.RESURRECT, dead).done == 1

    @pytest.mark.parametrize(
        "payload,expected",
        [
            ("{", [("payload", "invalid")]),
            ('{"text": NaN}', [("payload", "invalid")]),
            ('{"text": 1}', [("payload.text", "invalid")]),
            ('{"text": "\\ud800"}', [("payload", "invalid")]),
            ("[" * 101 + "]" * 101, [("payload", "too_large")]),
        ],
    )
    @pytest.mark.parametrize("verb", [Verb.EDIT, Verb.EDIT_AND_RESURRECT])
    def test_a_payload_that_enqueue_would_refuse_is_refused(
        self, desk: Desk, verb: Verb, payload: str, expected: list[tuple[str, str]]
    ) -> None:
        dead = desk.stage.dead(type_key=NOTE, payload="{}").lease.job_id
        before = desk.stage.dead_row(dead)

        with pytest.raises(InvalidJobError) as refused:
            desk.run(verb, dead, payload=payload)

        assert problems(refused.value) == expected
        assert desk.stage.dead_row(dead) == before

    def test_what_the_model_adds_counts_too(self, desk: Desk) -> None:
        dead = desk.stage.dead(type_key=WORDY, payload="{}").lease.job_id

        with pytest.raises(InvalidJobError) as refused:
            desk.run(Verb.EDIT, dead, payload="{}")

        assert problems(refused.value) == [("payload", "too_large")]

    def test_the_payload_of_an_unknown_type_cannot_be_changed(self, desk: Desk) -> None:
        dead = desk.stage.dead(type_key="gone.v1").lease.job_id

        with pytest.raises(InvalidJobError) as refused:
            desk.run(Verb.EDIT, dead, payload="{}")

        assert problems(refused.value) == [("type", "unknown_type")]
        assert desk.run(Verb.EDIT, dead, tags="looked at").done == 1

    def test_one_payload_does_not_fit_two_types(self, desk: Desk) -> None:
        ids = [desk.stage.dead(type_key=key, payload="{}").lease.job_id for key in (NOTE, "other.v1")]

        with pytest.raises(InvalidJobError, match="one type only"):
            desk.run(Verb.EDIT, *ids, payload="{}")

    def test_what_is_stored_is_what_an_enqueue_would_store(self, desk: Desk) -> None:
        dead = desk.stage.dead(type_key=NOTE, payload="{}").lease.job_id

        desk.run(Verb.EDIT_AND_RESURRECT, dead, payload=' { "text" : "9007199254740993" } ')

        assert desk.stage.hot(dead).payload == '{"text":"9007199254740993"}'

    @pytest.mark.parametrize(
        "verb,edit,field",
        [
            (Verb.EDIT, {}, "edit"),
            (Verb.SET_PRIORITY, {}, "edit"),
            (Verb.SET_PRIORITY, {"priority": 1, "tags": "x"}, "tags"),
            (Verb.SET_PRIORITY, {"priority": -1}, "priority"),
            (Verb.SET_PRIORITY, {"priority": 1_000_001}, "priority"),
            (Verb.EDIT, {"tags": "x" * 1001}, "tags"),
            (Verb.EDIT, {"tags": "a\x00b"}, "tags"),
            (Verb.RESURRECT, {"priority": 1}, "priority"),
            (Verb.PURGE, {"payload": "{}"}, "payload"),
        ],
    )
    def test_values_that_break_a_rule_or_have_no_place_are_refused(
        self, desk: Desk, verb: Verb, edit: dict[str, object], field: str
    ) -> None:
        dead = desk.stage.dead().lease.job_id

        with pytest.raises(InvalidJobError) as refused:
            desk.run(verb, dead, **edit)

        assert [problem.field for problem in refused.value.problems] == [field]

    def test_a_job_that_a_worker_holds_is_left_alone(self, desk: Desk) -> None:
        running, pending = desk.stage.running().lease.job_id, desk.stage.add().id

        result = desk.run(Verb.SET_PRIORITY, running, pending, priority=99)

        assert result.results == (
            JobResult(running, "stale", False, "a worker holds it"),
            JobResult(pending, "edited", True),
        )
        assert desk.stage.hot(pending).priority == 99


class TestCancelAndPurge:
    def test_each_job_that_went_into_the_dlq_is_told_of(self, desk: Desk) -> None:
        running, archived = desk.stage.running().lease.job_id, desk.stage.archived().lease.job_id
        pending = desk.stage.add(queue="mail").id

        result = desk.run(Verb.CANCEL, running, pending, archived)

        assert [(r.outcome, r.is_done, r.why) for r in result.results] == [
            ("marked", True, None),
            ("dead_lettered", True, None),
            ("stale", False, "it has ended already"),
        ]
        assert desk.events.of(EventName.JOB_TIMED_OUT_OR_CANCELLED) == [
            Event(
                EventName.JOB_TIMED_OUT_OR_CANCELLED,
                JobRef(pending, "email.send.v1", "mail"),
                {"reason": "Cancelled", "by": "ann"},
            )
        ]

    def test_an_active_job_is_not_purged(self, desk: Desk) -> None:
        archived, dead, hot = desk.stage.archived().lease.job_id, desk.stage.dead().lease.job_id, desk.stage.add().id

        result = desk.run(Verb.PURGE, archived, dead, hot)

        assert [(r.outcome, r.why) for r in result.results] == [
            ("purged", None),
            ("purged", None),
            ("stale", "it is active; cancel it first"),
        ]
        assert desk.stage.store.counts().hot == 1


class TestRolesAndRecords:
    @pytest.mark.parametrize("verb", Verb)
    @pytest.mark.parametrize("actor", [READER, Actor("", Role.NONE)])
    def test_only_operators_may_command_or_preview(self, desk: Desk, verb: Verb, actor: Actor) -> None:
        command = JobCommand(verb, Ids((desk.stage.dead().lease.job_id,)), Edit(priority=1))

        for act in (desk.commands.run, desk.commands.preview):
            with pytest.raises(RoleTooSmallError):
                act(command, actor)

        assert desk.stage.store.counts().dlq == 1
        assert desk.stage.store.operator_log(None, 10) == []
        assert [e.facts["actor"] for e in desk.events.of(EventName.ADMIN_COMMAND_REJECTED)] == [actor.name] * 2

    def test_a_command_is_written_down_and_told_of(self, desk: Desk) -> None:
        dead = desk.stage.dead().lease.job_id

        desk.run(Verb.RESURRECT, dead, "gone")

        (entry,) = desk.stage.store.operator_log(None, 10)
        assert (entry.actor, entry.command, entry.affected, entry.outcome) == (
            "ann",
            "resurrect",
            1,
            "1 resurrected, 1 stale",
        )
        assert json.loads(entry.target) == {"ids": [dead, "gone"]}
        (event,) = desk.events.of(EventName.ADMIN_COMMAND_COMPLETED)
        assert event.facts == {
            "command": "resurrect",
            "actor": "ann",
            "target": f'{{"ids":["{dead}","gone"]}}',
            "affected": 1,
            "outcome": "1 resurrected, 1 stale",
        }

    @pytest.mark.parametrize("ids", [(), ("a",) * 1001, ("a b",), ("",), ("x" * 51,), ("é",)])
    def test_ids_are_bounded_and_well_formed(self, desk: Desk, ids: tuple[str, ...]) -> None:
        with pytest.raises(InvalidJobError) as refused:
            desk.run(Verb.PURGE, *ids)

        assert problems(refused.value) == [("ids", "invalid")]

    @pytest.mark.parametrize(
        "verb,pillar",
        [
            (Verb.CANCEL, Pillar.DLQ),
            (Verb.CANCEL, Pillar.ARCHIVE),
            (Verb.RESURRECT, Pillar.HOT),
            (Verb.RESURRECT, Pillar.ARCHIVE),
            (Verb.PURGE, Pillar.HOT),
            (Verb.SET_PRIORITY, Pillar.ARCHIVE),
        ],
    )
    def test_a_filter_must_be_of_a_pillar_where_the_command_does_something(
        self, desk: Desk, verb: Verb, pillar: Pillar
    ) -> None:
        edit = Edit(priority=1) if verb is Verb.SET_PRIORITY else Edit()

        with pytest.raises(InvalidJobError) as refused:
            desk.commands.preview(JobCommand(verb, Matching(JobQuery(pillar)), edit), ANN)

        assert problems(refused.value) == [("pillar", "invalid")]
