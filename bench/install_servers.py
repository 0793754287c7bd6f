"""
Installs the servers that peers need, where Debian's package manager is here and this is root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from bench import servers

PACKAGES = ("postgresql", "redis-server")


def main() -> int:
    """
    The exit status: 0 when both servers are here, 1 when one could not be installed.
    """
    if _is_complete():
        return 0
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(f"Install them first, on Debian by: sudo {' '.join(command)}", file=sys.stderr)
        return 1
    # The packages would start servers of their own, which nobody asked for.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    subprocess.run(command, check=True, env=environment)
    return 0 if _is_complete() else 1


def _is_complete() -> bool:
    return servers.newest_postgres() is not None and shutil.which("redis-server") is not None


if __name__ == "__main__":
    sys.exit(main())
