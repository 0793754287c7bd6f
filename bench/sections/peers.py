"""
This runner beside its peers in one run: Huey on SQLite, two on PostgreSQL, three on Redis.

A peer whose packages or server are missing is named with the reason, and the others still race.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module

from bench import servers
from bench.contenders import Contender, Entrant
from bench.contenders.chokaq import ChokaQContender
from bench.contenders.huey_sqlite import HueyContender
from bench.figures import Figure, at_least
from bench.race import Rates, lines, medians, race
from bench.rig import waiting_profile
from bench.size import Size
from chokaq_core.contracts import Profile

OURS = "ChokaQ 200+64, telemetry"
OURS_PLAIN = "ChokaQ 200+64"
HUEY = "Huey"
PGQUEUER = "PgQueuer"
PROCRASTINATE = "Procrastinate"
DRAMATIQ = "Dramatiq"
RQ = "RQ"
CELERY = "Celery"
SQL_BACKED = (HUEY, PGQUEUER, PROCRASTINATE)

SLOTS = 200
WORK_SECONDS = 0.005
WAITERS = 80
"""As many threads are still well served by two processors."""

_PEERS = {
    PGQUEUER: ("pgqueuer", "bench.contenders.pgqueuer_postgres", "PgQueuerContender"),
    PROCRASTINATE: ("procrastinate", "bench.contenders.procrastinate_postgres", "ProcrastinateContender"),
    DRAMATIQ: ("dramatiq", "bench.contenders.dramatiq_redis", "DramatiqContender"),
    RQ: ("rq", "bench.contenders.rq_redis", "RqContender"),
    CELERY: ("celery", "bench.contenders.celery_redis", "CeleryContender"),
}
_ON_POSTGRES = (PGQUEUER, PROCRASTINATE)


def measure(size: Size) -> Iterator[Figure]:
    """
    Jobs that do nothing, then jobs that wait for 5 ms; figures of all, then our ratios to each peer.
    """
    with ExitStack() as stack:
        for name, version in servers.versions().items():
            yield Figure(
                name, None, note=f"{version}; commits do not wait for the disk, as in SQLite's WAL with NORMAL"
            )
        addresses, missing = _start(stack)
        for name, reason in missing.items():
            yield Figure(name, None, note=f"left out: {reason}")
        peers = {name: _maker(name, address) for name, address in addresses.items()}
        yield from _noop_jobs(size, peers)
        yield from _waiting_jobs(size, peers)


def _start(stack: ExitStack) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """
    The address of its server for each peer that can run, and why the others cannot.
    """
    addresses: dict[str, str] = {}
    missing: dict[str, str] = {}
    for names, start in ((_ON_POSTGRES, servers.postgres), ((DRAMATIQ, RQ, CELERY), servers.redis)):
        try:
            address = stack.enter_context(start())
        except servers.ServerMissingError as e:
            missing |= dict.fromkeys(names, str(e))
            continue
        for name in names:
            if importlib.util.find_spec(_PEERS[name][0]) is None:
                missing[name] = "its package is not installed; `make bench` installs it"
            else:
                addresses[name] = address
    return addresses, missing


def _maker(name: str, address: str) -> Callable[..., Contender]:
    _, module, contender = _PEERS[name]
    made: Callable[..., Contender] = partial(getattr(import_module(module), contender), address)
    return made


def _noop_jobs(size: Size, peers: Mapping[str, Callable[..., Contender]]) -> Iterator[Figure]:
    many, some = size.of(12_000, 3_000), size.of(2_000, 500)
    wide = partial(ChokaQContender, capacity=SLOTS, prefetch=64)
    settings = {
        PGQUEUER: "batches of 200",
        PROCRASTINATE: f"{WAITERS} at once",
        DRAMATIQ: "8 threads",
        RQ: "simple worker, no results",
        CELERY: "solo pool, no results, 64 prefetched",
    }
    entrants = [
        Entrant(
            OURS, f"{SLOTS} slots, 64 prefetched, log lines and metrics on", partial(wide, has_telemetry=True), many
        ),
        Entrant(OURS_PLAIN, "the same, telemetry off", wide, many),
        Entrant(HUEY, "one worker thread, no results", HueyContender, many),
        *(
            Entrant(name, settings[name], _without_folder(make), many if name == PGQUEUER else some)
            for name, make in peers.items()
        ),
    ]
    yield from _named(entrants)
    rates = race(entrants, repetitions=size.of(3, 2))
    yield from lines(rates)
    yield from _ratios("drain", OURS, rates, lambda own: own.drain, (HUEY, *peers))
    sql_backed = [name for name in SQL_BACKED if name in rates]
    yield from _ratios("enqueue one by one", OURS_PLAIN, rates, lambda own: own.each, sql_backed)
    yield from _ratios("enqueue in bulk", OURS_PLAIN, rates, lambda own: own.bulk, sql_backed)


def _waiting_jobs(size: Size, peers: Mapping[str, Callable[..., Contender]]) -> Iterator[Figure]:
    """
    What each does with jobs that wait: many at once, by its own means for that.
    """
    jobs = size.of(2_000, 400)
    ours = partial(ChokaQContender, capacity=WAITERS, prefetch=64, has_telemetry=True)
    on_loop = [Entrant("ChokaQ", f"{WAITERS} slots", partial(ours, profile=_waiting(is_async=True)), jobs)]
    on_threads = [
        Entrant("ChokaQ", f"{WAITERS} slots", partial(ours, profile=_waiting(is_async=False)), jobs),
        Entrant(
            HUEY,
            f"{WAITERS} threads",
            partial(HueyContender, workers=WAITERS, work_seconds=WORK_SECONDS),
            jobs,
        ),
    ]
    for name, make in peers.items():
        at_work = partial(make, work_seconds=WORK_SECONDS)
        if name in _ON_POSTGRES:
            on_loop.append(Entrant(name, "as above", _without_folder(at_work), jobs))
        elif name == RQ:
            on_threads.append(Entrant(name, "one at a time", _without_folder(at_work), jobs // 4))
        else:
            on_threads.append(
                Entrant(name, f"{WAITERS} threads", _without_folder(partial(at_work, threads=WAITERS)), jobs)
            )
    for kind, entrants in (("async", on_loop), ("sync", on_threads)):
        rates = race(entrants, repetitions=size.of(3, 2))
        for name, rate in medians(rates, lambda own: own.drain).items():
            note = _settings(entrants, name)
            yield Figure(f"drain of jobs that wait 5 ms, {kind}: {name}", rate, "jobs/s", note=note)


def _waiting(*, is_async: bool) -> Profile:
    return waiting_profile(WORK_SECONDS, is_async=is_async)


def _without_folder(make: Callable[[], Contender]) -> Callable[[object], Contender]:
    return lambda _folder: make()


def _named(entrants: Sequence[Entrant]) -> Iterator[Figure]:
    for entrant in entrants:
        yield Figure(entrant.name, None, note=f"{entrant.settings}; {entrant.jobs:,} jobs")


def _settings(entrants: Sequence[Entrant], name: str) -> str:
    return next(entrant.settings for entrant in entrants if entrant.name == name)


def _ratios(
    what: str, ours: str, rates: Mapping[str, Rates], values: Callable[[Rates], Sequence[float]], peers: Sequence[str]
) -> Iterator[Figure]:
    median = medians(rates, values)
    for name in peers:
        if name in median:
            yield Figure(f"{what}: {ours} / {name}", median[ours] / median[name], "×", budget=at_least(1.0))
