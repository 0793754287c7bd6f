"""
One run of the host in this process: environment, socket, app, signals, exit code.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.localhost.app_loader import app_file
from chokaq_core.localhost.environment import fill_environment, make_deck_key
from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.logs import set_up_logs
from chokaq_core.localhost.server import LocalHost
from chokaq_core.localhost.welcome import welcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_log = logging.getLogger(__name__)


def run(app: str, host: str, port: int) -> int:
    """
    Serves the app in a folder until SIGINT or SIGTERM.

    Returns:
        The exit code of a graceful stop; after any other stop the process has ended.

    Raises:
        HostError: the host could not start.
    """
    app_folder = app_file(Path(app).resolve()).parent
    fill_environment(os.environ, app_folder)
    deck_key = make_deck_key(os.environ, app_folder)
    set_up_logs(os.environ)
    # Relative paths mean the app's folder, as they do under Core Tools.
    os.chdir(app_folder)
    with bind(host, port) as listening:
        local_host = LocalHost(app_folder, os.environ)
        listen(listening)
        is_graceful = asyncio.run(_serve(local_host, listening, deck_key))
    if not is_graceful:
        _end_at_once(1)
    return 0


def bind(host: str, port: int) -> socket.socket:
    """
    Takes the address; nobody can connect before `listen`.

    Raises:
        HostError: the address is in use, not allowed, or not one of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise HostError(f"Cannot listen at {host}: {error.strerror}.") from error
    if os.name == "posix":
        # Lets a restart have the port of connections that are still fading; on Windows it would share live ones.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _claim(lambda: listening.bind(address), listening, f"{host}:{port}")
    return listening


def listen(listening: socket.socket) -> None:
    """
    Opens the bound address to clients.

    Raises:
        HostError: another process opened the same address since it was bound.
    """
    host, port = listening.getsockname()[:2]
    _claim(listening.listen, listening, f"{host}:{port}")


def _claim(step: Callable[[], None], listening: socket.socket, address: str) -> None:
    try:
        step()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            advice = "stop what listens there, or choose another --port (PORT= with make)"
            raise HostError(f"{address} is in use: {advice}.") from error
        raise HostError(f"Cannot listen at {address}: {error.strerror}.") from error


async def _serve(local_host: LocalHost, listening: socket.socket, deck_key: str | None) -> bool:
    _stop_on_signals(asyncio.get_running_loop(), local_host)
    host, port = listening.getsockname()[:2]
    words = welcome(host, port, local_host.route_prefix, deck_key, local_host.problems)
    return await local_host.serve(listening, lambda: print(words, flush=True))


def _stop_on_signals(loop: asyncio.AbstractEventLoop, local_host: LocalHost) -> None:
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if received:
            _end_at_once(128 + number)
        received.append(number)
        loop.call_soon_threadsafe(local_host.stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def _end_at_once(code: int) -> None:
    # A plain exit would wait for the threads of handlers that are still running.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
