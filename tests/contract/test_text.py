"""
Ids, keys and names are equal only by exact characters, and every text comes back as it was stored.
"""

from __future__ import annotations

import json

import pytest

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import NewJob
from chokaq_core.domain.moves import complete, dead_letter, retry
from chokaq_core.policy.error_text import error_facts
from chokaq_core.ports import Beat, Edit, EnqueueOutcome, Progress, QueueChange
from tests.contract.stages import MINUTE, OTHER_WORKER, WORKER, Stage

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
LOOKALIKES = [
    "order-7",
    "Order-7",
    "ORDER-7",
    "order-7 x",
    "order-7  x",
    "order-7\u00a0x",
    "order\u20107",
    "order-\uff17",
    "\uff4frder-7",
    "\u043erder-7",
    COMPOSED,
    DECOMPOSED,
    "\u0130nv-1",
    "\u0131nv-1",
    "inv-1",
    "stra\u00dfe",
    "strasse",
    "\ufb01le",
    "file",
    "a\u200bb",
    "ab",
    "order-7'--",
    'order-7"',
    "order-7%",
    "order_7",
    "\U0001f4e7",
    "\U0001f4e8",
    "1",
    "01",
    "1.0",
    "null",
]
"""
None begins or ends with a blank. Such keys are refused before they reach a store, because T-SQL's `=` takes texts that
differ by blanks at their end for equal, under a binary collation too.
"""

ODD_TEXTS = [
    "it's 'quoted' and \"double\" and `back`",
    "'; DROP TABLE JobsHot; --",
    "semi;\ncolon;\r\nlines\ttabs",
    "%_[]^*? :name ?1 @p $v {0} %s",
    "\\u0041 \\n \\\\ \\",
    "\u00e9 e\u0301 \u043f\u0440\u0438\u0432\u0435\u0442 \u4f60\u597d",
    "\u0645\u0631\u062d\u0628\u0627 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "\u202eright to left\u202c \ufeff\u200b\u2028\u2029",
    "\x01\x02\x1f\x7f\x80\x9f",
    "\ufffd\ufffe\uffff\U0010ffff",
    "  blanks at both ends  ",
    "<script>alert(1)</script>",
    "",
]


@pytest.mark.case("C-022")
class TestExactCharacters:
    def test_keys_that_only_look_alike_are_different_keys(self, stage: Stage) -> None:
        jobs = [stage.new_job(idempotency_key=key, payload=f"{n}") for n, key in enumerate(LOOKALIKES)]

        first = stage.store.enqueue(jobs)
        again = stage.store.enqueue(
            [stage.new_job(idempotency_key=key, payload=f"{n}") for n, key in enumerate(LOOKALIKES)]
        )

        assert [item.outcome for item in first.items] == [EnqueueOutcome.CREATED] * len(LOOKALIKES)
        assert [item.outcome for item in again.items] == [EnqueueOutcome.DUPLICATE] * len(LOOKALIKES)
        assert [item.job_id for item in again.items] == [job.id for job in jobs]
        assert [stage.hot(job.id).idempotency_key for job in jobs] == LOOKALIKES

    def test_nobody_holds_a_key_that_differs_by_a_blank_at_its_end(self, stage: Stage) -> None:
        holder = stage.add(idempotency_key="order-7")

        assert stage.store.key_holders(["order-7 ", " order-7", "order-7"]) == {"order-7": holder.id}

    def test_a_key_of_the_greatest_length_is_kept_whole(self, stage: Stage) -> None:
        keys = ["\U0001f4e7" * 127 + "a", "\U0001f4e7" * 127 + "b", "k" * 255, "k" * 254]

        ids = [stage.add(idempotency_key=key).id for key in keys]

        assert [stage.hot(job_id).idempotency_key for job_id in ids] == keys

    def test_ids_that_only_look_alike_are_different_jobs(self, stage: Stage) -> None:
        ids = ["a", "A", "1", "01", "1.0", "1e0", "0x1", "a.b", "a-b", "a_b", "a~b", "null", "x" * 50, "x" * 49]
        stage.store.enqueue([NewJob(job_id, "t", f'"{job_id}"') for job_id in ids])

        assert [stage.hot(job_id).payload for job_id in ids] == [f'"{job_id}"' for job_id in ids]
        assert stage.store.find("X" * 50) is None
        assert stage.store.find("a ") is None
        assert list(stage.store.purge(["a "])) == [False]

    def test_claims_settlements_and_commands_keep_to_the_exact_id(self, stage: Stage) -> None:
        for job_id in ("a", "A"):
            stage.add(id=job_id)
        stage.store.cancel(["a"], "ann")
        (claimed,) = stage.turn(want=5).claimed

        assert claimed.lease.job_id == "A"
        stage.settle(complete(claimed.lease, 1.0))
        assert stage.archived_row("A").payload == stage.dead_row("a").payload

    @pytest.mark.case("C-029")
    def test_queues_that_only_look_alike_are_different_queues(self, stage: Stage) -> None:
        names = ["a", "a.b", "a-b", "a_b", "0", "00", "q" * 255, "q" * 254]
        for name in names:
            stage.add(queue=name)
        stage.store.change_queue("a-b", QueueChange(is_paused=True))

        assert [row.name for row in stage.store.queues() if row.pending == 1] == sorted(names)
        assert [row.name for row in stage.store.queues() if row.is_paused] == ["a-b"]
        assert {job.queue for job in stage.turn(want=20).claimed} == set(names) - {"a-b"}

    @pytest.mark.case("C-029")
    def test_types_that_only_look_alike_are_different_types(self, stage: Stage) -> None:
        types = ["email.v1", "Email.v1", "email.V1", "email_v1", "email.v1!", "t" * 255]
        for type_key in types:
            stage.add(type_key=type_key)

        assert [job.type_key for job in stage.turn(want=20).claimed] == types

    def test_workers_that_only_look_alike_are_different_workers(self, stage: Stage) -> None:
        stage.running("worker-a")
        stage.running("Worker-a")

        assert len(stage.store.beat(Beat("worker-a")).held) == 1
        assert len(stage.store.beat(Beat("WORKER-A")).held) == 0


class TestTextComesBackAsItWas:
    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    def test_in_every_field_of_a_job(self, stage: Stage, text: str) -> None:
        payload = json.dumps({"text": text}, ensure_ascii=False)
        job = stage.add(payload=payload, tags=text, created_by=text, idempotency_key=f"k{text}k")
        stage.store.edit([job.id], Edit(priority=11), by=text)
        (claimed,) = stage.turn(want=1).claimed
        stage.store.beat(Beat(WORKER, progress=(Progress(claimed.lease, 1, text),)))

        stored = stage.hot(job.id)

        assert (claimed.payload, claimed.created_by) == (payload, text)
        assert (stored.payload, stored.tags, stored.created_by, stored.last_modified_by) == (payload, text, text, text)
        assert (stored.idempotency_key, stored.progress_note) == (f"k{text}k", text)

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    def test_in_what_is_kept_of_an_end(self, stage: Stage, text: str) -> None:
        good, bad = (stage.running().lease for _ in range(2))
        stage.settle(
            complete(good, 1.0, result=json.dumps(text, ensure_ascii=False), note=text),
            dead_letter(bad, FailureReason.FATAL_ERROR, ErrorFacts(text, text, text)),
        )

        archived, dead = stage.archived_row(good.job_id), stage.dead_row(bad.job_id)

        assert (archived.result, archived.result_note) == (json.dumps(text, ensure_ascii=False), text)
        assert (dead.error_type, dead.error_details) == (text, text)
        assert [(error.type, error.message) for error in dead.attempt_errors] == [(text, text)]

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    def test_in_what_a_person_leaves(self, stage: Stage, text: str) -> None:
        waiting, running = stage.add().id, stage.running(priority=99).lease
        stage.store.cancel([waiting, running.job_id], by=text)

        assert stage.dead_row(waiting).last_modified_by == text
        assert stage.store.beat(Beat(WORKER)).held[running.job_id].cancel_requested_by == text

    @pytest.mark.case("C-040")
    @pytest.mark.case("C-033")
    @pytest.mark.parametrize(
        "payload",
        [
            "null",
            "0",
            "-0.0",
            "1e400",
            "12345678901234567890.12345678901234567890",
            '""',
            '{"b":1,"a":2,"b":3}',
            '{ "spaced" :  [ 1 ,2 ]\n}',
            '"\\u00e9\\ud83d\\ude80\\/"',
            '"\u00e9\U0001f680/"',
            "[" * 100 + "]" * 100,
        ],
    )
    def test_json_text_is_never_rewritten(self, stage: Stage, payload: str) -> None:
        job = stage.add(payload=payload)
        (claimed,) = stage.turn(want=1).claimed
        stage.settle(complete(claimed.lease, 1.0, result=payload))

        assert claimed.payload.encode() == payload.encode()
        archived = stage.archived_row(job.id)
        assert archived.payload.encode() == payload.encode()
        assert archived.result is not None
        assert archived.result.encode() == payload.encode()

    @pytest.mark.parametrize("character", ["x", "\u00e9", "\U0001f680", "'", "\\"])
    def test_a_payload_of_a_megabyte_goes_through_every_pillar(self, stage: Stage, character: str) -> None:
        payload = json.dumps(character * (1_000_000 // len(character.encode())), ensure_ascii=False)
        good, bad = (stage.running(payload=payload) for _ in range(2))
        assert good.payload == payload

        stage.settle(
            complete(good.lease, 1.0, result=payload),
            dead_letter(bad.lease, FailureReason.FATAL_ERROR, ErrorFacts("E", "m", payload)),
        )

        archived, dead = stage.archived_row(good.lease.job_id), stage.dead_row(bad.lease.job_id)
        assert (archived.payload, archived.result) == (payload, payload)
        assert (dead.payload, dead.error_details) == (payload, payload)

    @pytest.mark.case("C-016")
    def test_an_error_whose_own_text_is_not_storable_is_recorded_all_the_same(self, stage: Stage) -> None:
        lease = stage.running().lease
        error = error_facts(ValueError("nul \x00, lone \ud800, emoji \U0001f680"))

        stage.settle(retry(lease, MINUTE, error))

        (kept,) = stage.hot(lease.job_id).attempt_errors
        assert (kept.type, kept.message) == ("ValueError", "nul \u2400, lone \ufffd, emoji \U0001f680")

    def test_the_names_of_timers_queues_and_hosts_are_only_text(self, stage: Stage) -> None:
        stage.store.timer_started("o'clock; --")
        stage.store.timer_finished("o'clock; --", "it's \U0001f680", has_succeeded=True)

        assert stage.store.timers()["o'clock; --"].last_outcome == "it's \U0001f680"
        assert stage.turn(OTHER_WORKER, want=1, after_queue="it's; --").last_queue == "it's; --"
