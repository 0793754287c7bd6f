"""
What a command would do, and what it did: job by job, with the reasons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value
from chokaq_core.operations.eligibility import KEY_IS_HELD, Candidate, effects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from chokaq_core.domain.listing import JobSummary, Position
    from chokaq_core.operations.commands import Verb
    from chokaq_core.operations.selection import Selection

MAX_SAMPLES = 10

STALE = "stale"
"""The store's word for a job that was not where the command needs it."""

MOVED = "it moved before the command reached it"


class Refusal(Value):
    """
    Jobs that will be left alone for one reason: how many, and some of their ids.
    """

    why: str
    jobs: int
    sample_ids: tuple[str, ...]


class Preview(Value):
    """
    What a command would do now.

    Attributes:
        touched: how many jobs it would change.
        samples: some of them.
        effects: what would happen to them, with how many.
        refusals: what would be left alone, and why.
        further: where the rest of a filter's jobs begins, which this command would not reach.
        token: to be presented with the command.
    """

    verb: Verb
    at: datetime
    touched: int
    samples: tuple[JobSummary, ...]
    effects: Mapping[str, int]
    refusals: tuple[Refusal, ...]
    further: Position | None
    token: str


class SetChanged(Value):
    """
    Nothing was done: the jobs are not the ones of the preview any more. Here is how things stand now.
    """

    preview: Preview


class JobResult(Value):
    """
    What a command came to for one job.

    Attributes:
        outcome: the store's own word: `resurrected`, `key_held`, `stale` and so on.
        why: why nothing was done, in words.
        holder_id: the active job that holds its key.
    """

    job_id: str
    outcome: str
    is_done: bool
    why: str | None = None
    holder_id: str | None = None


class CommandResult(Value):
    """
    What a command came to, job by job in order.

    Attributes:
        at: when the jobs were found, by the database's clock.
        has_set_changed: the jobs were not the ones of the preview any more.
        further: where the rest of a filter's jobs begins.
    """

    verb: Verb
    at: datetime
    results: tuple[JobResult, ...]
    has_set_changed: bool = False
    further: Position | None = None

    @property
    def done(self) -> int:
        """
        How many jobs were changed.
        """
        return sum(result.is_done for result in self.results)


def preview_of(verb: Verb, selection: Selection, token: str) -> Preview:
    """
    The preview of a command on these jobs.
    """
    touched = selection.touched
    return Preview(
        verb=verb,
        at=selection.at,
        touched=len(touched),
        samples=tuple(touched[:MAX_SAMPLES]),
        effects=effects(verb, touched),
        refusals=_refusals(selection.candidates),
        further=selection.further,
        token=token,
    )


def results_of(
    judged: Sequence[Candidate], outcomes: Sequence[str], holders: Mapping[str, str] | None = None
) -> tuple[JobResult, ...]:
    """
    The store's outcomes as results.

    Args:
        holders: active jobs by the keys that they hold, where keys may have kept jobs back.
    """
    known = holders if holders is not None else {}
    return tuple(_result(candidate, outcome, known) for candidate, outcome in zip(judged, outcomes, strict=True))


def _result(candidate: Candidate, outcome: str, holders: Mapping[str, str]) -> JobResult:
    if outcome == STALE:
        return JobResult(candidate.job_id, STALE, is_done=False, why=candidate.why_not or MOVED)
    if outcome == "key_held":
        key = candidate.job.idempotency_key if candidate.job is not None else None
        return JobResult(candidate.job_id, outcome, False, KEY_IS_HELD, holders.get(key or ""))  # noqa: FBT003
    return JobResult(candidate.job_id, outcome, is_done=True)


def _refusals(judged: Sequence[Candidate]) -> tuple[Refusal, ...]:
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for candidate in judged:
        if candidate.why_not is not None:
            by_reason[candidate.why_not].append(candidate.job_id)
    return tuple(Refusal(why, len(ids), tuple(ids[:MAX_SAMPLES])) for why, ids in by_reason.items())
