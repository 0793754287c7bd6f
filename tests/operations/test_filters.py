"""
Commands on filters: preview, token, and a set that moves.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.errors import PreviewRejectedError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.listing import JobFilter, JobQuery, Pillar
from chokaq_core.domain.value import replace
from chokaq_core.operations.commands import JobCommand, Matching, Verb
from chokaq_core.operations.results import CommandResult, SetChanged
from chokaq_core.operations.seals import Seals
from chokaq_core.ports import Edit
from tests.contract.stages import MINUTE, SECOND
from tests.operations.conftest import ANN, Desk


def command(verb: Verb = Verb.RESURRECT, pillar: Pillar = Pillar.DLQ, **values: object) -> JobCommand:
    edit = Edit(priority=3) if verb is Verb.SET_PRIORITY else Edit()
    return JobCommand(verb, Matching(JobQuery(pillar, JobFilter(**values))), edit)  # type: ignore[arg-type]


def run(desk: Desk, given: JobCommand, token: str, *, accepts_changes: bool = False) -> CommandResult:
    result = desk.commands.run(given, ANN, token=token, accepts_changes=accepts_changes)
    assert isinstance(result, CommandResult)
    return result


@pytest.mark.case("C-047")
@pytest.mark.parametrize("text,tags", [("a_b", ["a_b"]), ("%", ["100%"]), ("'", ["it's"]), ("\\", [r"C:\tmp"])])
def test_a_command_on_a_search_touches_exactly_what_the_search_lists(desk: Desk, text: str, tags: list[str]) -> None:
    everything = ["a_b", "axb", "100%", "1000", "[x]y", "xy", r"C:\tmp", "it's", "📦"]
    ids = {tag: desk.stage.dead(tags=tag, type_key="t").lease.job_id for tag in everything}
    given = command(search=text)

    result = run(desk, given, desk.commands.preview(given, ANN).token)

    assert [r.job_id for r in result.results] == [ids[tag] for tag in tags]
    assert desk.stage.store.counts().hot == len(tags)


def test_a_preview_tells_what_will_be_touched_and_shows_ten_of_it(desk: Desk) -> None:
    for _ in range(12):
        desk.stage.dead(queue="mail")
    desk.stage.dead(queue="other")

    preview = desk.commands.preview(command(queue="mail"), ANN)

    assert (preview.touched, len(preview.samples), preview.further, preview.refusals) == (12, 10, None, ())
    assert desk.stage.store.counts().hot == 0
    assert desk.stage.store.operator_log(None, 10) == []


@pytest.mark.parametrize("token", [None, "", "x", ".", "W10=.00", "é.é", "a" * 10_000])
def test_without_the_token_of_its_preview_nothing_happens(desk: Desk, token: str | None) -> None:
    desk.stage.dead()

    with pytest.raises(PreviewRejectedError):
        desk.commands.run(command(), ANN, token=token)

    assert desk.stage.store.counts().dlq == 1
    assert len(desk.events.of(EventName.ADMIN_COMMAND_REJECTED)) == 1


@pytest.mark.parametrize(
    "other",
    [
        command(Verb.PURGE),
        command(queue="mail"),
        command(to_at=None, search="x"),
        JobCommand(Verb.RESURRECT, Matching(JobQuery(Pillar.DLQ, is_oldest_first=True))),
        command(Verb.SET_PRIORITY),
    ],
    ids=["verb", "queue", "search", "order", "edit"],
)
def test_a_token_is_good_for_its_own_command_only(desk: Desk, other: JobCommand) -> None:
    desk.stage.dead()
    token = desk.commands.preview(command(), ANN).token

    with pytest.raises(PreviewRejectedError):
        desk.commands.run(other, ANN, token=token)


def test_a_token_is_good_for_its_own_values_only(desk: Desk) -> None:
    desk.stage.dead()
    given = command(Verb.SET_PRIORITY)
    token = desk.commands.preview(given, ANN).token

    with pytest.raises(PreviewRejectedError):
        desk.commands.run(replace(given, edit=Edit(priority=4)), ANN, token=token)


def test_a_token_is_good_for_its_own_person_and_key_only(desk: Desk) -> None:
    desk.stage.dead()
    token = desk.commands.preview(command(), ANN).token

    with pytest.raises(PreviewRejectedError):
        desk.commands.run(command(), Actor("bob", Role.OPERATE), token=token)
    with pytest.raises(PreviewRejectedError):
        Seals(b"other key").open(token, command(), "ann")
    assert Seals(b"k" * 32).open(token, command(), "ann").at == desk.stage.clock.now()


def test_a_token_ends_after_a_quarter_of_an_hour(desk: Desk) -> None:
    desk.stage.dead()
    token = desk.commands.preview(command(), ANN).token

    desk.stage.clock.advance(timedelta(minutes=15))
    assert run(desk, command(), token).done == 1
    desk.stage.clock.advance(SECOND)
    with pytest.raises(PreviewRejectedError, match="too old"):
        desk.commands.run(command(), ANN, token=token)


def test_jobs_that_came_after_the_preview_are_not_meant(desk: Desk) -> None:
    old = desk.stage.dead().lease.job_id
    token = desk.commands.preview(command(), ANN).token
    desk.stage.clock.advance(SECOND)
    desk.stage.dead()

    result = run(desk, command(), token)

    assert [r.job_id for r in result.results] == [old]
    assert not result.has_set_changed


def test_a_set_that_has_changed_is_shown_again_and_left_alone(desk: Desk) -> None:
    first, second = (desk.stage.dead().lease.job_id for _ in range(2))
    token = desk.commands.preview(command(), ANN).token
    desk.stage.store.purge([first])
    desk.stage.clock.advance(MINUTE)

    changed = desk.commands.run(command(), ANN, token=token)

    assert isinstance(changed, SetChanged)
    assert [job.id for job in changed.preview.samples] == [second]
    assert desk.stage.store.counts().hot == 0
    assert run(desk, command(), changed.preview.token).done == 1


def test_who_accepts_changes_gets_what_matches_now_and_is_told(desk: Desk) -> None:
    first, second = (desk.stage.dead().lease.job_id for _ in range(2))
    token = desk.commands.preview(command(), ANN).token
    desk.stage.store.purge([first])

    result = run(desk, command(), token, accepts_changes=True)

    assert result.has_set_changed
    assert [r.job_id for r in result.results] == [second]


def test_a_job_that_died_again_is_another_one(desk: Desk) -> None:
    lease = desk.stage.running().lease
    desk.stage.bury(lease.job_id)
    given = command(Verb.PURGE)
    token = desk.commands.preview(given, ANN).token
    desk.stage.store.resurrect([lease.job_id], "bob")
    desk.stage.turn(want=1)
    desk.stage.bury(lease.job_id)

    assert isinstance(desk.commands.run(given, ANN, token=token), SetChanged)


def test_one_call_takes_a_thousand_and_tells_where_to_go_on(desk: Desk) -> None:
    for _ in range(2):
        desk.stage.add_many(600)
        desk.stage.clock.advance(SECOND)
    given = command(Verb.CANCEL, Pillar.HOT)

    first = run(desk, given, desk.commands.preview(given, ANN).token)
    assert first.done == 1000
    assert first.further is not None
    rest = JobCommand(Verb.CANCEL, Matching(JobQuery(Pillar.HOT, after=first.further)))
    second = run(desk, rest, desk.commands.preview(rest, ANN).token)

    assert (second.done, second.further) == (200, None)
    assert desk.stage.store.counts().dlq == 1200


def test_the_filter_is_written_down_whole(desk: Desk) -> None:
    desk.stage.dead(queue="mail")
    given = command(queue="mail", search="", from_at=desk.stage.clock.now())

    run(desk, given, desk.commands.preview(given, ANN).token)

    (entry,) = desk.stage.store.operator_log(None, 10)
    assert entry.target == '{"pillar":"dlq","queue":"mail","search":"","from_at":"2026-03-01T12:00:00+00:00"}'


def test_a_reason_and_a_status_are_written_down_by_their_names(desk: Desk) -> None:
    desk.stage.add()
    dead, waiting = (
        command(reason=FailureReason.TIMEOUT),
        command(Verb.SET_PRIORITY, Pillar.HOT, status=Status.PENDING),
    )

    for given in (dead, waiting):
        run(desk, given, desk.commands.preview(given, ANN).token)

    targets = [entry.target for entry in desk.stage.store.operator_log(None, 10)]
    assert targets == ['{"pillar":"hot","status":"Pending"}', '{"pillar":"dlq","reason":"Timeout"}']


def test_a_filter_finds_its_jobs_among_four_thousand_rows_and_goes_on_behind_them(desk: Desk) -> None:
    desk.stage.add(queue="mail")
    desk.stage.clock.advance(SECOND)
    for _ in range(4):
        desk.stage.add_many(1000, queue="other")

    preview = desk.commands.preview(command(Verb.CANCEL, Pillar.HOT, queue="mail"), ANN)
    assert (preview.touched, preview.further is not None) == (0, True)

    rest = JobCommand(Verb.CANCEL, Matching(JobQuery(Pillar.HOT, JobFilter(queue="mail"), after=preview.further)))
    assert desk.commands.preview(rest, ANN).touched == 1
