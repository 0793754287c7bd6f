"""
PostgreSQL and Redis for the peers that need them: started for a run, on a port of their own, gone afterwards.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 30.0
_POSTGRES_FOLDERS = "/usr/lib/postgresql"
_SUPERUSER = "bench"
_UNPRIVILEGED = "postgres"
"""The account that Debian's package makes; PostgreSQL refuses to run as root."""


class ServerMissingError(Exception):
    """
    A server is not installed; the message says what to install.
    """


@contextmanager
def postgres(*, is_synced: bool = False) -> Iterator[str]:
    """
    A PostgreSQL with an empty database; gives its connection string.

    Commits wait for the disk when `is_synced`; otherwise `synchronous_commit` is off, so that a crash of the machine
    may lose the last commits but none in part: what SQLite promises with WAL and `synchronous = NORMAL`.

    Raises:
        ServerMissingError: its programs are not here.
        subprocess.CalledProcessError: it did not start.
    """
    programs = _postgres_programs()
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-postgres-") as folder:
        data = Path(folder) / "data"
        user = _postgres_account(Path(folder))
        _call([*user, programs / "initdb", "-D", data, "-A", "trust", "-U", _SUPERUSER, "--no-sync"])
        options = (
            f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c shared_buffers=256MB "
            f"-c synchronous_commit={'on' if is_synced else 'off'}"
        )
        control = [*user, programs / "pg_ctl", "-D", data, "-w", "-t", str(int(START_SECONDS))]
        _call([*control, "-l", Path(folder) / "log", "-o", options, "start"])
        try:
            yield f"postgresql://{_SUPERUSER}@127.0.0.1:{port}/postgres"
        finally:
            _call([*control, "-m", "immediate", "stop"])


@contextmanager
def redis() -> Iterator[str]:
    """
    A Redis that keeps everything in memory and writes nothing; gives its address.

    Raises:
        ServerMissingError: its program is not here.
        TimeoutError: it did not start.
    """
    program = shutil.which("redis-server")
    if program is None:
        raise ServerMissingError("redis-server is not installed; `make bench-peers` installs it")
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-redis-") as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()
            server.wait(START_SECONDS)


def versions() -> dict[str, str]:
    """
    The versions of the servers that are here.
    """
    found = {}
    programs = newest_postgres()
    if programs is not None:
        found["PostgreSQL"] = _call([programs / "postgres", "--version"]).rpartition(") ")[2].split()[0]
    if (program := shutil.which("redis-server")) is not None:
        found["Redis"] = _call([program, "--version"]).partition("v=")[2].split()[0]
    return found


def newest_postgres() -> Path | None:
    """
    The folder of PostgreSQL's programs: where Debian's packages put them, else beside `initdb` on the path.
    """
    packaged = sorted(Path(_POSTGRES_FOLDERS).glob("*/bin/initdb"), key=lambda found: float(found.parts[-3]))
    if packaged:
        return packaged[-1].parent
    program = shutil.which("initdb")
    return None if program is None else Path(program).resolve().parent


def _postgres_programs() -> Path:
    programs = newest_postgres()
    if programs is None:
        raise ServerMissingError("PostgreSQL is not installed; `make bench-peers` installs it")
    return programs


def _postgres_account(folder: Path) -> list[str | Path]:
    """
    The words before a command that give up root's rights; none are needed for anybody else.
    """
    if os.geteuid() != 0:
        return []
    try:
        shutil.chown(folder, _UNPRIVILEGED)
    except LookupError as e:
        raise ServerMissingError(f"PostgreSQL does not run as root, and there is no account {_UNPRIVILEGED!r}") from e
    return ["runuser", "-u", _UNPRIVILEGED, "--"]


def _call(command: Sequence[str | Path]) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
    )
    return done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"no server on port {port} after {START_SECONDS:g} s")
