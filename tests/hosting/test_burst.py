from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.azurite import Azurite
from tests.support.burst import run_burst
from tests.support.queues import start_azurite


@pytest.fixture
def azurite(tmp_path: Path) -> Iterator[Azurite]:
    azurite = start_azurite(tmp_path / "azurite", logs_requests=True)
    yield azurite
    azurite.kill()


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.deep)])
def test_a_burst_of_posts_is_archived_once_each_with_few_wakes(azurite: Azurite, tmp_path: Path, count: int) -> None:
    burst = run_burst(azurite, tmp_path, count)

    assert burst.archived == count
    assert 1 <= burst.wakes < count * 0.05
