"""
What a run was made on; figures of two machines do not compare.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "chokaq",
    "pydantic",
    "azure-functions",
    "huey",
    "pgqueuer",
    "procrastinate",
    "dramatiq",
    "rq",
    "celery",
)


def facts() -> dict[str, str]:
    """
    Date, processor, load before the run, versions.
    """
    return {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {_processor()}",
        "load before": ", ".join(f"{load:.1f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": f"{sqlite3.sqlite_version}; WAL, synchronous NORMAL, cache 64 MiB, unless a line says otherwise",
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "files in": tempfile.gettempdir(),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def _version(package: str) -> str:
    if package == "chokaq":
        from chokaq_core import __version__  # noqa: PLC0415 - it is not installed as a package in its own checkout

        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
