"""
The environment that the app is imported into, and how settings in it are looked up.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.json_file import read_json_object
from chokaq_core.localhost.settings_file import read_local_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping
    from pathlib import Path

_SQLITE_PATH = "ChokaQ__Sqlite__Path"
_SQL_SERVER = "ChokaQ__SqlServer__ConnectionString"
_DECK = "ChokaQ__Deck__"
_PERCENT_NAME = re.compile(r"%([^%]+)%")


def fill_environment(environ: MutableMapping[str, str], app_folder: Path) -> None:
    """
    Adds local.settings.json, then this host's own defaults; what is already set wins, in any spelling of its name.

    Raises:
        HostError: local.settings.json cannot be read as settings.
    """
    _add_missing(environ, read_local_settings(app_folder / "local.settings.json"))
    if not _has_store(environ, app_folder):
        database = app_folder / ".chokaq" / "chokaq.db"
        # Payloads are nobody else's to read on a machine that others use, too.
        database.parent.mkdir(mode=0o700, exist_ok=True)
        environ[_SQLITE_PATH] = str(database)


def make_deck_key(environ: MutableMapping[str, str], app_folder: Path) -> str | None:
    """
    Gives the app a key that opens the Deck for this run, unless its settings say anything about the Deck themselves.

    Returns:
        The key, to be shown to whoever started the host; None when none was made.
    """
    names = (*environ, *_names_in_appsettings(app_folder))
    if any(_folded(name).startswith(_folded(_DECK)) for name in names):
        return None
    key = secrets.token_urlsafe(32)
    environ[f"{_DECK}OperateKey"] = key
    return key


def find_setting(environ: Mapping[str, str], name: str) -> str | None:
    """
    Looks a setting up in any letter case, with `:` or `__` between its parts, as the Functions host does.
    """
    if name in environ:
        return environ[name]
    return next((value for key, value in environ.items() if _folded(key) == _folded(name)), None)


def resolve_settings(text: str, environ: Mapping[str, str]) -> str:
    """
    Replaces every `%NAME%` by that setting's value.

    Raises:
        HostError: a named setting is missing or empty.
    """
    return _PERCENT_NAME.sub(lambda match: _required(environ, match[1]), text)


def whole_number(environ: Mapping[str, str], name: str, default: int) -> int:
    """
    Reads a setting that is a whole number from 1 on.

    Raises:
        HostError: the setting holds something else.
    """
    text = environ.get(name, "").strip() or str(default)
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise HostError(f"{name} is '{text}': expected a whole number from 1 on.")
    return int(text)


def _add_missing(environ: MutableMapping[str, str], settings: Mapping[str, str]) -> None:
    taken = {_folded(name) for name in environ}
    environ.update({name: value for name, value in settings.items() if _folded(name) not in taken})


def _has_store(environ: Mapping[str, str], app_folder: Path) -> bool:
    names = {_folded(name) for name in (*environ, *_names_in_appsettings(app_folder))}
    return bool(names & {_folded(_SQLITE_PATH), _folded(_SQL_SERVER)})


def _names_in_appsettings(app_folder: Path) -> Iterator[str]:
    try:
        content = read_json_object(app_folder / "appsettings.json")
    except HostError:
        # The app reads this file itself and reports what is wrong with it, together with its other settings.
        return
    yield from _flattened(content)


def _flattened(section: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in section.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}__")
        else:
            yield f"{prefix}{key}"


def _required(environ: Mapping[str, str], name: str) -> str:
    value = find_setting(environ, name)
    if not value:
        raise HostError(f"the setting '{name}' is missing: add it to Values in local.settings.json")
    return value


def _folded(name: str) -> str:
    return name.replace(":", "__").casefold()
