from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.host_json import HostJson, read_host_json


def write(folder: Path, content: object) -> Path:
    path = folder / "host.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_missing_file_means_the_platform_defaults(tmp_path: Path) -> None:
    assert read_host_json(tmp_path / "host.json") == HostJson(route_prefix="api", max_dequeue_count=5)


def test_route_prefix_and_dequeue_count_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"version": "2.0", "extensions": {"http": {"routePrefix": "/v1/"}, "queues": {"maxDequeueCount": 2}}},
    )

    assert read_host_json(path) == HostJson(route_prefix="v1", max_dequeue_count=2)


def test_how_queues_are_read_is_read(tmp_path: Path) -> None:
    queues = {"visibilityTimeout": "00:00:30", "maxPollingInterval": "00:00:02", "messageEncoding": "None"}

    assert read_host_json(write(tmp_path, {"extensions": {"queues": queues}})) == HostJson(
        visibility_timeout=timedelta(seconds=30), max_polling_interval=timedelta(seconds=2), message_encoding="none"
    )


def test_settings_that_only_matter_in_azure_are_passed_over(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"version": "2.0", "functionTimeout": "00:10:00", "extensions": {"queues": {"batchSize": 1}}}
    )

    assert read_host_json(path) == HostJson()


@pytest.mark.parametrize(
    "content,complaint",
    [
        ({"extensions": []}, "extensions must be an object, found an array."),
        ({"extensions": {"http": "api"}}, "extensions.http must be an object, found a string."),
        ({"extensions": {"http": {"routePrefix": 1}}}, "extensions.http.routePrefix must be a string, found 1."),
        (
            {"extensions": {"queues": {"maxDequeueCount": 0}}},
            "extensions.queues.maxDequeueCount must be a whole number from 1 on, found 0.",
        ),
        (
            {"extensions": {"queues": {"maxDequeueCount": True}}},
            "extensions.queues.maxDequeueCount must be a whole number from 1 on, found a boolean.",
        ),
        (
            {"extensions": {"queues": {"maxPollingInterval": "2"}}},
            "extensions.queues.maxPollingInterval must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23.",
        ),
        (
            {"extensions": {"queues": {"messageEncoding": "utf8"}}},
            "extensions.queues.messageEncoding must be base64 or none, found 'utf8'.",
        ),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused_by_name(tmp_path: Path, content: object, complaint: str) -> None:
    path = write(tmp_path, content)

    with pytest.raises(HostError) as refusal:
        read_host_json(path)

    assert str(refusal.value) == f"{path}: {complaint}"


def test_comments_are_not_json(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text('{\n  // the prefix\n  "version": "2.0"\n}', encoding="utf-8")

    with pytest.raises(HostError, match=r"host\.json: not valid JSON: .* line 2, column 3"):
        read_host_json(path)
