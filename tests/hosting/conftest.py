from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host_process import ROOT, HostProcess


@pytest.fixture(scope="session")
def example_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    """
    The repository's own app with its example jobs, on a database of its own.
    """
    folder = tmp_path_factory.mktemp("example-host")
    settings = {
        "ChokaQ__Sqlite__Path": str(folder / "jobs.db"),
        "MAIL_OUTBOX": str(folder / "outbox"),
        "REPORTS_DIR": str(folder / "reports"),
    }
    host = _RepositoryHost(folder, settings).start()
    yield host
    assert host.stop() == 0, host.output()


class _RepositoryHost(HostProcess):
    """
    Serves the repository itself and keeps its log elsewhere.
    """

    def start(self) -> HostProcess:
        for name in ("function_app.py", "host.json", "jobs"):
            link = self.folder / name
            if not link.exists():
                link.symlink_to(ROOT / name)
        return super().start()


@pytest.fixture
def app_folder(tmp_path: Path) -> Path:
    """
    A folder for an app of the test's own.
    """
    return tmp_path / "app"
