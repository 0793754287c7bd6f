"""
Which ODBC driver speaks to the server.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

INSTALLED = ("ODBC Driver 18 for SQL Server", "ODBC Driver 17 for SQL Server")
"""Drivers that may be installed on the machine, the best first."""

WHEEL = "mssql_python_odbc"
"""The module of a package that carries Microsoft's driver 18: `pip install mssql-python-odbc`."""

HOW_TO_INSTALL = (
    "no ODBC driver for SQL Server was found; install 'ODBC Driver 18 for SQL Server' (Azure's Python images have it) "
    "or run: pip install mssql-python-odbc"
)

_FAMILIES = {"alpine": "alpine", "suse": "suse", "rhel": "rhel", "fedora": "rhel", "centos": "rhel"}
_MACHINES = {"amd64": "x86_64", "aarch64": "arm64"}


def choose_driver(wanted: str | None, installed: Sequence[str], carried: Path | None) -> str:
    """
    The driver by name or by the path of its library: the one asked for, else 18, 17, or the one that a wheel carries.

    Raises:
        StoreRefusedError: none is there; the text says what to install.
    """
    if wanted is not None:
        if wanted in installed or Path(wanted).is_file():
            return wanted
        found = ", ".join(installed) or "none"
        msg = f"the ODBC driver {wanted!r} is not installed; installed: {found}"
        raise StoreRefusedError(msg)
    for name in INSTALLED:
        if name in installed:
            return name
    if carried is not None:
        return str(carried)
    raise StoreRefusedError(HOW_TO_INSTALL)


def carried_driver() -> Path | None:
    """
    The library of the driver that the wheel carries for this machine, if it is installed.
    """
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent / "libs"
    pattern = {"linux": "*.so*", "darwin": "*.dylib", "win32": "*.dll"}.get(sys.platform, "*.so*")
    found = [path for path in root.rglob(f"*msodbcsql{pattern}") if _fits(path)]
    return min(found, key=_rank, default=None)


def _fits(path: Path) -> bool:
    import platform  # noqa: PLC0415 - needed only where a wheel's driver is looked for

    machine = platform.machine().lower()
    return bool({machine, _MACHINES.get(machine, machine)} & set(path.parts))


def _rank(path: Path) -> tuple[bool, str]:
    """
    The library made for this distribution first; Debian's serves others that it is not made for.
    """
    return (_family() not in path.parts, str(path))


def _family() -> str:
    try:
        words = Path("/etc/os-release").read_text(encoding="utf-8").lower().replace('"', "").split()
    except OSError:
        return "debian_ubuntu"
    ids = [word for line in words if line.startswith(("id=", "id_like=")) for word in line.partition("=")[2].split()]
    return next((_FAMILIES[name] for name in ids if name in _FAMILIES), "debian_ubuntu")
