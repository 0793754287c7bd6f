"""
Carries commands to jobs out: role, rules, preview, the store's own decision, and what is told of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.errors import FieldProblem, InvalidJobError, PreviewRejectedError
from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.domain.operator_log import LogNote
from chokaq_core.domain.value import replace
from chokaq_core.operations.commands import Ids, JobCommand, Matching, Verb, problems_of, target_text
from chokaq_core.operations.results import CommandResult, JobResult, Preview, SetChanged, preview_of, results_of
from chokaq_core.operations.seals import Seen, fingerprint
from chokaq_core.operations.selection import Selection, select
from chokaq_core.operations.telling import require_operator, tell_of_command, telling_of_refusal
from chokaq_core.policy.circuit import permits_released
from chokaq_core.ports import CancelOutcome, ResurrectOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.domain.listing import JobSummary
    from chokaq_core.operations.seals import Seals
    from chokaq_core.ports import Events, OperatorStore


class JobCommands:
    """
    The commands of operators to jobs. Safe to use from any thread.

    Args:
        seals: makes the tokens of previews.
        check_payload: takes a type key and a payload's text and answers the text to store, by the rules of enqueue.
        wake: sees to it that somebody looks for work soon.
    """

    def __init__(
        self,
        store: OperatorStore,
        events: Events,
        seals: Seals,
        *,
        check_payload: Callable[[str, str], str],
        wake: Callable[[], object],
    ) -> None:
        self._store = store
        self._events = events
        self._seals = seals
        self._check_payload = check_payload
        self._wake = wake

    def preview(self, command: JobCommand, actor: Actor) -> Preview:
        """
        What the command would do now, with a token for doing it. Changes nothing.

        Raises:
            RoleTooSmallError: the person may not give this command.
            InvalidJobError: the command or a new value breaks a rule.
        """
        with telling_of_refusal(self._events, command.verb, actor):
            _check(command, actor)
            selection = select(self._store, command)
            self._revised(command, selection.touched)
            return self._preview(command, actor, selection)

    def run(
        self, command: JobCommand, actor: Actor, *, token: str | None = None, accepts_changes: bool = False
    ) -> CommandResult | SetChanged:
        """
        Carries the command out and writes it down.

        Args:
            token: of the preview; a filter needs one.
            accepts_changes: go on with what matches now, although it is not what the preview saw.

        Raises:
            RoleTooSmallError: the person may not give this command.
            InvalidJobError: the command or a new value breaks a rule.
            PreviewRejectedError: the token is missing, too old, or of something else.
        """
        with telling_of_refusal(self._events, command.verb, actor):
            _check(command, actor)
            seen = self._seen(command, actor, token)
            selection = select(self._store, command, seen)
            if seen is not None:
                self._seals.require_fresh(seen, selection.at)
            has_changed = seen is not None and seen.fingerprint != fingerprint(selection.jobs)
            if has_changed and not accepts_changes:
                return SetChanged(self._preview(command, actor, selection))
            results = self._carry_out(self._revised(command, selection.touched), actor, selection)
            tell_of_command(self._events, command.verb, actor, target_text(command.target), results)
            return CommandResult(command.verb, selection.at, results, has_changed, selection.further)

    def cancel(self, job_id: str, by: str) -> JobResult:
        """
        Cancels one job for a caller who may: the holder of a producer's key, say.

        Args:
            by: the name that is written down.
        """
        command = JobCommand(Verb.CANCEL, Ids((job_id,)))
        results = self._carry_out(command, Actor(by, Role.OPERATE), select(self._store, command))
        tell_of_command(self._events, command.verb, Actor(by, Role.OPERATE), target_text(command.target), results)
        return results[0]

    def _seen(self, command: JobCommand, actor: Actor, token: str | None) -> Seen | None:
        if token is not None:
            return self._seals.open(token, command, actor.name)
        if isinstance(command.target, Matching):
            raise PreviewRejectedError("a filter needs a preview first, and the token that it gave")
        return None

    def _preview(self, command: JobCommand, actor: Actor, selection: Selection) -> Preview:
        seen = Seen(selection.at, fingerprint(selection.jobs))
        return preview_of(command.verb, selection, self._seals.seal(command, actor.name, seen))

    def _revised(self, command: JobCommand, touched: Sequence[JobSummary]) -> JobCommand:
        """
        The command with the payload as it is to be stored: checked as an enqueue checks it, by its jobs' type.
        """
        payload = command.edit.payload
        if payload is None:
            return command
        types = {job.type_key for job in touched}
        if len(types) > 1:
            rule = "one payload fits jobs of one type only; choose jobs of one type"
            raise InvalidJobError([FieldProblem("payload", rule)])
        stored = [self._check_payload(type_key, payload) for type_key in types]
        return replace(command, edit=replace(command.edit, payload=stored[0] if stored else payload))

    def _carry_out(self, command: JobCommand, actor: Actor, selection: Selection) -> tuple[JobResult, ...]:
        """
        Passes all jobs of the target to the store, which decides about each and writes the command down.
        """
        note = LogNote(actor.name, command.verb, target_text(command.target))
        match command.verb:
            case Verb.CANCEL:
                return self._cancel(actor, selection, note)
            case Verb.RESURRECT:
                return self._resurrect(self._store.resurrect(selection.ids, actor.name, None, note), selection)
            case Verb.EDIT_AND_RESURRECT:
                return self._resurrect(self._store.resurrect(selection.ids, actor.name, command.edit, note), selection)
            case Verb.EDIT | Verb.SET_PRIORITY:
                edited = self._store.edit(selection.ids, command.edit, actor.name, note)
                return results_of(selection.candidates, ["edited" if is_done else "stale" for is_done in edited])
            case Verb.PURGE:
                purged = self._store.purge(selection.ids, note)
                return results_of(selection.candidates, ["purged" if is_done else "stale" for is_done in purged])

    def _cancel(self, actor: Actor, selection: Selection, note: LogNote) -> tuple[JobResult, ...]:
        """
        Cancels, and tells of each job that went into the DLQ; the worker of a running one tells of it itself.
        """
        circuits = self._store.circuits()
        outcomes = self._store.cancel(selection.ids, actor.name, note)
        ended = [
            candidate.job
            for candidate, outcome in zip(selection.candidates, outcomes, strict=True)
            if outcome is CancelOutcome.DEAD_LETTERED and candidate.job is not None
        ]
        released = permits_released(circuits, [job.id for job in ended])
        self._events.publish([*(_cancelled(job, actor) for job in ended), *released])
        return results_of(selection.candidates, outcomes)

    def _resurrect(self, outcomes: Sequence[ResurrectOutcome], selection: Selection) -> tuple[JobResult, ...]:
        """
        Wakes somebody for what came back, and finds the holders of keys that kept the others.
        """
        if ResurrectOutcome.RESURRECTED in outcomes:
            self._wake()
        if ResurrectOutcome.KEY_HELD not in outcomes:
            return results_of(selection.candidates, outcomes)
        keys = {job.idempotency_key for job in selection.jobs if job.idempotency_key is not None}
        return results_of(selection.candidates, outcomes, self._store.key_holders(sorted(keys)))


def _check(command: JobCommand, actor: Actor) -> None:
    require_operator(actor)
    if problems := list(problems_of(command)):
        raise InvalidJobError(problems)


def _cancelled(job: JobSummary, actor: Actor) -> Event:
    facts = {"reason": "Cancelled", "by": actor.name}
    return Event(EventName.JOB_TIMED_OUT_OR_CANCELLED, JobRef(job.id, job.type_key, job.queue), facts)
