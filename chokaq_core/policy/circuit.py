"""
When a type of job is held back because its attempts keep failing.

Closed → Open after enough failures in the window; Open → HalfOpen when the break is over and one job is let through as
a probe; HalfOpen → Closed or Open by what the probe comes to. Every change raises the generation, and an answer from
another generation is ignored: it was given under circumstances that are gone.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.circuit import (
    Circuit,
    CircuitEvent,
    CircuitEventName,
    CircuitReport,
    CircuitSignal,
    CircuitState,
)
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.failures import Failed, Succeeded, TimedOut
from chokaq_core.domain.value import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.domain.failures import Outcome


# Before Python 3.12 a member of an enum is looked up by code in Python each time that it is named.
_SUCCESS = CircuitSignal.SUCCESS


class CircuitRules(Value):
    """
    The settings of section `Circuit`.

    Attributes:
        is_enabled: False lets every type run whatever its attempts come to.
        failure_threshold: failures within the window that open the circuit.
        failure_window: how far back failures count.
        break_duration: how long an open circuit holds its type back before one probe.
        probe_timeout: a probe whose job has not beaten for longer is given up.
    """

    is_enabled: bool = True
    failure_threshold: int = 5
    failure_window: timedelta = timedelta(minutes=1)
    break_duration: timedelta = timedelta(seconds=30)
    probe_timeout: timedelta = timedelta(seconds=30)


class Change(Value):
    """
    A circuit after something happened to it, and what to tell.
    """

    circuit: Circuit
    events: tuple[CircuitEvent, ...] = ()


def signal_of(outcome: Outcome | None) -> CircuitSignal:
    """
    What an outcome says of its type: failed, throttled and timed-out attempts count against it, a success for it.

    A rejected payload, a cancel, a postponement or an interruption says nothing.
    """
    match outcome:
        case Succeeded():
            return _SUCCESS
        case Failed() | TimedOut():
            return CircuitSignal.FAILURE
        case _:
            return CircuitSignal.RELEASED


def held_until(circuit: Circuit, rules: CircuitRules, now: datetime) -> datetime | None:
    """
    Until when claims skip the type, unless its probe ends before; None where they do not skip it.

    A time further off than the rules put it was written before the clock was set back; nobody waits for it.
    """
    match circuit.state:
        case CircuitState.OPEN:
            return _ahead(circuit.reset_at, now, rules.break_duration)
        case CircuitState.HALF_OPEN:
            return _ahead(circuit.probe_until, now, rules.probe_timeout)
        case CircuitState.CLOSED:
            return None


def probe(circuit: Circuit, rules: CircuitRules, *, job_id: str, worker_id: str, now: datetime) -> Change:
    """
    Lets one job through an open circuit whose break is over, or in place of a probe that was given up.
    """
    new = replace(
        circuit,
        state=CircuitState.HALF_OPEN,
        generation=circuit.generation + 1,
        probe_job_id=job_id,
        probe_worker_id=worker_id,
        probe_until=now + rules.probe_timeout,
    )
    is_second = circuit.state is CircuitState.HALF_OPEN
    first = CircuitEventName.PROBE_EXPIRED if is_second else CircuitEventName.HALF_OPENED
    return Change(new, (_event(new, first), _event(new, CircuitEventName.PROBE_ACQUIRED)))


def hear(circuit: Circuit, report: CircuitReport, rules: CircuitRules, now: datetime) -> Change:
    """
    The circuit after a run's report.
    """
    if report.generation != circuit.generation or not rules.is_enabled:
        return Change(circuit)
    match circuit.state:
        case CircuitState.CLOSED:
            return _hear_closed(circuit, report.signal, rules, now)
        case CircuitState.HALF_OPEN if report.job_id == circuit.probe_job_id:
            return _hear_probe(circuit, report.signal, rules, now)
        case _:
            return Change(circuit)


def _ahead(until: datetime | None, now: datetime, longest: timedelta) -> datetime | None:
    return until if until is not None and now < until <= now + longest else None


def _hear_closed(circuit: Circuit, signal: CircuitSignal, rules: CircuitRules, now: datetime) -> Change:
    if signal is CircuitSignal.SUCCESS:
        return Change(replace(circuit, failure_times=()))
    if signal is CircuitSignal.RELEASED:
        return Change(circuit)
    # A failure from the future was noted before the clock was set back. It counts, as if it were of now.
    recent = (min(at, now) for at in circuit.failure_times if now - at <= rules.failure_window)
    times = (*recent, now)[-rules.failure_threshold :]
    if len(times) < rules.failure_threshold:
        return Change(replace(circuit, failure_times=times))
    return _opened(circuit, rules, now)


def _hear_probe(circuit: Circuit, signal: CircuitSignal, rules: CircuitRules, now: datetime) -> Change:
    match signal:
        case CircuitSignal.SUCCESS:
            new = Circuit(circuit.type_key, generation=circuit.generation + 1)
            return Change(new, (_event(new, CircuitEventName.CLOSED),))
        case CircuitSignal.FAILURE:
            return _opened(circuit, rules, now)
        case CircuitSignal.RELEASED:
            return release(circuit, now)


def release(circuit: Circuit, now: datetime) -> Change:
    """
    Gives the probe's permit back: the next claim may probe.
    """
    new = Circuit(
        circuit.type_key,
        state=CircuitState.OPEN,
        opened_at=circuit.opened_at,
        reset_at=now,
        generation=circuit.generation + 1,
    )
    return Change(new, (_event(new, CircuitEventName.PERMIT_RELEASED),))


def _opened(circuit: Circuit, rules: CircuitRules, now: datetime) -> Change:
    new = Circuit(
        circuit.type_key,
        state=CircuitState.OPEN,
        opened_at=now,
        reset_at=now + rules.break_duration,
        generation=circuit.generation + 1,
    )
    return Change(new, (_event(new, CircuitEventName.OPENED),))


def _event(circuit: Circuit, name: CircuitEventName) -> CircuitEvent:
    return CircuitEvent(circuit.type_key, circuit.state, name)


def permits_released(circuits: Iterable[Circuit], moved: Iterable[str]) -> list[Event]:
    """
    What there is to tell of probes that were taken from their workers outside of a turn: they gave their permits back.

    Args:
        circuits: as they were before.
        moved: the jobs' ids.
    """
    ids = frozenset(moved)
    released = [c for c in circuits if c.state is CircuitState.HALF_OPEN and c.probe_job_id in ids]
    return [
        circuit_changed(CircuitEvent(circuit.type_key, CircuitState.OPEN, CircuitEventName.PERMIT_RELEASED))
        for circuit in released
    ]


def circuit_changed(event: CircuitEvent) -> Event:
    """
    What happened to a circuit, as it is told.
    """
    facts = {"type": event.type_key, "state": event.state.name.lower(), "change": str(event.name)}
    return Event(EventName.CIRCUIT_CHANGED, facts=facts)
