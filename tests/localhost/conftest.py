from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest

from chokaq_core.engine.wakes import IN_PROCESS


@pytest.fixture(autouse=True)
def _leaves_no_app_behind() -> Iterator[None]:
    path, real_app = list(sys.path), sys.modules.pop("function_app", None)
    yield
    sys.path[:] = path
    sys.modules.pop("function_app", None)
    if real_app is not None:
        sys.modules["function_app"] = real_app
    while IN_PROCESS.receive(0) is not None:
        pass


@pytest.fixture
def all_logs(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """
    Catches what the host logs, from DEBUG on.
    """
    caplog.set_level(logging.DEBUG, logger="chokaq_core.localhost")
    return caplog
