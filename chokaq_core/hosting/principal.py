"""
Who is calling: a person that the platform vouches for, the holder of one of the Deck's keys, or nobody in particular.

Everything here fails closed: what is missing, malformed or not vouched for gives no role.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING

from chokaq_core.config.host import is_in_azure
from chokaq_core.domain.access import Role
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    import azure.functions as func

    from chokaq_core.config import DeckSettings

KEY_HEADER = "X-ChokaQ-Key"
"""Carries one of the Deck's two keys."""
PRINCIPAL_HEADER = "X-MS-CLIENT-PRINCIPAL"
AUTHENTICATION_VARIABLE = "WEBSITE_AUTH_ENABLED"
MAX_NAME_LENGTH = 100

_ROLE_CLAIMS = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
_NAME_CLAIMS = (
    "preferred_username",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "name",
    "http://schemas.microsoft.com/identity/claims/objectidentifier",
    "oid",
)
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


class Caller(Value):
    """
    A caller: what they may do, and the name that is written down for what they did.
    """

    role: Role
    name: str | None = None


NOBODY = Caller(Role.NONE)

_ROLES = {"ChokaQ.Reader": Role.READ, "ChokaQ.Operator": Role.OPERATE}


def who(req: func.HttpRequest, settings: DeckSettings, environ: Mapping[str, str]) -> Caller:
    """
    The caller of a request; where several things vouch for them, the one that lets them do most.
    """
    callers = (_by_principal(req, settings, environ), _by_key(req, settings), _anonymous(settings, environ))
    return max(callers, key=lambda caller: (caller.role, caller.name is not None))


def is_platform_authentication_on(environ: Mapping[str, str]) -> bool:
    """
    Whether the platform says that it authenticates callers, and so drops principals that callers made up.

    Read as the Functions host reads the variable (`HostEasyAuthOptionsSetup` in Azure/azure-functions-host).
    """
    text = environ.get(AUTHENTICATION_VARIABLE, "").strip().lower()
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text) != 0
    return text == "true"


def _by_principal(req: func.HttpRequest, settings: DeckSettings, environ: Mapping[str, str]) -> Caller:
    """
    The person that the platform reports, if it is to be believed: else anyone could send this header.
    """
    header = req.headers.get(PRINCIPAL_HEADER)
    if not header or not settings.trust_platform_authentication or not is_platform_authentication_on(environ):
        return NOBODY
    claims = _claims(header)
    return Caller(_role(claims), _name(claims))


def _by_key(req: func.HttpRequest, settings: DeckSettings) -> Caller:
    """
    The holder of a key. Both are always compared, each in constant time.
    """
    given = req.headers.get(KEY_HEADER) or ""
    may_read = settings.read_key is not None and settings.read_key.matches(given)
    may_operate = settings.operate_key is not None and settings.operate_key.matches(given)
    if may_operate:
        return Caller(Role.OPERATE, "operate-key")
    return Caller(Role.READ, "read-key") if may_read else NOBODY


def _anonymous(settings: DeckSettings, environ: Mapping[str, str]) -> Caller:
    return Caller(Role.OPERATE, "anonymous") if settings.allow_anonymous and not is_in_azure(environ) else NOBODY


def _claims(header: str) -> list[tuple[str, str]]:
    """
    The claims of a principal, with its own names for role and name made plain; none of a malformed one.
    """
    try:
        principal = json.loads(base64.b64decode(header, validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return []
    if not isinstance(principal, dict) or not isinstance(principal.get("claims"), list):
        return []
    found = [(c.get("typ"), c.get("val")) for c in principal["claims"] if isinstance(c, dict)]
    claims = [(typ, val) for typ, val in found if isinstance(typ, str) and isinstance(val, str)]
    own_names = {"role_typ": _ROLE_CLAIMS[0], "name_typ": _NAME_CLAIMS[0]}
    plain = [(name, val) for own, name in own_names.items() for typ, val in claims if typ == principal.get(own)]
    return [*plain, *claims]


def _role(claims: list[tuple[str, str]]) -> Role:
    return max((_ROLES[val] for typ, val in claims if typ in _ROLE_CLAIMS and val in _ROLES), default=Role.NONE)


def _name(claims: list[tuple[str, str]]) -> str | None:
    """
    The best name there is, fit to be stored.
    """
    for wanted in _NAME_CLAIMS:
        for typ, val in claims:
            if typ == wanted and (name := _storable(val)):
                return name
    return None


def _storable(text: str) -> str:
    printable = "".join(c for c in text.encode("utf-8", "replace").decode() if c.isprintable())
    return printable.strip()[:MAX_NAME_LENGTH]
