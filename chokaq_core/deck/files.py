"""
The page's files, read once.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from chokaq_core.domain.value import Value

FOLDER = Path(__file__).parent

_MEDIA_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}


class StaticFile(Value):
    """
    One file as it is served.

    Attributes:
        etag: differs whenever the content does.
    """

    content: bytes
    media_type: str
    etag: str


@cache
def page(*, has_platform_sign_in: bool = False) -> StaticFile:
    """
    The page itself; told whether the platform has a sign-in of its own to offer.
    """
    content = (FOLDER / "index.html").read_bytes()
    if has_platform_sign_in:
        content = content.replace(b'data-platform="no"', b'data-platform="yes"', 1)
    return _made(content, ".html")


@cache
def assets() -> dict[str, StaticFile]:
    """
    What the page loads, by file name.
    """
    return {path.name: _read(path) for path in sorted((FOLDER / "assets").iterdir()) if path.suffix in _MEDIA_TYPES}


def _read(path: Path) -> StaticFile:
    return _made(path.read_bytes(), path.suffix)


def _made(content: bytes, suffix: str) -> StaticFile:
    return StaticFile(content, _MEDIA_TYPES[suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')
