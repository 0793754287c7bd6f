"""
An engine in a child that was forked from its process.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from chokaq_core.domain.errors import ForkedEngineError
from tests.engine.conftest import OpenRig
from tests.support.engine import profile_of

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]


def error_in_child(call: Callable[[], object]) -> str:
    """
    What a call raises in a forked child.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call()
        except ForkedEngineError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.parametrize("has_run", [False, True], ids=["before-its-first-visit", "after-it"])
def test_it_neither_works_nor_accepts_jobs_and_says_why(open_rig: OpenRig, has_run: bool) -> None:
    rig = open_rig(profile_of(lambda job: None))
    if has_run:
        rig.run()

    for call in (rig.engine.attend, rig.enqueue):
        error = error_in_child(call)
        assert f"built in process {os.getpid()}, from which process " in error
        assert error.endswith("build the app after the fork, in each process for itself")

    assert rig.archived(rig.run()).attempt == 1
