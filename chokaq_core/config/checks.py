"""
Rules that bind settings to each other, and to where the app runs.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.durations import format_duration
from chokaq_core.domain.value import Value
from chokaq_core.policy.sqlserver import SqlServerConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chokaq_core.config.reading import Reading

HEARTBEATS_PER_ZOMBIE = 3
LONGEST_GRACE = timedelta(minutes=60)
"""The platform's grace for a running function at a scale-in; a longer run may be ended there."""

_AT_LEAST = (
    ("Execution.HeartbeatIntervalMax", "Execution.HeartbeatIntervalMin"),
    ("Retry.MaxDelay", "Retry.BaseDelay"),
    ("Health.QueueLagUnhealthyThreshold", "Health.QueueLagDegradedThreshold"),
    ("Idempotency.MaxResultTtl", "Idempotency.MinResultTtl"),
    ("Idempotency.MaxResultTtl", "Idempotency.DefaultResultTtl"),
    ("Idempotency.DefaultResultTtl", "Idempotency.MinResultTtl"),
)
_HEARTBEAT = "Execution.HeartbeatIntervalMax"
_ANONYMOUS = "Deck.AllowAnonymous"
_DECK_LOGINS = ("Deck.ReadKey", "Deck.OperateKey", "Deck.TrustPlatformAuthentication")


class Durations(Value):
    """
    The valid durations among the settings; one that is invalid or null is left out, and its rules with it.
    """

    by_name: dict[str, timedelta]

    def has(self, *names: str) -> bool:
        """
        Whether all the named settings have one.
        """
        return all(name in self.by_name for name in names)

    def ending(self, option: str) -> dict[str, timedelta]:
        """
        Those of all queues that set the option.
        """
        return {name: value for name, value in self.by_name.items() if name.endswith(f".{option}")}


def durations_of(reading: Reading) -> Durations:
    """
    The durations that the settings came to.
    """
    return Durations({name: value for name, value in reading.values.items() if isinstance(value, timedelta)})


def problems_between(reading: Reading, *, in_azure: bool) -> Iterator[str]:
    """
    Every rule between settings that is broken. A rule waits until all its settings are valid by themselves.
    """
    durations = durations_of(reading)
    yield from _order_problems(durations)
    yield from _zombie_problems(durations)
    yield from _deck_problems(reading, in_azure=in_azure)
    if in_azure and "SqlServer.ConnectionString" in reading.values and not reading.values["SqlServer.ConnectionString"]:
        yield (
            "SqlServer.ConnectionString: is not set; in Azure the jobs of an embedded store would die with the "
            "instance, so name a database"
        )


def warnings_about(reading: Reading) -> Iterator[str]:
    """
    What is allowed and yet likely to surprise.
    """
    durations = durations_of(reading)
    for name, value in execution_timeouts(durations).items():
        if value > LONGEST_GRACE:
            yield (
                f"{name}: is {format_duration(value)}; past {format_duration(LONGEST_GRACE)} the platform may end a "
                "run at a scale-in"
            )
    probe = "Circuit.ProbeTimeout"
    if durations.has(probe, _HEARTBEAT) and durations.by_name[probe] <= durations.by_name[_HEARTBEAT]:
        yield f"{probe}: is not above {_HEARTBEAT}, so a living probe may be given up between two heartbeats"
    connection = reading.values.get("SqlServer.ConnectionString")
    if isinstance(connection, SqlServerConnection):
        yield from (f"SqlServer.ConnectionString: keyword {note} has no effect" for note in connection.notes)


def execution_timeouts(durations: Durations) -> dict[str, timedelta]:
    """
    Every execution timeout by its setting's name: the default and the queues'.
    """
    default = "Execution.DefaultTimeout"
    own = {default: durations.by_name[default]} if durations.has(default) else {}
    return own | durations.ending("ExecutionTimeout")


def _order_problems(durations: Durations) -> Iterator[str]:
    for larger, smaller in _AT_LEAST:
        if durations.has(larger, smaller) and durations.by_name[larger] < durations.by_name[smaller]:
            bound, value = (format_duration(durations.by_name[name]) for name in (smaller, larger))
            yield f"{larger}: must be at least {smaller} ({bound}); got {value}"


def _zombie_problems(durations: Durations) -> Iterator[str]:
    if not durations.has(_HEARTBEAT):
        return
    bound = HEARTBEATS_PER_ZOMBIE * durations.by_name[_HEARTBEAT]
    timeouts = durations.ending("ProcessingZombieTimeout") | durations.ending("ZombieTimeoutSeconds")
    for name, value in timeouts.items():
        if value < bound:
            yield (
                f"{name}: must be at least {HEARTBEATS_PER_ZOMBIE} × {_HEARTBEAT} ({format_duration(bound)}), or "
                f"living jobs would be buried; got {format_duration(value)}"
            )


def _deck_problems(reading: Reading, *, in_azure: bool) -> Iterator[str]:
    read_key, operate_key = (reading.values.get(name) for name in ("Deck.ReadKey", "Deck.OperateKey"))
    if read_key and read_key == operate_key:
        yield "Deck.OperateKey: must differ from Deck.ReadKey, or every reader could act"
    if not reading.values.get(_ANONYMOUS):
        return
    if in_azure:
        yield f"{_ANONYMOUS}: is refused in Azure; set {', '.join(_DECK_LOGINS[:-1])} or {_DECK_LOGINS[-1]}"
    beside = [name for name in _DECK_LOGINS if reading.values.get(name)]
    if beside:
        yield f"{_ANONYMOUS}: contradicts {' and '.join(beside)}; remove one or the other"
