"""
What goes over the wire to a SQL Server: one request for each call of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import HotJob, Lease, NewJob, Place
from chokaq_core.domain.listing import JobFilter, JobQuery, Pillar
from chokaq_core.domain.moves import Move, complete, dead_letter, retry
from chokaq_core.domain.operator_log import LogNote
from chokaq_core.domain.value import replace
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.rescue import Suspect
from chokaq_core.policy.sqlserver import Encryption
from chokaq_core.ports import Beat, Burial, Claim, Edit, Progress, QueueChange, Store, Turn, WorkerFacts
from tests.contract import sqlserver
from tests.contract.stages import BOOM
from tests.support.absent import Thing, without
from tests.support.clock import NOON
from tests.support.tds_proxy import TdsProxy, counting_requests

MINUTE = timedelta(minutes=1)
CLAIM = Claim("email.v1", "order-7", "job-1")
NOTE = LogNote("ann", "cancel", "{}")
SUSPECT = Suspect("job-1", 1, "worker-1", NOON, "default", "email.v1", 1, NOON)
JOBS = [NewJob(f"job-{n}", "email.v1", '{"text": "\U0001f680"}', idempotency_key=f"key-{n}") for n in range(200)]
LONG = NewJob("long", "email.v1", "[" + "1," * 500_000 + "1]")

CALLS: dict[str, Callable[[Store], object]] = {
    "enqueue": lambda store: store.enqueue(JOBS),
    "enqueue a megabyte": lambda store: store.enqueue([LONG]),
    "register": lambda store: store.register(WorkerFacts("worker-1", "host", capacity=16)),
    "turn": lambda store: store.turn(Turn("worker-1", 2, want=16, prefetch=16)),
    "turn that is repeated": lambda store: store.turn(Turn("worker-1", 2, want=16, prefetch=16)),
    "beat": lambda store: store.beat(Beat("worker-1", progress=(Progress(_lease(store), 5, "note"),))),
    "retire": lambda store: store.retire("worker-1"),
    "workers": lambda store: store.workers(),
    "prune_workers": lambda store: store.prune_workers(MINUTE),
    "recover": lambda store: store.recover(MINUTE, 10),
    "suspects": lambda store: store.suspects(MINUTE, 10),
    "bury": lambda store: store.bury([Burial(SUSPECT, Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE), BOOM)]),
    "timer_started": lambda store: store.timer_started("poll"),
    "timer_finished": lambda store: store.timer_finished("poll", "fine", has_succeeded=True),
    "timers": lambda store: store.timers(),
    "demand": lambda store: store.demand(1000),
    "vitals": lambda store: store.vitals(),
    "census": lambda store: store.census(),
    "find": lambda store: store.find("job-1"),
    "cancel": lambda store: store.cancel(["job-150", "job-151"], "ann", NOTE),
    "resurrect": lambda store: store.resurrect(["job-150"], "ann", Edit(priority=5)),
    "edit": lambda store: store.edit(["job-152"], Edit(payload="{}", tags="news"), "ann"),
    "purge": lambda store: store.purge(["job-151"]),
    "list_jobs": lambda store: store.list_jobs(JobQuery(Pillar.HOT, JobFilter(search="job")), 10),
    "count_jobs": lambda store: store.count_jobs(Pillar.DLQ, JobFilter()),
    "look_up": lambda store: store.look_up(["job-1", "job-2"]),
    "key_holders": lambda store: store.key_holders(["key-1", "key-2"]),
    "top_errors": lambda store: store.top_errors(100, 10),
    "operator_log": lambda store: store.operator_log(None, 10),
    "queues": lambda store: store.queues(),
    "change_queue": lambda store: store.change_queue("mail", QueueChange(max_workers=3)),
    "circuits": lambda store: store.circuits(),
    "totals": lambda store: store.totals(),
    "buckets": lambda store: store.buckets(NOON),
    "counts": lambda store: store.counts(),
    "claim_key": lambda store: store.claim_key(CLAIM, MINUTE),
    "complete_key": lambda store: store.complete_key(CLAIM, "{}", None),
    "release_key": lambda store: store.release_key(CLAIM),
    "prune_keys": lambda store: store.prune_keys(100),
    "purge_expired": lambda store: store.purge_expired(Place.ARCHIVE, MINUTE, 1000),
    "prune_buckets": lambda store: store.prune_buckets(MINUTE, 1000),
    "prune_operator_log": lambda store: store.prune_operator_log(MINUTE, 1000),
    "prune_lanes": lambda store: store.prune_lanes(MINUTE),
    "fold_counters": lambda store: store.fold_counters(1000),
}
"""In the order in which they are made."""


def _lease(store: Store) -> Lease:
    job = store.find("job-1")
    assert isinstance(job, HotJob)
    return Lease("job-1", "worker-1", job.lease_number)


@pytest.fixture
def counted() -> Iterator[tuple[Store, TdsProxy]]:
    """
    A store whose requests are counted, its connections open.
    """
    source = sqlserver.create_source()
    settings = sqlserver.settings(source.schema_name)
    connection = settings.connection
    if connection.encrypt is not Encryption.NO:
        without(
            Thing.SQL_SERVER,
            f"requests can be told apart only without encryption: {sqlserver.VARIABLE} lacks Encrypt=no",
        )
    with counting_requests(connection.server, connection.port or 1433) as proxy:
        near = replace(settings, connection=replace(connection, server="127.0.0.1", port=proxy.port))
        with closing(sqlserver.open_store(near)) as store:
            store.counts()
            store.beat(Beat("worker-0"))
            yield store, proxy


def test_each_call_is_one_request(counted: tuple[Store, TdsProxy]) -> None:
    store, proxy = counted
    found = {}
    for name, call in CALLS.items():
        before = proxy.requests
        call(store)
        found[name] = proxy.requests - before

    # The lease that a heartbeat tells of is looked up first.
    assert found == {**dict.fromkeys(CALLS, 1), "beat": 2}


def test_every_call_of_the_store_is_made() -> None:
    methods = {name for name in dir(Store) if not name.startswith("_")} - {"prepare", "rest", "close"}

    assert methods == {name.partition(" ")[0] for name in CALLS}


def test_a_turn_that_settles_starts_and_claims_is_one_request(counted: tuple[Store, TdsProxy]) -> None:
    store, proxy = counted
    store.enqueue(JOBS)
    claimed = store.turn(Turn("worker-1", 1, want=60, prefetch=20)).claimed
    running, ahead = [job.lease for job in claimed[:60]], [job.lease for job in claimed[60:]]
    settlements = (
        *(complete(lease, 1.0, '{"a": "\U0001f680"}') for lease in running[:20]),
        *(retry(lease, MINUTE, BOOM) for lease in running[20:40]),
        *(dead_letter(lease, FailureReason.FATAL_ERROR, BOOM) for lease in running[40:]),
    )
    before = proxy.requests

    answer = store.turn(Turn("worker-1", 2, settlements=settlements, starts=tuple(ahead), want=60))

    assert proxy.requests - before == 1
    assert (answer.stale, len(answer.claimed)) == (frozenset(), 60)
