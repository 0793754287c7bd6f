"""
Ten thousand enqueues over HTTP in one burst, with a real queue service: every job archived once, and how many wakes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Budget, Figure
from bench.size import Size
from tests.support import azurite
from tests.support.azurite import Azurite
from tests.support.burst import Burst, run_burst


def measure(size: Size) -> Iterator[Figure]:
    """
    Needs Azurite, which `make test` installs.
    """
    azurite.install()
    if not azurite.is_installed():
        yield Figure("wakes sent, of 10,000 jobs", None, note="Azurite is not installed")
        return
    count = size.of(10_000, 2_000)
    burst = _burst(count)
    if burst.archived != count:
        raise RuntimeError(f"{count - burst.archived} of {count} jobs were not archived after one attempt")
    share = 100 * burst.wakes / count
    yield Figure(
        f"wakes sent, of {count:,} jobs", share, "%", budget=Budget(5.0, is_promised=True), note=f"{burst.wakes} wakes"
    )
    yield Figure("jobs accepted over HTTP", count / burst.seconds_to_accept, "/s")
    yield Figure("jobs archived, from the first post on", count / burst.seconds_to_archive, "/s")


def _burst(count: int) -> Burst:
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as name:
        folder = Path(name)
        (folder / "azurite").mkdir()
        service = Azurite(folder / "azurite", logs_requests=True).start()
        try:
            return run_burst(service, folder, count)
        finally:
            service.kill()
