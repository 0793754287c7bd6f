"""
The repository's app under the real worker library. One process for each module, since the library keeps one app.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hosting.worker_library.library import WorkerLibrary
from tests.support import worker_library
from tests.support.absent import Thing, without
from tests.support.host_process import ROOT


@pytest.fixture(scope="session")
def interpreter() -> str:
    """
    A Python that has the worker library.
    """
    found = worker_library.find()
    if found is None:
        reason = "no Python 3.13 with azure-functions-runtime: make install PYTHON=python3.13 VENV=.venv313"
        without(Thing.PYTHON_313, reason)
    return found


@pytest.fixture(scope="module")
def library(interpreter: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerLibrary]:
    """
    The app, indexed, on a database of its own.
    """
    folder = tmp_path_factory.mktemp("worker-library")
    environ = {
        "ChokaQ__Sqlite__Path": str(folder / "jobs.db"),
        "ChokaQ__Functions__IdleLinger": "00:00:00",
        "MAIL_OUTBOX": str(folder / "outbox"),
        "REPORTS_DIR": str(folder / "reports"),
    }
    library = WorkerLibrary(interpreter, ROOT, environ, folder / "worker.log")
    yield library
    library.stop()
