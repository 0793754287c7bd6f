"""
What every event says to a person, and how loudly: one table.

The id and the facts are for machines; the words here may change with any release.

Levels, by what the reader is to do:
    DEBUG: the ordinary life of a job; millions of lines a day, so they are off unless somebody asks.
    INFO: a change worth knowing when looking back.
    WARNING: it was dealt with, but too many of these need a person.
    ERROR: a job needs a person, or the app does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from chokaq_core.domain.events import EventName
from chokaq_core.domain.value import Value


class Wording(Value):
    """
    The sentence of an event and its level.
    """

    level: int
    text: str


ByFacts = Callable[[Mapping[str, object]], Wording]
"""Where the facts of an event decide what it says."""


def wording_of(name: EventName, facts: Mapping[str, object]) -> Wording:
    """
    The words for an event with these facts.
    """
    entry = WORDING[name]
    return entry if isinstance(entry, Wording) else entry(facts)


def _debug(text: str) -> Wording:
    return Wording(logging.DEBUG, text)


def _info(text: str) -> Wording:
    return Wording(logging.INFO, text)


def _warning(text: str) -> Wording:
    return Wording(logging.WARNING, text)


def _error(text: str) -> Wording:
    return Wording(logging.ERROR, text)


_TIMED_OUT = _error("Job ran into its timeout and lies in the DLQ")
_CANCELLED = _info("Job was cancelled by an operator and lies in the DLQ")
_REJECTED = _error("Job was refused before its handler ran and lies in the DLQ")
_FATAL = _error("Job failed with an error that no retry can mend and lies in the DLQ")
_RESCUE_IDLE = _debug("Rescue scan found nothing to do")
_RESCUE_BUSY = _info("Rescue scan moved jobs that had lost their worker")
_CIRCUIT_OPENED = _error("Circuit opened: too many attempts of this type failed, so its jobs wait")
_CIRCUIT_CLOSED = _info("Circuit closed: jobs of this type run again")
_CIRCUIT_TRIES = _info("Circuit of this type has changed")
_CLAIM_ANSWERED = _debug("Idempotency claim was answered")
_CLAIM_BROKEN = _warning("Idempotency claim could not do its work; the job may run twice")
_STORE_CHOSEN = _info("Store chosen")
_STORE_IN_MEMORY = _warning("Store chosen: in memory, so jobs are lost when this process ends")


def _timed_out_or_cancelled(facts: Mapping[str, object]) -> Wording:
    return _CANCELLED if facts.get("reason") == "Cancelled" else _TIMED_OUT


def _fatal_or_rejected(facts: Mapping[str, object]) -> Wording:
    return _REJECTED if facts.get("reason") == "Rejected" else _FATAL


def _rescue(facts: Mapping[str, object]) -> Wording:
    has_moved = facts.get("recovered", 0) != 0 or facts.get("buried", 0) != 0
    return _RESCUE_BUSY if has_moved else _RESCUE_IDLE


def _circuit_changed(facts: Mapping[str, object]) -> Wording:
    match facts.get("change"):
        case "opened":
            return _CIRCUIT_OPENED
        case "closed":
            return _CIRCUIT_CLOSED
        case _:
            return _CIRCUIT_TRIES


def _claim_answered(facts: Mapping[str, object]) -> Wording:
    return _CLAIM_BROKEN if facts.get("claim") in {"complete_conflict", "empty_key"} else _CLAIM_ANSWERED


def _store_chosen(facts: Mapping[str, object]) -> Wording:
    return _STORE_IN_MEMORY if facts.get("is_durable") is False else _STORE_CHOSEN


WORDING: dict[EventName, Wording | ByFacts] = {
    EventName.WORKER_STARTED: _info("Worker started"),
    EventName.WORKER_STOPPED: _info("Worker stopped"),
    EventName.WORKER_LOOP_CRASHED: _error("The store does not answer; the worker goes on trying"),
    EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY: _error("A background thread ended by a fault and is started again"),
    EventName.WORKER_CAPACITY_CHANGED: _info("Worker capacity changed"),
    EventName.WORKER_LOOP_RECOVERED: _info("The store answers again"),
    EventName.WORKER_ALL_SLOTS_ABANDONED: _error(
        "Every slot is taken by a handler that ignores its timeout; this worker takes no more work"
    ),
    EventName.PREFETCHED_JOB_RELEASED: _debug("Fetched job was given back unstarted"),
    EventName.PREFETCHED_JOB_RELEASE_FAILED: _warning("Fetched job could not be given back; rescue will do it"),
    EventName.PROCESSING_TASK_DRAIN_STARTED: _info("No more jobs are claimed; running ones are awaited"),
    EventName.PROCESSING_TASK_SHUTDOWN_OBSERVED: _info("Running job was told of the shutdown"),
    EventName.PROCESSING_TASK_WRAPPER_FAILED: _error("The code around a handler failed; this is a fault in ChokaQ"),
    EventName.WORKER_SHUTDOWN_TIMED_OUT: _error("Worker threads did not end within the grace period"),
    EventName.PROCESSING_TASK_DRAIN_TIMED_OUT: _warning("Job still runs after the grace period; its heartbeat goes on"),
    EventName.JOB_CANCELLATION_REQUESTED: _info("Running job is told to cancel"),
    EventName.CIRCUIT_BREAKER_REJECTED: _info("Job was put off because its type's circuit is open"),
    EventName.JOB_EXECUTION_LEASE_REJECTED: _warning("Job is not this worker's any more; its lease is lost"),
    EventName.JOB_SUCCEEDED_ARCHIVED: _debug("Job succeeded and is archived"),
    EventName.JOB_SHUTDOWN_RESCHEDULED: _info("Job stopped for the shutdown and is due again"),
    EventName.JOB_TIMED_OUT_OR_CANCELLED: _timed_out_or_cancelled,
    EventName.JOB_HEARTBEAT_WRITE_FAILED: _warning("Heartbeat of a running job could not be written"),
    EventName.JOB_HEARTBEAT_THRESHOLD_REACHED: _error(
        "Job was given up because its heartbeats could not be written, and lies in the DLQ"
    ),
    EventName.JOB_HEARTBEAT_DEGRADED: _error("Too many heartbeats in a row could not be written; the job goes on"),
    EventName.JOB_POSTPONED: _info("Job was put off; the attempt is not counted"),
    EventName.JOB_ABANDONED: _warning("Handler was told to stop and goes on; it keeps its slot until it ends"),
    EventName.JOB_STARTED: _debug("Job started"),
    EventName.JOB_FATAL_ERROR_DLQ: _fatal_or_rejected,
    EventName.JOB_THROTTLED_RETRY_SCHEDULED: _info("Job was throttled and will be retried"),
    EventName.JOB_TRANSIENT_RETRY_SCHEDULED: _warning("Job failed and will be retried"),
    EventName.JOB_RETRIES_EXHAUSTED_DLQ: _error("Job has used up its attempts or its lifetime and lies in the DLQ"),
    EventName.CIRCUIT_CHANGED: _circuit_changed,
    EventName.IDEMPOTENCY_CLAIM_ANSWERED: _claim_answered,
    EventName.STATE_TRANSITION_NOT_APPLIED: _warning("Move was not applied: the job is not this worker's any more"),
    EventName.NOTIFICATION_FAILED: _warning("Wake could not be sent; the poll will find the work"),
    EventName.ENQUEUE_DUPLICATE_SKIPPED: _info("Enqueue was skipped: an active job holds the idempotency key"),
    EventName.ENQUEUE_NOTIFICATION_FAILED: _warning("Wake of a new job could not be sent; the poll will find it"),
    EventName.JOB_ENQUEUED: _debug("Job is stored"),
    EventName.ZOMBIE_RESCUE_STARTED: _rescue,
    EventName.ABANDONED_JOBS_RECOVERED: _warning("Fetched job was never started and is pending again"),
    EventName.ZOMBIE_JOBS_ARCHIVED: _error("Job lost its worker while it ran and lies in the DLQ"),
    EventName.ZOMBIE_RESCUE_CYCLE_FAILED: _error("Rescue scan failed; the next one goes on"),
    EventName.ZOMBIE_RESCUE_ARMED: _warning("Rescue scan found no recent scan before it, so it moved nothing yet"),
    EventName.SQL_INITIALIZATION_STARTED: _info("Preparing the database schema"),
    EventName.SQL_INITIALIZATION_COMPLETED: _info("Database schema is ready"),
    EventName.SQL_INITIALIZATION_FAILED: _error("Database schema could not be made ready"),
    EventName.SQL_SCRIPT_EXECUTION_FAILED: _error("A migration script failed"),
    EventName.ADMIN_COMMAND_REJECTED: _warning("Operator command was refused"),
    EventName.ADMIN_COMMAND_COMPLETED: _info("Operator command was carried out"),
    EventName.CONFIGURATION_INVALID: _error("Settings are invalid; nothing works until they are mended"),
    EventName.CONFIGURATION_LOADED: _info("Settings are valid"),
    EventName.STORE_CHOSEN: _store_chosen,
    EventName.WAKE_MALFORMED: _warning("Wake message was not understood and is dropped"),
    EventName.INVOCATION_SKIPPED: _warning("Invocation did no work"),
}
