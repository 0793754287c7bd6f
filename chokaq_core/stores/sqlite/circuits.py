"""
Circuits in the embedded store: read with a claim, changed by the policy inside the same transaction.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.circuit import Circuit, CircuitEvent, CircuitReport, CircuitState
from chokaq_core.policy.circuit import CircuitRules, hear, held_until, probe, release
from chokaq_core.stores.sqlite.rows import micros, moment, moment_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.domain.job import ClaimedJob
    from chokaq_core.policy.circuit import Change
    from chokaq_core.stores.sqlite.database import Transaction

_STATES = {int(state): state for state in CircuitState}
# Before Python 3.12 a member of an enum is looked up by code in Python each time that it is named.
_CLOSED, _HALF_OPEN = CircuitState.CLOSED, CircuitState.HALF_OPEN


def read(transaction: Transaction) -> dict[str, Circuit]:
    """
    All circuits that have a row, by type.
    """
    return {row[0]: _circuit(row) for row in transaction.rows("circuits")}


def release_probes(transaction: Transaction, job_ids: Iterable[str], rules: CircuitRules) -> None:
    """
    Lets the next claim probe where the probing job was taken from its worker.
    """
    Board(transaction, rules).release_probes(job_ids)


class Board:
    """
    The circuits within one transaction: what claims skip, what reports change, what is to be told.
    """

    def __init__(self, transaction: Transaction, rules: CircuitRules, *, has_rows: bool = True) -> None:
        self._transaction = transaction
        self._rules = rules
        self._now = moment(transaction.now)
        self._circuits = read(transaction) if has_rows and rules.is_enabled else {}
        self.events: list[CircuitEvent] = []

    def hear(self, reports: Iterable[CircuitReport]) -> None:
        """
        Tells circuits what runs came to.
        """
        for report in reports:
            circuit = self._circuits.get(report.type_key, Circuit(report.type_key))
            self._apply(circuit, hear(circuit, report, self._rules, self._now))

    def release_probes(self, job_ids: Iterable[str]) -> None:
        """
        Gives the permits back of probes that left their workers without an answer for their circuits.
        """
        if self.is_calm():
            return
        ids = frozenset(job_ids)
        for circuit in list(self._circuits.values()):
            if circuit.state is _HALF_OPEN and circuit.probe_job_id in ids:
                self._apply(circuit, release(circuit, self._now))

    def is_empty(self) -> bool:
        """
        Whether no type has ever failed.
        """
        return not self._circuits

    def is_calm(self) -> bool:
        """
        Whether every circuit is closed: no type is held back, and none is probed.
        """
        return not self._circuits or all(circuit.state is _CLOSED for circuit in self._circuits.values())

    def is_closed_to(self, type_key: str) -> bool:
        """
        Whether claims skip the type.
        """
        return self.held_until(type_key) is not None

    def held_until(self, type_key: str) -> int | None:
        """
        Until when claims skip the type; None where they do not skip it.
        """
        circuit = self._circuits.get(type_key)
        until = None if circuit is None else held_until(circuit, self._rules, self._now)
        return None if until is None else micros(until)

    def knows(self, type_key: str) -> bool:
        """
        Whether the type has ever failed.
        """
        return type_key in self._circuits

    def needs_probe(self, type_key: str) -> bool:
        """
        Whether only one job of the type may be claimed, as a probe.
        """
        circuit = self._circuits.get(type_key)
        return circuit is not None and circuit.state is not _CLOSED

    def acquire(self, type_key: str, job_id: str, worker_id: str) -> None:
        """
        Lets this job through as the type's probe.
        """
        circuit = self._circuits[type_key]
        self._apply(circuit, probe(circuit, self._rules, job_id=job_id, worker_id=worker_id, now=self._now))

    def is_probe(self, job: ClaimedJob) -> bool:
        """
        Whether the job is its type's probe now.
        """
        circuit = self._circuits.get(job.type_key)
        return circuit is not None and circuit.probe_job_id == job.lease.job_id

    def generation(self, type_key: str) -> int:
        """
        The circuit's generation, 0 for a type that never failed.
        """
        circuit = self._circuits.get(type_key)
        return 0 if circuit is None else circuit.generation

    def held(self) -> dict[str, int]:
        """
        Types that claims skip, each with the time until which they do.
        """
        return {key: until for key in self._circuits if (until := self.held_until(key)) is not None}

    def probing(self) -> list[str]:
        """
        Types of which only one job may be claimed.
        """
        return [key for key in self._circuits if self.needs_probe(key)]

    def notable(self) -> tuple[Circuit, ...]:
        """
        Circuits that are not closed and healthy.
        """
        return tuple(c for c in self._circuits.values() if c.state is not _CLOSED or c.failure_times)

    def _apply(self, old: Circuit, change: Change) -> None:
        self.events.extend(change.events)
        if change.circuit != old:
            self._circuits[old.type_key] = change.circuit
            self._transaction.change("circuits_write", **_values(change.circuit))


def _circuit(row: tuple[Any, ...]) -> Circuit:
    type_key, state, times, opened, reset, generation, job_id, worker_id, until = row
    return Circuit(
        type_key=type_key,
        state=_STATES[state],
        failure_times=tuple(moment(at) for at in json.loads(times)) if times else (),
        opened_at=moment_or_none(opened),
        reset_at=moment_or_none(reset),
        generation=generation,
        probe_job_id=job_id,
        probe_worker_id=worker_id,
        probe_until=moment_or_none(until),
    )


def _values(circuit: Circuit) -> dict[str, object]:
    times = [micros(at) for at in circuit.failure_times]
    return {
        "type_key": circuit.type_key,
        "state": int(circuit.state),
        "failure_times": json.dumps(times) if times else None,
        "opened_at": None if circuit.opened_at is None else micros(circuit.opened_at),
        "reset_at": None if circuit.reset_at is None else micros(circuit.reset_at),
        "generation": circuit.generation,
        "probe_job_id": circuit.probe_job_id,
        "probe_worker_id": circuit.probe_worker_id,
        "probe_until": None if circuit.probe_until is None else micros(circuit.probe_until),
    }
