"""
`host.json`: the few of its settings that mean something on one machine.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.durations import DurationError, parse_duration
from chokaq_core.domain.value import Value
from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.json_file import json_type, read_json_object

if TYPE_CHECKING:
    from pathlib import Path


class HostJson(Value):
    """
    What this host takes from host.json; the defaults are the platform's.

    Attributes:
        visibility_timeout: how long a queue message stays hidden after its function failed.
        max_polling_interval: the longest pause between two looks into an empty queue.
        message_encoding: `base64` or `none`.
    """

    route_prefix: str = "api"
    max_dequeue_count: int = 5
    visibility_timeout: timedelta = timedelta(0)
    max_polling_interval: timedelta = timedelta(minutes=1)
    message_encoding: str = "base64"


def read_host_json(path: Path) -> HostJson:
    """
    Reads a host.json; settings that only matter in Azure are passed over, a missing file means the defaults.

    Raises:
        HostError: the file is not JSON, or one of these settings is of the wrong kind.
    """
    extensions = _Section(path, "", read_json_object(path)).section("extensions")
    queues, defaults = extensions.section("queues"), HostJson()
    return HostJson(
        route_prefix=extensions.section("http").text("routePrefix", defaults.route_prefix).strip("/"),
        max_dequeue_count=queues.count("maxDequeueCount", defaults.max_dequeue_count),
        visibility_timeout=queues.duration("visibilityTimeout", defaults.visibility_timeout),
        max_polling_interval=queues.duration("maxPollingInterval", defaults.max_polling_interval),
        message_encoding=queues.choice("messageEncoding", ("base64", "none")),
    )


class _Section(Value):
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

    def duration(self, key: str, default: timedelta) -> timedelta:
        if key not in self.content:
            return default
        try:
            return parse_duration(self.text(key, ""))
        except DurationError as error:
            raise HostError(f"{self.path}: {self._full_name(key)} {error.rule}.") from error

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key, choices[0]).lower()
        if value not in choices:
            raise HostError(
                f"{self.path}: {self._full_name(key)} must be {' or '.join(choices)}, found {value[:60]!a}."
            )
        return value

    def _full_name(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _wrong(self, key: str, expected: str, value: object) -> HostError:
        found = value if type(value) is int else json_type(value)
        return HostError(f"{self.path}: {self._full_name(key)} must be {expected}, found {found}.")
