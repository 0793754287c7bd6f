"""
Why a job ended badly, and what one attempt came to.
"""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum, StrEnum

from chokaq_core.domain.value import Value


class FailureReason(IntEnum):
    """
    Why a job lies in the DLQ. The numbers are stored and are a public contract.
    """

    MAX_RETRIES_EXCEEDED = 0
    CANCELLED = 1
    ZOMBIE = 2
    CIRCUIT_BREAKER_OPEN = 3
    REJECTED = 4
    THROTTLED = 5
    FATAL_ERROR = 6
    TIMEOUT = 7
    TRANSIENT = 8
    HEARTBEAT_FAILURE = 9
    RETRY_LIFETIME_EXPIRED = 10

    @property
    def label(self) -> str:
        """
        The public name: `MaxRetriesExceeded`, `Zombie` and so on.
        """
        return "".join(word.capitalize() for word in self.name.split("_"))


class FailureKind(StrEnum):
    """
    What an exception says about the next attempt.
    """

    FATAL = "fatal"
    THROTTLED = "throttled"
    TRANSIENT = "transient"


class ErrorFacts(Value):
    """
    What is kept of an error: its type's name, its message, and message with traceback, all storable text.
    """

    type: str
    message: str
    details: str


class Succeeded(Value):
    """
    The handler returned; `result` is JSON text, or None with `note` saying why it could not be kept.
    """

    result: str | None = None
    note: str | None = None


class Failed(Value):
    """
    The handler raised.
    """

    kind: FailureKind
    error: ErrorFacts
    retry_after: timedelta | None = None


class Rejected(Value):
    """
    User code never ran: the type is unknown here or the payload does not fit its model.
    """

    error: ErrorFacts


class TimedOut(Value):
    """
    The execution timeout passed before the handler ended.
    """

    after: timedelta


class Cancelled(Value):
    """
    An operator's cancel reached the job, and it did not end as a success.
    """

    by: str | None = None
    error: ErrorFacts | None = None


class HeartbeatLost(Value):
    """
    Heartbeats could not be written and the settings ask for cancellation in that case.
    """

    failures: int


class Interrupted(Value):
    """
    The process shuts down and the handler itself stopped because of it.
    """


class Postponed(Value):
    """
    Not run now: a circuit is open, or another run holds the idempotency claim.
    """

    reason: str
    delay: timedelta


Outcome = Succeeded | Failed | Rejected | TimedOut | Cancelled | HeartbeatLost | Interrupted | Postponed
