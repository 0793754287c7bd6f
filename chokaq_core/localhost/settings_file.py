"""
`local.settings.json`: the app settings of a developer's machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.json_file import json_type, read_json_object

if TYPE_CHECKING:
    from pathlib import Path


def read_local_settings(path: Path) -> dict[str, str]:
    """
    Reads the `Values` of a local.settings.json; other sections are Core Tools' own and are left alone.

    Raises:
        HostError: the file cannot be read as settings; the text names the file and the key.
    """
    content = read_json_object(path)
    if content.get("IsEncrypted"):
        raise HostError(f"{path}: IsEncrypted is true, and only Core Tools decrypts it: run 'func settings decrypt'.")
    if stray := next((name for name in content if name.casefold().startswith("chokaq")), None):
        raise HostError(f"{path}: {stray} stands beside Values, where nobody reads it: put it into Values.")
    values = content.get("Values", {})
    if not isinstance(values, dict):
        raise HostError(f"{path}: Values must be an object, found {json_type(values)}.")
    return {name: _text(path, name, value) for name, value in values.items()}


def _text(path: Path, name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    advice = "put it in double quotes"
    if isinstance(value, dict):
        advice = f"give each of its members a line of its own, such as {name}__NAME"
    raise HostError(f"{path}: Values.{name} must be a string, found {json_type(value)}: {advice}.")
