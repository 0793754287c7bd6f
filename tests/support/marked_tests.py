"""
The tests that name a field case, read from the source: which case, where, and on which stores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.documents import ROOT

MEMORY, FILE, SQL_SERVER = "memory", "file", "SQL Server"
STORES = (MEMORY, FILE, SQL_SERVER)

_STORES_OF_FIXTURES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("contract", "kind"): STORES,
    ("contract", "shared_source"): (FILE, SQL_SERVER),
    ("contract", "tmp_path"): (FILE,),
    ("deck", "*"): (FILE,),
    ("engine", "store"): (MEMORY,),
    ("engine", "clocked_store"): (MEMORY,),
    ("engine", "open_file"): (FILE,),
    ("engine", "tmp_path"): (FILE,),
    ("faults", "tmp_path"): (FILE,),
    ("faults", "tmp_path_factory"): (FILE,),
    ("hosting", "store"): (MEMORY,),
    ("hosting", "client"): (MEMORY,),
    ("hosting", "example_host"): (FILE,),
    ("hosting", "library"): (FILE,),
    ("operations", "desk"): (MEMORY,),
}
"""What a test works on, by the folder under `tests` and a fixture that it asks for, itself or through others."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """
    A test and a case that it names.

    Attributes:
        path: from the project's root.
        name: with its class in front, if it has one.
    """

    case: str
    path: str
    name: str
    stores: tuple[str, ...]
    is_deep: bool

    @property
    def node_id(self) -> str:
        """
        What pytest calls it, without parameters.
        """
        return f"{self.path}::{self.name.replace('.', '::')}"


@cache
def marked_tests() -> tuple[MarkedTest, ...]:
    """
    All of them, by case, file and place in the file.
    """
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = (test for path in files if "node_modules" not in path.parts for test in _tests_in(path))
    return tuple(sorted(found, key=lambda test: (test.case, test.path)))


def _tests_in(path: Path) -> Iterator[MarkedTest]:
    text = path.read_text(encoding="utf-8")
    if "mark.case(" not in text:
        return
    module = ast.parse(text)
    for owner, test in _functions(module):
        marks = _marks_of_all(module) + [mark for node in (owner, test) if node for mark in node.decorator_list]
        for case in _cases(marks):
            name = f"{owner.name}.{test.name}" if owner is not None else test.name
            is_deep = any(ast.unparse(mark) == "pytest.mark.deep" for mark in marks)
            stores = _stores(path, _fixtures(path) | _fixtures_in(module), test)
            yield MarkedTest(case, path.relative_to(ROOT).as_posix(), name, stores, is_deep)


def _functions(module: ast.Module) -> Iterator[tuple[ast.ClassDef | None, _Definition]]:
    for node in module.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inner:
            if isinstance(function, _Definition) and function.name.startswith("test_"):
                yield (node if isinstance(node, ast.ClassDef) else None), function


def _marks_of_all(module: ast.Module) -> list[ast.expr]:
    """
    What `pytestmark` lays on every test of the file.
    """
    values = [node.value for node in module.body if isinstance(node, ast.Assign) and _is_for_all(node)]
    return [mark for value in values for mark in (value.elts if isinstance(value, ast.List) else [value])]


def _is_for_all(node: ast.Assign) -> bool:
    return [ast.unparse(target) for target in node.targets] == ["pytestmark"]


def _cases(marks: list[ast.expr]) -> list[str]:
    calls = [mark for mark in marks if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case"]
    return [ast.literal_eval(argument) for call in calls for argument in call.args]


def _fixtures(path: Path) -> dict[str, _Definition]:
    """
    The fixtures of all conftest files above the test, the nearest one's first.
    """
    folders = [folder for folder in path.parents if folder.is_relative_to(ROOT / "tests")]
    found: dict[str, _Definition] = {}
    for folder in reversed(folders):
        conftest = folder / "conftest.py"
        if conftest.exists():
            found |= _fixtures_in(ast.parse(conftest.read_text(encoding="utf-8")))
    return found


def _fixtures_in(module: ast.Module) -> dict[str, _Definition]:
    functions = [node for node in ast.walk(module) if isinstance(node, _Definition)]
    return {
        node.name: node
        for node in functions
        if any(ast.unparse(mark).startswith("pytest.fixture") for mark in node.decorator_list)
    }


def _stores(path: Path, fixtures: Mapping[str, _Definition], test: _Definition) -> tuple[str, ...]:
    folder = path.relative_to(ROOT / "tests").parts[0]
    asked = {"*", *_asked_for(test, fixtures)}
    found = {store for name in asked for store in _STORES_OF_FIXTURES.get((folder, name), ())}
    return tuple(store for store in STORES if store in found)


def _asked_for(function: _Definition, fixtures: Mapping[str, _Definition]) -> set[str]:
    """
    The names of the fixtures that a test or a fixture gets, itself or through others.
    """
    asked: set[str] = set()
    waiting = [function]
    while waiting:
        for argument in waiting.pop().args.args:
            if argument.arg not in asked:
                asked.add(argument.arg)
                waiting += [fixtures[argument.arg]] if argument.arg in fixtures else []
    return asked
