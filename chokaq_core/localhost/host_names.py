"""
The names that a host on this machine alone answers to.

A stranger's page may let its own name point at this machine after it was loaded (DNS rebinding); the browser then takes
the host for that page's own server, and lets it read and send what it likes. Such a request still names the stranger.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

# Docker's name for this machine, as containers on it call it.
_OWN_NAMES = ("localhost", "host.docker.internal")


class OwnNamesOnly:
    """
    Answers 421 to a request that calls this machine by a name which is not its own.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Passes a request on, or refuses it.
        """
        host = Headers(scope=scope).get("host", "")
        app = self._app if is_own_name(host) else _refusal(host)
        await app(scope, receive, send)


def is_own_name(host: str) -> bool:
    """
    Whether a Host header means this machine whoever resolves it. Without one, no browser sent the request.
    """
    name = _without_port(host).rstrip(".").lower()
    return not host or name in _OWN_NAMES or name.endswith(".localhost") or is_loopback(name)


def is_loopback(address: str) -> bool:
    """
    Whether a text is an address that only this machine can reach.
    """
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _refusal(host: str) -> PlainTextResponse:
    words = (
        f"This host serves its own machine, and {host[:100]!a} is not its name: call 127.0.0.1 or localhost. "
        "To serve others, start it with --host and an address of the network.\n"
    )
    return PlainTextResponse(words, status_code=421)
