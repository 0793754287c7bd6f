"""
Serves the Deck's page and its files. They hold no data, and are there only where somebody could sign in.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.deck import files
from chokaq_core.domain.errors import ConfigurationError
from chokaq_core.hosting.principal import is_platform_authentication_on
from chokaq_core.hosting.problems import problem, unavailable

if TYPE_CHECKING:
    from chokaq_core.deck.files import StaticFile
    from chokaq_core.hosting.core import Core

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""`no-cache`: kept, and asked about each time, so that a page never runs with the modules of another version."""


def page(req: func.HttpRequest, core: Core) -> func.HttpResponse:
    """
    Answers `/api/deck`.
    """
    if (closed := _closed(core)) is not None:
        return closed
    if req.url.partition("?")[0].endswith("/"):
        # The page names its files relative to an address without the slash, whatever prefix the host has.
        return func.HttpResponse(status_code=HTTPStatus.PERMANENT_REDIRECT, headers={"Location": "../deck"})
    return _served(req, files.page(has_platform_sign_in=_has_platform_sign_in(core)))


def asset(req: func.HttpRequest, core: Core) -> func.HttpResponse:
    """
    Answers `/api/deck/assets/{name}`.
    """
    if (closed := _closed(core)) is not None:
        return closed
    found = files.assets().get(req.route_params.get("name", ""))
    return problem(HTTPStatus.NOT_FOUND, "the page has no such file") if found is None else _served(req, found)


def _closed(core: Core) -> func.HttpResponse | None:
    """
    The answer where nobody could sign in: 404, or 503 while invalid settings leave that open.
    """
    if core.settings is None:
        return unavailable(ConfigurationError([]))
    if core.settings.deck.is_configured:
        return None
    return problem(HTTPStatus.NOT_FOUND, "the Deck is closed: set Deck.OperateKey, or let the platform sign people in")


def _has_platform_sign_in(core: Core) -> bool:
    return (
        core.settings is not None
        and core.settings.deck.trust_platform_authentication
        and is_platform_authentication_on(core.environ)
    )


def _served(req: func.HttpRequest, file: StaticFile) -> func.HttpResponse:
    headers = {**PAGE_HEADERS, "ETag": file.etag}
    if req.headers.get("If-None-Match") == file.etag:
        return func.HttpResponse(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return func.HttpResponse(file.content, headers=headers, mimetype=file.media_type, charset="utf-8")
