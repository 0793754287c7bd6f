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


def test_ten_thousand_posts_in_a_burst_are_archived_once_each_with_few_wakes(azurite: Azurite, tmp_path: Path) -> None:
    burst = run_burst(azurite, tmp_path, 10_000)

    assert burst.archived == 10_000
    assert 1 <= burst.wakes < 500
