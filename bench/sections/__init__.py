"""
The sections in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.figures import Figure
from bench.sections import (
    burst,
    claim,
    deck,
    delayed,
    endurance,
    heartbeat,
    idle,
    imports,
    latency,
    lateness,
    model,
    peers,
    settle,
    sqlserver,
    statements,
    throughput,
)
from bench.size import Size


@dataclass(frozen=True, slots=True)
class Section:
    """
    A group of figures that are measured together.
    """

    title: str
    measure: Callable[[Size], Iterator[Figure]]


SECTIONS: dict[str, Section] = {
    "statements": Section("Statements: round trips to the store, enqueue to archive", statements.measure),
    "heartbeat": Section("Heartbeat: statements for each interval", heartbeat.measure),
    "claim": Section(
        "Claim: p50 of a claim of 50 on the file store, half of the rows due, half delayed", claim.measure
    ),
    "settle": Section("Settle: p50 of a turn that archives 50 jobs, empty and full archive", settle.measure),
    "deck": Section("Deck: each answer over HTTP on full tables beside nearly empty ones", deck.measure),
    "throughput": Section("Throughput: no-op jobs on SQLite files, medians (least – greatest)", throughput.measure),
    "peers": Section("Peers: the same jobs on other runners, medians (least – greatest)", peers.measure),
    "sqlserver": Section("SQL Server: statements counted at the driver, and jobs a second", sqlserver.measure),
    "lateness": Section("Heartbeat beside 16 spinning handlers, 1,000 leases, 6 writing processes", lateness.measure),
    "endurance": Section("Endurance: a million jobs in one worker, several workers on one file", endurance.measure),
    "idle": Section("Idleness: statements of the timers", idle.measure),
    "latency": Section("Latency: enqueue to handler start, lone jobs on a lingering worker", latency.measure),
    "model": Section("Simulation: its model of one instance beside a measured one", model.measure),
    "imports": Section("Import time in fresh interpreters", imports.measure),
    "burst": Section("Burst: enqueues over HTTP, with wakes through a real queue", burst.measure),
    "delayed": Section("Delayed job: started by its own wake through a real queue, the poll off", delayed.measure),
}
