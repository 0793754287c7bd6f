"""
Which jobs a command will touch, and why it leaves the others alone: a forecast, since the store decides when it runs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from chokaq_core.domain.job import Status
from chokaq_core.domain.listing import Pillar
from chokaq_core.domain.value import Value
from chokaq_core.operations.commands import RESURRECTING, Verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chokaq_core.domain.listing import JobSummary

NO_SUCH_JOB = "there is no such job"
NOT_DEAD = "it is not in the DLQ"
HAS_ENDED = "it has ended already"
HAS_SUCCEEDED = "it has succeeded already"
IS_HELD = "a worker holds it"
IS_ACTIVE = "it is active; cancel it first"
KEY_IS_HELD = "an active job holds its idempotency key"


class Candidate(Value):
    """
    One job of a target, None where there is none of this id, and why it will be left alone, None where it will not.

    Attributes:
        holder_id: the active job that holds its idempotency key and so keeps it in the DLQ.
    """

    job_id: str
    job: JobSummary | None
    why_not: str | None = None
    holder_id: str | None = None


def candidates(
    verb: Verb, job_ids: Sequence[str], jobs: Mapping[str, JobSummary], holders: Mapping[str, str]
) -> list[Candidate]:
    """
    Every job of a target, judged in order: of two dead jobs with one key the first comes back and then holds it.

    Args:
        holders: active jobs by the idempotency keys that they hold.
    """
    held = dict(holders)
    judged = []
    for job_id in job_ids:
        candidate = _judged(verb, job_id, jobs.get(job_id), held)
        if verb in RESURRECTING and candidate.why_not is None and candidate.job is not None:
            held.setdefault(candidate.job.idempotency_key or "", job_id)
        judged.append(candidate)
    return judged


def effects(verb: Verb, jobs: Sequence[JobSummary]) -> dict[str, int]:
    """
    What will happen to the jobs that are touched, in words, with how many.
    """
    return dict(Counter(_effect(verb, job) for job in jobs))


def _judged(verb: Verb, job_id: str, job: JobSummary | None, held: Mapping[str, str]) -> Candidate:
    if job is None:
        return Candidate(job_id, None, NO_SUCH_JOB)
    why_not = _why_not(verb, job)
    holder_id = held.get(job.idempotency_key or "") if verb in RESURRECTING and job.idempotency_key else None
    if why_not is None and holder_id is not None:
        return Candidate(job_id, job, KEY_IS_HELD, holder_id)
    return Candidate(job_id, job, why_not)


def _why_not(verb: Verb, job: JobSummary) -> str | None:
    match verb:
        case Verb.CANCEL:
            return None if job.pillar is Pillar.HOT else HAS_ENDED
        case Verb.RESURRECT | Verb.EDIT_AND_RESURRECT:
            return None if job.pillar is Pillar.DLQ else NOT_DEAD
        case Verb.EDIT | Verb.SET_PRIORITY:
            return _why_not_editable(job)
        case Verb.PURGE:
            return IS_ACTIVE if job.pillar is Pillar.HOT else None


def _why_not_editable(job: JobSummary) -> str | None:
    if job.pillar is Pillar.ARCHIVE:
        return HAS_SUCCEEDED
    return IS_HELD if job.status in {Status.FETCHED, Status.PROCESSING} else None


def _effect(verb: Verb, job: JobSummary) -> str:
    match verb:
        case Verb.CANCEL if job.status is Status.PROCESSING:
            return "runs and is told to stop"
        case Verb.CANCEL:
            return "waits and goes to the DLQ as cancelled"
        case Verb.RESURRECT:
            return "goes back to pending with fresh attempts"
        case Verb.EDIT_AND_RESURRECT:
            return "is changed and goes back to pending with fresh attempts"
        case Verb.EDIT | Verb.SET_PRIORITY:
            return "is changed where it is"
        case Verb.PURGE:
            return "is deleted for good"
