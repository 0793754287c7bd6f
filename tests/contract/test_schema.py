"""
Making the schema ready, and telling whether it is.
"""

from __future__ import annotations

from chokaq_core.ports import SchemaState
from tests.contract.stages import Stage


def test_a_prepared_store_is_ready(stage: Stage) -> None:
    state = stage.store.prepare()

    assert state.is_ready
    assert state.version == state.expected_version > 0
    assert state.missing_tables == ()


def test_preparing_again_changes_nothing_that_is_stored(stage: Stage) -> None:
    running = stage.running(queue="mail")
    stage.set_queue("mail", is_paused=True, max_workers=3)
    before = (stage.hot(running.lease.job_id), stage.store.queues(), stage.store.counts())

    first, second = stage.store.prepare(), stage.store.prepare()

    assert first == second
    assert (stage.hot(running.lease.job_id), stage.store.queues(), stage.store.counts()) == before


def test_a_store_that_has_rested_goes_on_where_it_was(stage: Stage) -> None:
    running = stage.running()

    stage.store.rest()

    assert stage.hot(running.lease.job_id).worker_id == running.lease.worker_id
    stage.store.rest()
    assert stage.archived().lease.number == 1


def test_a_database_is_ready_only_with_all_its_tables_at_the_version_of_the_code() -> None:
    assert SchemaState(version=4, expected_version=4).is_ready
    assert not SchemaState(version=3, expected_version=4).is_ready
    assert SchemaState(version=5, expected_version=4).is_ready
    assert not SchemaState(version=4, expected_version=4, missing_tables=("Turns",)).is_ready
