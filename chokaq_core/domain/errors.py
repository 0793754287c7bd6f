"""
Every error that ChokaQ raises on purpose.

    ChokaQError
    ├── InvalidJobError              the caller's job was refused; nothing was written
    │   └── KeyConflictError         the idempotency key is held by another type or payload
    ├── RegistrationError            a profile, handler or middleware is declared wrongly
    ├── ConfigurationError           settings are invalid; lists every problem at once
    ├── ForkedEngineError            an engine is used in a child of the process that it was built in
    ├── StoreError                   the database did not do what was asked
    │   ├── StoreUnavailableError    it may work again by itself: wait and repeat
    │   └── StoreRefusedError        it will not: schema, permission or disk needs a person
    ├── HandlerSignal                what user code raises to steer its own job
    │   ├── FatalJobError            do not retry: dead-letter now
    │   ├── ThrottledError           the other side asked for patience
    │   ├── TransientJobError        retry, whatever other rules say
    │   └── JobCancelledError        the handler noticed that it shall stop
    ├── JobPostponedError            middleware's way to say "not now": the attempt is not counted
    └── CommandRefusedError          an operator's command was refused; nothing was changed
        ├── RoleTooSmallError        the person may not give it
        ├── PreviewRejectedError     it needs a preview, or another one
        └── UnknownQueueError        there is no such queue
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ChokaQError(Exception):
    """
    Base of every error raised on purpose; catch it to catch them all.
    """


MOST_PROBLEMS = 100
"""How many problems of one job are told one by one."""


class FieldProblem(Value):
    """
    One reason why a job was refused: which field, which rule, what was given.

    Attributes:
        field: the field's name as the caller spells it, e.g. `queue` or `payload.amount`.
        rule: the rule in words, with the limit and the way out.
        code: stable word for programs: `invalid`, `too_large`, `unknown_type`, `exists` or `key_conflict`.
    """

    field: str
    rule: str
    code: str = "invalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.rule}"


class InvalidJobError(ChokaQError):
    """
    The job was refused before anything was written. Correct the named fields and send it again.

    `problems` lists the first 100; where there are more, one more entry says how many. Else a list of half a million
    bad items would be answered, and logged, with as many sentences.
    """

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = _bounded(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))

    def joined(self, others: Iterable[FieldProblem]) -> InvalidJobError:
        """
        This refusal and more problems in one, as long as there is room for them.
        """
        return self if len(self.problems) > MOST_PROBLEMS else InvalidJobError((*self.problems, *others))


def _bounded(problems: Iterable[FieldProblem]) -> tuple[FieldProblem, ...]:
    rest = iter(problems)
    told = tuple(islice(rest, MOST_PROBLEMS))
    untold = sum(1 for _ in rest)
    if not untold:
        return told
    last = told[-1]
    return (*told, FieldProblem(last.field.partition(".")[0], f"and {untold} more like these", last.code))


class KeyConflictError(InvalidJobError):
    """
    The idempotency key belongs to an active job of another type or payload. Use another key, or look at `first_id`.
    """

    def __init__(self, first_id: str) -> None:
        self.first_id = first_id
        rule = f"held by active job {first_id} with another type or payload; give other work a key of its own"
        super().__init__([FieldProblem("idempotency_key", rule, "key_conflict")])


class RegistrationError(ChokaQError):
    """
    A handler, profile or middleware is declared wrongly. Mend the code; the message names the type key and the rule.
    """


class ConfigurationError(ChokaQError):
    """
    The settings are invalid and nothing was started. `problems` lists all of them, secrets left out.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        listing = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{len(self.problems)} invalid setting(s):\n{listing}")


class ForkedEngineError(ChokaQError):
    """
    The engine belongs to another process, from which this one was forked. Build the app after the fork.
    """


class StoreError(ChokaQError):
    """
    The database did not do what was asked. Whether anything was written is unknown unless a subclass says so.
    """


class StoreUnavailableError(StoreError):
    """
    The database is away, busy or failing over; the same call may succeed later and is safe to repeat.
    """


class StoreRefusedError(StoreError):
    """
    The database refused for good: missing schema or permission, read-only, or full. Read the text.
    """


class HandlerSignal(ChokaQError):  # noqa: N818 - a signal from user code, not a fault of ours
    """
    Base of what a handler raises to decide its own job's fate.
    """


class FatalJobError(HandlerSignal):
    """
    Raise in a handler when a retry cannot help; the job goes to the DLQ as FatalError.
    """


class TransientJobError(HandlerSignal):
    """
    Raise in a handler for a fault that passes; the job is retried by the back-off rule while attempts are left.
    """


class ThrottledError(HandlerSignal):
    """
    Raise in a handler when the other side asked to come back later; the job is retried after `retry_after`.
    """

    def __init__(self, message: str = "throttled", retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class JobCancelledError(HandlerSignal):
    """
    Raised by `ctx.raise_if_cancelled()`; let it pass so that the job ends as cancelled.
    """


class JobPostponedError(ChokaQError):
    """
    Raised by middleware before the handler ran: look at the job again after `delay`; the attempt is not counted.
    """

    def __init__(self, reason: str, delay: timedelta) -> None:
        super().__init__(reason)
        self.delay = delay


class CommandRefusedError(ChokaQError):
    """
    An operator's command was refused before anything was changed; the text says what is missing.
    """


class RoleTooSmallError(CommandRefusedError):
    """
    The person may not give this command. Ask for the role `ChokaQ.Operator`, or use the key that operates.
    """


class PreviewRejectedError(CommandRefusedError):
    """
    The command acts on a filter and needs the token of a fresh preview of the same command by the same person.
    """


class UnknownQueueError(CommandRefusedError):
    """
    There is no queue of this name. A queue appears with its first job; look for a mistyped name.
    """
