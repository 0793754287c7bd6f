from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_domain_imports_only_the_standard_library_and_what_values_are_made_of() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "chokaq_core/domain").rglob("*.py")}
    foreign = {path.name: foreign_packages(source) for path, source in sources.items()}
    assert {name: packages for name, packages in foreign.items() if packages} == {"value.py": {"msgspec"}}


@pytest.mark.parametrize(
    "source, expected",
    [
        ("import pydantic.types", {"pydantic"}),
        ("from azure.identity import DefaultAzureCredential", {"azure"}),
        ("def lazily():\n    import pyodbc", {"pyodbc"}),
        ("import sys, json as j\nfrom chokaq_core.domain import job\nfrom . import moves", set()),
    ],
)
def test_a_foreign_import_is_seen_wherever_it_stands(source: str, expected: set[str]) -> None:
    assert foreign_packages(source) == expected


@pytest.mark.parametrize("package", ["croniter", "starlette", "uvicorn"])
def test_the_stand_in_host_is_not_deployed(package: str) -> None:
    deployed = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    local = (ROOT / "requirements-local.txt").read_text(encoding="utf-8")
    assert package in local
    assert package not in deployed


def foreign_packages(source: str) -> set[str]:
    """
    Name the top-level packages that `source` imports from outside the project and the standard library.
    """
    imported = {name.partition(".")[0] for name in imported_modules(source)}
    return imported - sys.stdlib_module_names - {"chokaq_core"}


def imported_modules(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str() as module, level=0):
                yield module
