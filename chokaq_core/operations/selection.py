"""
The jobs that a command's target means now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.domain.value import Value, replace
from chokaq_core.operations.commands import RESURRECTING, Ids, JobCommand, Matching, Verb
from chokaq_core.operations.eligibility import Candidate, candidates
from chokaq_core.ports import MAX_BATCH

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from chokaq_core.domain.listing import JobSummary, Position
    from chokaq_core.operations.seals import Seen
    from chokaq_core.ports import OperatorStore


COMMAND_LOOK = 4_000
"""
A command by filter finds its jobs among so many rows, then says where to go on: a filter that few jobs of a large table
meet takes about as long as in a small one.
"""


class Selection(Value):
    """
    Jobs as they were found, in order, each with why it will be left alone, if it will.

    Attributes:
        at: when, by the database's clock.
        further: where the rest of a filter's jobs begins.
    """

    at: datetime
    candidates: tuple[Candidate, ...]
    further: Position | None = None

    @property
    def ids(self) -> list[str]:
        """
        The ids of all, found or not.
        """
        return [candidate.job_id for candidate in self.candidates]

    @property
    def jobs(self) -> list[JobSummary]:
        """
        All that were found.
        """
        return [candidate.job for candidate in self.candidates if candidate.job is not None]

    @property
    def touched(self) -> list[JobSummary]:
        """
        Those that the command will change, as far as can be told beforehand.
        """
        return [c.job for c in self.candidates if c.job is not None and c.why_not is None]


def select(store: OperatorStore, command: JobCommand, seen: Seen | None = None) -> Selection:
    """
    Finds the jobs. Ones that came to a filter after the preview are not meant: it did not show them.
    """
    if isinstance(command.target, Ids):
        return _by_ids(store, command.verb, command.target)
    return _matching(store, command.verb, command.target, seen)


def _by_ids(store: OperatorStore, verb: Verb, target: Ids) -> Selection:
    ids = tuple(dict.fromkeys(target.ids))
    # Every page of a list tells the database's time; a short one is the cheapest way to ask for it.
    now = store.list_jobs(JobQuery(Pillar.DLQ), 1).now
    return Selection(now, _judged(store, verb, ids, store.look_up(ids)))


def _matching(store: OperatorStore, verb: Verb, target: Matching, seen: Seen | None) -> Selection:
    query = target.query
    if seen is not None:
        ends = [end for end in (query.filter.to_at, seen.at) if end is not None]
        query = replace(query, filter=replace(query.filter, to_at=min(ends)))
    page = store.list_jobs(query, MAX_BATCH, COMMAND_LOOK)
    listed = {job.id: job for job in page.jobs}
    return Selection(page.now, _judged(store, verb, tuple(listed), listed), page.further)


def _judged(
    store: OperatorStore, verb: Verb, ids: tuple[str, ...], jobs: Mapping[str, JobSummary]
) -> tuple[Candidate, ...]:
    keys = {job.idempotency_key for job in jobs.values() if job.idempotency_key is not None}
    holders = store.key_holders(sorted(keys)) if keys and verb in RESURRECTING else {}
    return tuple(candidates(verb, ids, jobs, holders))
