"""
Azurite, the storage emulator: its queue service on a port of its own, for tests and for `make run WAKES=azurite`.

    python -m tests.support.azurite                     installs it, where Node.js can
    python -m tests.support.azurite run -- COMMAND …    runs a command beside it, with AzureWebJobsStorage set
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.polling import looks

ROOT = Path(__file__).parents[2]
HOME = ROOT / "tests" / "azurite"
SCRIPT = HOME / "node_modules" / "azurite" / "dist" / "src" / "queue" / "main.js"
STAMP = HOME / "node_modules" / ".installed-lock.json"
LOCK = HOME / "package-lock.json"
OLDEST_NODE = 20
HANG_SECONDS = 60.0
"""Only tells a hang from an answer."""

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Published by Microsoft, the same everywhere; it opens nothing but an emulator."""


def is_installed() -> bool:
    """
    Whether Azurite is here, as the lock file says.
    """
    return SCRIPT.exists() and STAMP.exists() and STAMP.read_bytes() == LOCK.read_bytes()


def install() -> None:
    """
    Installs Azurite, or says why tests with it are skipped.
    """
    if is_installed():
        return
    fault = _missing_tool() or _npm_ci()
    if fault is None:
        shutil.copyfile(LOCK, STAMP)
    else:
        print(f"{fault}: tests with Azurite are skipped")  # noqa: T201


@dataclass
class Azurite:
    """
    One Azurite, which keeps its queues in a folder, and a log of requests if it is asked to.
    """

    folder: Path
    port: int = 0
    logs_requests: bool = False
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> Azurite:
        """
        Starts it, on the port that it had before if there was one, and waits until it listens.
        """
        self.port = self.port or _free_port()
        with self._log().open("ab") as log:
            self._process = subprocess.Popen(self._command(), stdout=log, stderr=log, cwd=self.folder)
        for _ in looks(HANG_SECONDS):
            if self._listens():
                return self
            if self._process.poll() is not None:
                break
        raise AssertionError(f"Azurite did not start:\n{self._log().read_text(encoding='utf-8')}")

    def kill(self) -> None:
        """
        Ends it at once.
        """
        if self._process is not None:
            self._process.kill()
            self._process.wait(HANG_SECONDS)

    @property
    def connection(self) -> str:
        """
        The connection string of its queue service.
        """
        endpoint = f"http://127.0.0.1:{self.port}/{ACCOUNT}"
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};QueueEndpoint={endpoint};"

    def sent_to(self, queue: str) -> int:
        """
        How many messages were sent to a queue, by the log of requests.
        """
        sent = f'"POST /{ACCOUNT}/{queue}/messages'
        return sum(sent in line and '" 201 ' in line for line in self._log().read_text(encoding="utf-8").splitlines())

    def _command(self) -> list[str]:
        options = ["--queueHost", "127.0.0.1", "--queuePort", str(self.port), "--location", str(self.folder)]
        loudness = [] if self.logs_requests else ["--silent"]
        # The SDK may speak a newer version of the protocol than this Azurite knows; queues have not changed.
        return ["node", str(SCRIPT), *options, *loudness, "--skipApiVersionCheck", "--disableTelemetry"]

    def _log(self) -> Path:
        return self.folder / "azurite.log"

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def run_beside(command: Sequence[str]) -> int:
    """
    Runs a command with the queues of an Azurite of its own; answers the command's exit status.
    """
    install()
    if not is_installed():
        return 1
    with tempfile.TemporaryDirectory(prefix="azurite-") as folder:
        azurite = Azurite(Path(folder)).start()
        environ: Mapping[str, str] = {**os.environ, "AzureWebJobsStorage": azurite.connection}
        process = subprocess.Popen(command, env=environ)
        # Ctrl-C reaches the command by itself. This process must outlive it, to end Azurite.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            return process.wait()
        finally:
            azurite.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _missing_tool() -> str | None:
    try:
        version = _output(["node", "--version"])
        _output(["npm", "--version"])
    except (OSError, subprocess.CalledProcessError) as error:
        return f"Node.js does not run here ({error})"
    found = re.match(r"v(\d+)\.", version)
    is_new_enough = found is not None and int(found[1]) >= OLDEST_NODE
    return None if is_new_enough else f"Node.js {OLDEST_NODE} is needed, found {version}"


def _npm_ci() -> str | None:
    print("Installing Azurite into tests/azurite/node_modules ...", flush=True)  # noqa: T201
    done = subprocess.run(["npm", "ci", "--silent"], cwd=HOME, check=False)  # noqa: S607
    return None if done.returncode == 0 else f"npm ci failed in {HOME}"


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: Sequence[str]) -> int:
    """
    The command line.
    """
    if arguments[:2] == ["run", "--"]:
        return run_beside(arguments[2:])
    install()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
