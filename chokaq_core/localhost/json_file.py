"""
Reading a JSON file that holds one object, with errors that name the file and the place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.localhost.errors import HostError

if TYPE_CHECKING:
    from pathlib import Path

_JSON_TYPES = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def read_json_object(path: Path) -> dict[str, Any]:
    """
    Reads the object in a JSON file; a missing file reads as an empty object.

    Raises:
        HostError: the file is not JSON (comments are not JSON either), or holds something else than an object.
    """
    if not path.exists():
        return {}
    content = _parse(path)
    if not isinstance(content, dict):
        raise HostError(f"{path}: expected a JSON object, found {json_type(content)}.")
    return content


def json_type(value: object) -> str:
    """
    Names the JSON type of a parsed value, for an error message.
    """
    return _JSON_TYPES.get(type(value), "null")


def _parse(path: Path) -> Any:  # noqa: ANN401 - JSON is what it is until looked at
    try:
        # Editors on Windows begin these files with a byte order mark.
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise HostError(f"{path}: not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from error
    except UnicodeDecodeError as error:
        raise HostError(f"{path}: not valid UTF-8 at byte {error.start}.") from error
