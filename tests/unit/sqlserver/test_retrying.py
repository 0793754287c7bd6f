"""
Pauses before a call is repeated.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.policy.sqlserver import Authentication, SqlServerConnection, SqlServerSettings
from chokaq_core.stores.sqlserver.errors import FaultKind
from chokaq_core.stores.sqlserver.retrying import pause_before_repeat

BUSY, AWAY, REFUSED = FaultKind
SETTINGS = SqlServerSettings(
    SqlServerConnection("s", None, "d", Authentication.INTEGRATED),
    max_transient_retries=3,
    transient_retry_base_delay=timedelta(milliseconds=200),
)


def _milliseconds(kind: FaultKind, repetitions: int, roll: float) -> int | None:
    pause = pause_before_repeat(kind, repetitions, SETTINGS, roll)
    return None if pause is None else round(pause.total_seconds() * 1000)


@pytest.mark.case("C-057")
@pytest.mark.parametrize(
    "kind,repetitions,roll,expected",
    [
        (BUSY, 0, 0.0, 100),
        (BUSY, 0, 0.5, 200),
        (BUSY, 0, 1.0, 300),
        (BUSY, 2, 0.5, 200),
        (AWAY, 0, 0.5, 1_000),
        (AWAY, 1, 0.5, 2_000),
        (AWAY, 2, 0.5, 4_000),
        (AWAY, 0, 0.0, 500),
        (AWAY, 0, 1.0, 1_500),
        (BUSY, 3, 0.5, None),
        (AWAY, 3, 0.5, None),
        (REFUSED, 0, 0.5, None),
    ],
)
def test_a_busy_server_is_asked_again_soon_one_that_is_away_later_and_later(
    kind: FaultKind, repetitions: int, roll: float, expected: int | None
) -> None:
    assert _milliseconds(kind, repetitions, roll) == expected


@pytest.mark.parametrize("repetitions", [10, 50, 99])
def test_no_pause_is_longer_than_half_a_minute(repetitions: int) -> None:
    patient = SqlServerSettings(
        SETTINGS.connection, max_transient_retries=100, transient_retry_base_delay=timedelta(minutes=1)
    )

    assert pause_before_repeat(AWAY, repetitions, patient, 1.0) == timedelta(seconds=30)
    assert pause_before_repeat(BUSY, repetitions, patient, 1.0) == timedelta(seconds=30)


def test_with_no_repetitions_allowed_the_first_fault_ends_the_call() -> None:
    impatient = SqlServerSettings(SETTINGS.connection, max_transient_retries=0)

    assert pause_before_repeat(BUSY, 0, impatient, 0.5) is None
