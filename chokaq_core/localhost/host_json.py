"""
`host.json`: the few of its settings that mean something on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.json_file import json_type, read_json_object

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class HostJson:
    """
    What this host takes from host.json; the defaults are the platform's.
    """

    route_prefix: str = "api"
    max_dequeue_count: int = 5


def read_host_json(path: Path) -> HostJson:
    """
    Reads a host.json; settings that only matter in Azure are passed over, a missing file means the defaults.

    Raises:
        HostError: the file is not JSON, or one of these settings is of the wrong kind.
    """
    extensions = _Section(path, "", read_json_object(path)).section("extensions")
    return HostJson(
        route_prefix=extensions.section("http").text("routePrefix", HostJson().route_prefix).strip("/"),
        max_dequeue_count=extensions.section("queues").count("maxDequeueCount", HostJson().max_dequeue_count),
    )


@dataclass(frozen=True, slots=True)
class _Section:
    path: Path
    name: str
    content: dict[str, Any]

    def section(self, key: str) -> _Section:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, "an object", value)
        return _Section(self.path, self._full_name(key), value)

    def text(self, key: str, default: str) -> str:
        value = self.content.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, "a string", value)
        return value

    def count(self, key: str, default: int) -> int:
        value = self.content.get(key, default)
        if type(value) is not int or value < 1:
            raise self._wrong(key, "a whole number from 1 on", value)
        return value

    def _full_name(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _wrong(self, key: str, expected: str, value: object) -> HostError:
        found = value if type(value) is int else json_type(value)
        return HostError(f"{self.path}: {self._full_name(key)} must be {expected}, found {found}.")
