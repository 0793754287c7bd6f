"""
The names and types in a Bicep file, without a compiler: what is declared, what is used, and what an expression gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.infra import parsed

KEYWORDS = {
    "array", "bool", "existing", "false", "for", "if", "in", "int", "module", "null", "object", "output", "param",
    "resource", "string", "targetScope", "true", "var",
}  # fmt: skip
FUNCTIONS = {
    "allowed", "contains", "description", "empty", "environment", "guid", "items", "json", "loadJsonContent",
    "loadTextContent", "maxLength", "maxValue", "minLength", "minValue", "replace", "resourceGroup", "split",
    "startsWith", "string", "subscription", "subscriptionResourceId", "tenant", "toLower", "toObject", "union",
    "uniqueString",
}  # fmt: skip
"""Those that the templates use; a new one is looked up before it is added."""

_LITERALS = {bool: "bool", int: "int", list: "array"}
_RESULTS = {"split": "array", "toLower": "string", "toObject": "object", "union": "object", "uniqueString": "string"}

_COMMENT = re.compile(r"(?m)^\s*#disable-[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)
_DECLARED = re.compile(r"^(param|var|resource|module|output) (\w+)", re.MULTILINE)
_LOCAL = re.compile(r"\bfor (?:\((\w+), (\w+)\)|(\w+)) in\b|\b(\w+) =>")
_WORD = re.compile(r"(?<![\w.@?])([A-Za-z_]\w*)\b(?!\s*:(?!:))")
_BEFORE_COLON = re.compile(r"(?:\?[^?:\n]*?|\bin )(?<![\w.@])([A-Za-z_]\w*)\s*:")
"""What ends the middle of a condition, or names what a loop runs over: no key of an object, in spite of its colon."""
_HOLE = re.compile(r"\$\{((?:[^{}']|'[^']*')*)\}")


@dataclass(frozen=True, slots=True)
class Names:
    """
    The names of one file.

    Attributes:
        declared: symbols, each with the word that declares it: param, var, resource, module or output.
        used: the names that expressions read, without those of properties.
    """

    declared: dict[str, str]
    used: frozenset[str]

    @property
    def unknown(self) -> set[str]:
        """
        What nothing declares.
        """
        return set(self.used) - self.declared.keys() - KEYWORDS - FUNCTIONS

    @property
    def unused(self) -> set[str]:
        """
        Parameters and variables that nothing reads.
        """
        return {name for name, word in self.declared.items() if word in {"param", "var"}} - self.used


class Types:
    """
    The types of expressions of one file, as pycep takes them apart. It does not tell a name from a string of that text.
    """

    def __init__(self, path: Path) -> None:
        """
        Reads the file.
        """
        self._folder = path.parent
        self._file = parsed(path)

    def type_of(self, value: object) -> str:
        """
        What an expression gives: string, int, bool, array or object; where it is another, how pycep shows it.
        """
        if isinstance(value, dict):
            return self._of_expression(value)
        if isinstance(value, str):
            return self._of_name(value)
        return _LITERALS.get(type(value), str(value))

    def _of_name(self, name: str) -> str:
        if name in self._file["parameters"]:
            return str(self._file["parameters"][name]["type"])
        if name in self._file["variables"]:
            return self.type_of(self._file["variables"][name]["value"])
        return "string"

    def _of_expression(self, value: dict[str, Any]) -> str:
        if "function" in value:
            return _RESULTS.get(value["function"]["type"], str(value))
        if "operator" not in value:
            return "object"
        operands = value["operator"]["operands"]
        if value["operator"]["type"] == "conditional":
            branches = {self.type_of(operands[name]) for name in ("true_value", "false_value")}
            return branches.pop() if len(branches) == 1 else str(value)
        return self._of_output(operands["operand_1"], operands["operand_2"])

    def _of_output(self, module: str, accessor: dict[str, Any]) -> str:
        path = self._folder / self._file["modules"][module]["detail"]["path"]
        return str(parsed(path)["outputs"][accessor["operator"]["operands"]["operand_2"]]["type"])


def names_in(path: Path) -> Names:
    """
    Reads a file.
    """
    return names_of(path.read_text(encoding="utf-8"))


def names_of(text: str) -> Names:
    """
    The names of a text.
    """
    code = "\n".join(_code(text))
    declared = {name: word for word, name in _DECLARED.findall(code) if word != "output"}
    local = {name for groups in _LOCAL.findall(code) for name in groups if name}
    body = _DECLARED.sub("", code)
    words = set(_WORD.findall(body)) | set(_BEFORE_COLON.findall(body))
    return Names(declared, frozenset(words - local))


def _code(text: str) -> Iterator[str]:
    """
    The text without strings and comments, and after it what stands in the holes of strings.
    """
    plain, holes = [], []
    rest = text
    while rest:
        quote, comment = rest.find("'"), _COMMENT.search(rest)
        if comment is not None and (quote < 0 or comment.start() < quote):
            plain.append(rest[: comment.start()])
            rest = rest[comment.end() :]
        elif quote >= 0:
            end = _end_of_string(rest, quote)
            plain.append(rest[:quote] + "''")
            holes += _HOLE.findall(rest[quote:end])
            rest = rest[end:]
        else:
            plain.append(rest)
            break
    yield "".join(plain)
    for hole in holes:
        yield from _code(hole)


def _end_of_string(text: str, start: int) -> int:
    """
    Where a string that begins at `start` ends; within a hole there may be strings again.
    """
    at = start + 1
    while text[at] != "'":
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            at = _end_of_hole(text, at + 2)
        else:
            at += 1
    return at + 1


def _end_of_hole(text: str, at: int) -> int:
    while text[at] != "}":
        at = _end_of_string(text, at) if text[at] == "'" else at + 1
    return at + 1
