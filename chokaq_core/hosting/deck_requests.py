"""
What the Deck's routes take: every input bounded and checked here, whatever page or program sends it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.listing import JobFilter, JobQuery, Pillar
from chokaq_core.hosting import json_text
from chokaq_core.hosting.http_models import DurationIn, MomentIn
from chokaq_core.operations.commands import Ids, JobCommand, Matching, Verb, filter_problems
from chokaq_core.operations.cursors import MAX_CURSOR_CHARACTERS, Walk
from chokaq_core.operations.seals import MAX_TOKEN_CHARACTERS
from chokaq_core.ports import MAX_BATCH, Edit, QueueChange

MAX_PAGE = 200
MAX_TEXT = 1_000

_STATUSES = {status.label: status for status in (Status.PENDING, Status.FETCHED, Status.PROCESSING)}
_REASONS = {reason.label: reason for reason in FailureReason}
_STRICT = ConfigDict(extra="forbid", hide_input_in_errors=True, populate_by_name=False)

StatusName = Literal["Pending", "Fetched", "Processing"]
ReasonName = Literal[
    "MaxRetriesExceeded",
    "Cancelled",
    "Zombie",
    "CircuitBreakerOpen",
    "Rejected",
    "Throttled",
    "FatalError",
    "Timeout",
    "Transient",
    "HeartbeatFailure",
    "RetryLifetimeExpired",
]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Cursor = Annotated[str | None, Field(max_length=MAX_CURSOR_CHARACTERS)]


class FilterBody(BaseModel):
    """
    Which jobs are meant. All that is given must hold; texts are compared by exact characters, letter case included.
    """

    model_config = _STRICT

    pillar: Pillar = Field(description="`hot` active, `archive` succeeded, `dlq` ended badly.")
    queue: Text | None = Field(None, description="The queue's whole name.")
    type: Text | None = Field(None, description="The whole type key.")
    status: StatusName | None = Field(None, description="Of active jobs only.")
    reason: ReasonName | None = Field(None, description="Of dead jobs only.")
    error_text: Text | None = Field(None, description="A part of a dead job's error type, message or traceback.")
    search: Text | None = Field(None, description="A part of id, type, tags or idempotency key, taken literally.")
    from_: MomentIn = Field(
        None, alias="from", description="Created (hot), finished (archive) or failed (dlq) then or later; RFC 3339."
    )
    to: MomentIn = Field(None, description="The same, then or earlier.")
    order: Literal["newest", "oldest"] = Field("newest", description="By that time.")

    def to_query(self) -> JobQuery:
        """
        The list that is meant, from its beginning.

        Raises:
            InvalidJobError: the filter asks for what jobs of this pillar do not have.
        """
        job_filter = JobFilter(
            queue=self.queue,
            type_key=self.type,
            status=None if self.status is None else _STATUSES[self.status],
            reason=None if self.reason is None else _REASONS[self.reason],
            error_text=self.error_text or None,
            search=self.search or None,
            from_at=self.from_,
            to_at=self.to,
        )
        if problems := list(filter_problems(self.pillar, job_filter)):
            raise InvalidJobError(problems)
        return JobQuery(self.pillar, job_filter, is_oldest_first=self.order == "oldest")


class ListParams(FilterBody):
    """
    A page of a list.
    """

    limit: int = Field(50, ge=1, le=MAX_PAGE, description="Jobs on a page.")
    cursor: Cursor = Field(None, description="The `further` of the page before.")


class ExportParams(FilterBody):
    """
    A list as a file.
    """

    format: Literal["csv", "json"] = Field("csv", description="What kind of file.")
    cursor: Cursor = Field(None, description="The header `X-ChokaQ-Further` of the file before.")


class ErrorsParams(BaseModel):
    """
    The largest groups of errors.
    """

    model_config = _STRICT

    limit: int = Field(20, ge=1, le=100, description="Groups.")


class LogParams(BaseModel):
    """
    A page of the operator log.
    """

    model_config = _STRICT

    limit: int = Field(50, ge=1, le=MAX_PAGE, description="Entries on a page.")
    before: int | None = Field(None, ge=1, le=2**53, description="The `further` of the page before.")


class EventsParams(BaseModel):
    """
    Events of this process after a number.
    """

    model_config = _STRICT

    after: int = Field(0, ge=0, le=2**53, description="The `last` of the answer before.")


class PreviewBody(BaseModel):
    """
    A command, to be looked at first. Name either ids or a filter.
    """

    model_config = _STRICT

    command: Verb = Field(description="What to do.")
    ids: list[StrictStr] | None = Field(None, min_length=1, max_length=MAX_BATCH, description="Jobs by id.")
    filter: FilterBody | None = Field(None, description="Jobs by filter, the first 1000 in its order.")
    cursor: Cursor = Field(None, description="The `further` of the preview before, for the next 1000.")
    payload: StrictStr | None = Field(
        None, description="New payload as JSON text, so that no number is rounded on the way; of edits only."
    )
    tags: StrictStr | None = Field(None, description="New tags, at most 1000 characters; of edits only.")
    priority: StrictInt | None = Field(None, description="New priority, 0 to 1 000 000; of edits and `set_priority`.")

    def to_command(self) -> JobCommand:
        """
        The command that is meant.

        Raises:
            InvalidJobError: it names no jobs or in two ways, or its payload is not JSON.
        """
        if (self.ids is None) == (self.filter is None):
            raise InvalidJobError([FieldProblem("ids", "name jobs either by ids or by a filter")])
        edit = Edit(payload=_compact(self.payload), tags=self.tags, priority=self.priority)
        walk = self.walk()
        target = Matching(walk.query) if walk is not None else Ids(tuple(self.ids or ()))
        return JobCommand(self.command, target, edit)

    def walk(self) -> Walk | None:
        """
        The list that the filter means, from the cursor on; None where jobs are named by their ids.

        Raises:
            InvalidJobError: the cursor is of another list.
        """
        return None if self.filter is None else Walk.resume(self.filter.to_query(), self.cursor)


class CommandBody(PreviewBody):
    """
    A command, to be carried out.
    """

    token: StrictStr | None = Field(
        None, max_length=MAX_TOKEN_CHARACTERS, description="Of the command's preview; a filter needs one."
    )
    accept_changes: StrictBool = Field(
        default=False, description="Go on with what matches now, although it is not what the preview saw."
    )


class QueueBody(BaseModel):
    """
    New controls of a queue; what is left out stays, and null takes a limit away.
    """

    model_config = _STRICT

    is_paused: StrictBool | None = Field(None, description="Stops claims at once; running work goes on.")
    is_active: StrictBool | None = Field(None, description="False also hides the queue from health.")
    max_workers: StrictInt | None = Field(None, description="1 to 10 000 jobs at once over all instances.")
    zombie_timeout: DurationIn = Field(None, description="`[d.]hh:mm:ss`, at least 3 × Execution.HeartbeatIntervalMax.")

    def to_change(self) -> QueueChange:
        """
        The change that is meant.
        """
        cleared = {name for name in ("max_workers", "zombie_timeout") if getattr(self, name) is None}
        return QueueChange(
            is_paused=self.is_paused,
            is_active=self.is_active,
            max_workers=self.max_workers,
            zombie_timeout=self.zombie_timeout,
            clear=frozenset(cleared & self.model_fields_set),
        )


def _compact(payload: str | None) -> str | None:
    """
    JSON text without blanks between its parts, as an enqueue over HTTP stores it; every number keeps its digits.
    """
    if payload is None:
        return None
    try:
        return json_text.write(json_text.parse(payload.encode("utf-8", "surrogatepass")))
    except ValueError as error:
        raise InvalidJobError([FieldProblem("payload", f"is not strict JSON: {error}")]) from error
