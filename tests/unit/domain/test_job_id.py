from __future__ import annotations

import re
import uuid

import pytest

from chokaq_core.domain.job import new_job_id


def id_at(milliseconds: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("time.time_ns", lambda: milliseconds * 1_000_000 + 999_999)
    return new_job_id()


def test_an_id_is_a_lower_case_uuid_of_version_7() -> None:
    job_id = new_job_id()
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", job_id)
    assert uuid.UUID(job_id).version == 7
    assert uuid.UUID(job_id).variant == uuid.RFC_4122


@pytest.mark.parametrize(
    "milliseconds,prefix",
    [(0, "00000000-0000-7"), (1_645_557_742_000, "017f22e2-79b0-7"), (2**48 - 1, "ffffffff-ffff-7")],
)
def test_an_id_begins_with_its_milliseconds(milliseconds: int, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert id_at(milliseconds, monkeypatch).startswith(prefix)


def test_ids_sort_by_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [1_700_000_000_000, 1_700_000_000_001, 1_700_000_001_000, 1_800_000_000_000, 1_999_999_999_999]
    ids = [id_at(at, monkeypatch) for at in times]
    assert ids == sorted(ids)


def test_a_hundred_thousand_ids_of_one_moment_are_all_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    assert len({new_job_id() for _ in range(100_000)}) == 100_000


def test_every_random_bit_of_an_id_takes_both_values() -> None:
    numbers = [uuid.UUID(new_job_id()).int for _ in range(500)]
    random_bits = [bit for bit in range(76) if bit not in (62, 63)]
    stuck = [bit for bit in random_bits if len({number >> bit & 1 for number in numbers}) == 1]
    assert stuck == []
