"""
The files under infra/ as tests look at them: Bicep taken apart, thresholds, queries, parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pycep import BicepParser

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"

_COMMENT = re.compile(r"//.*")
_STRING = re.compile(r"@?'(?:\\'|[^'])*'")


@dataclass(frozen=True, slots=True)
class Resource:
    """
    One resource of a Bicep file; one that stands in a loop or under a condition is shown without them.
    """

    file: str
    symbol: str
    type: str
    api_version: str
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Alert:
    """
    One row of thresholds.json.
    """

    id: str
    title: str
    severity: int
    signals: list[str]
    scope: str
    operator: str
    threshold: int
    unit: str
    window_minutes: int
    frequency_minutes: int
    dimension: str
    runbook: str
    setting: str | None = None
    divisor: int = 1
    multiplier: int = 1
    source: str | None = None


def bicep_files() -> list[Path]:
    """
    Every Bicep file of the project.
    """
    return sorted(INFRA.rglob("*.bicep"))


@cache
def parsed(path: Path) -> dict[str, Any]:
    """
    A Bicep file, taken apart by pycep.
    """
    return dict(BicepParser().parse(file_path=path))


def resources(type_name: str | None = None) -> list[Resource]:
    """
    All resources, or those of one type.
    """
    found = [resource for path in bicep_files() for resource in _resources_of(path)]
    return [resource for resource in found if type_name in {None, resource.type}]


def the_resource(type_name: str, symbol: str | None = None) -> Resource:
    """
    The one resource of a type.
    """
    (one,) = [resource for resource in resources(type_name) if symbol in {None, resource.symbol}]
    return one


def variable(file: str, name: str) -> Any:  # noqa: ANN401 - whatever Bicep holds
    """
    The value of a variable.
    """
    return parsed(INFRA / file)["variables"][name]["value"]


def parameters(file: str = "main.bicep") -> dict[str, Any]:
    """
    The parameters of a Bicep file.
    """
    return dict(parsed(INFRA / file)["parameters"])


def parameter_values(name: str) -> dict[str, Any]:
    """
    The values that a parameter file gives.
    """
    file = json.loads((INFRA / f"{name}.parameters.json").read_text(encoding="utf-8"))
    return {key: entry["value"] for key, entry in file["parameters"].items()}


def app_settings() -> dict[str, str]:
    """
    Every app setting that the template can make, with its text.
    """
    found: dict[str, str] = dict(variable("modules/app.bicep", "baseSettings"))
    for name in ("signInSettings", "keySettings"):
        for node in nodes(variable("modules/app.bicep", name)):
            found |= node.get("true_value", {})
    return found


def nodes(value: object) -> Iterator[dict[str, Any]]:
    """
    Every object within a part of a Bicep file, outermost first.
    """
    if isinstance(value, dict):
        yield value
        yield from (node for inner in value.values() for node in nodes(inner))
    elif isinstance(value, list):
        yield from (node for inner in value for node in nodes(inner))


@cache
def alerts() -> tuple[Alert, ...]:
    """
    The rows of thresholds.json.
    """
    rows = json.loads((INFRA / "thresholds.json").read_text(encoding="utf-8"))["alerts"]
    return tuple(Alert(**{_snake(key): value for key, value in row.items()}) for row in rows)


def query_of(alert_id: str) -> str:
    """
    The KQL of an alert.
    """
    return (INFRA / "queries" / f"{alert_id}.kql").read_text(encoding="utf-8")


def workbook_queries() -> dict[str, str]:
    """
    The queries of the workbook by title, the grain of the chosen time filled in.
    """
    workbook = json.loads((INFRA / "workbook.json").read_text(encoding="utf-8"))
    panels = [item["content"] for item in workbook["items"] if item["type"] == 3]
    return {panel["title"]: panel["query"].replace("{TimeRange:grain}", "5m") for panel in panels}


def strings_in(kql: str) -> list[str]:
    """
    The string literals of a query.
    """
    return [literal.strip("@'") for literal in _STRING.findall(_COMMENT.sub("", kql))]


def without_strings(kql: str) -> str:
    """
    A query without comments and string literals.
    """
    return _STRING.sub("''", _COMMENT.sub("", kql))


def _resources_of(path: Path) -> Iterator[Resource]:
    for symbol, entry in parsed(path).get("resources", {}).items():
        config = entry["config"]
        while "config" in config and ("loop_type" in config or "condition" in config):
            config = config["config"]
        name = path.relative_to(INFRA).as_posix()
        yield Resource(name, symbol, entry["type"], entry["api_version"], config)


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()
