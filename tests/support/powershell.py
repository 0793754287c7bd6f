"""
PowerShell as tests look at it: whether a script parses, and which programs it starts in which order.

No PowerShell is needed: the grammar is the one that editors colour scripts with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_powershell.language()))
_WORDS = {"command_name", "command_name_expr", "command_parameter", "generic_token", "string_literal", "variable"}

Values = Mapping[str, list[str]]
"""The words that a variable stands for, by its name in small letters; a splatted one has its name with `@`."""


class Script:
    """
    One script. Its functions are followed where they are called; conditions are not looked at.
    """

    def __init__(self, path: Path) -> None:
        """
        Reads and parses it.
        """
        self._root = _PARSER.parse(path.read_bytes()).root_node
        self._functions = {
            _text(_child(node, "function_name")): node for node in _inside(self._root, "function_statement")
        }

    def faults(self) -> list[str]:
        """
        The places that are no PowerShell, by line.
        """
        wrong = [node for node in _all(self._root) if node.is_error or node.is_missing]
        return [f"line {node.start_point.row + 1}: {_text(node)}" for node in wrong]

    def started(self, values: Values) -> list[str]:
        """
        The programs that it starts, with their arguments, in order: `az`, and what `&` calls.

        A redirection counts as an argument.
        """
        return [" ".join(words) for words in self._started(self._root, values)]

    def calls_in(self, type_name: str) -> list[str]:
        """
        The names of what is called directly within the only node of a type, such as `finally_clause`.
        """
        (node,) = _inside(self._root, type_name)
        within = [] if type_name == "finally_clause" else list(_inside(node, "finally_clause"))
        calls = [call for call in _inside(node, "command") if not any(_is_within(call, other) for other in within)]
        return [_text(_child(call, "command_name")) for call in calls]

    def _started(self, node: Node, values: Values) -> Iterator[list[str]]:
        for child in node.children:
            if child.type == "command":
                yield from self._of_call(child, values)
            elif child.type != "function_statement":
                yield from self._started(child, values)

    def _of_call(self, call: Node, values: Values) -> Iterator[list[str]]:
        name, *arguments = _arguments(call, values)
        if name[0] in self._functions:
            body = self._functions[name[0]]
            yield from self._started(body, {**values, **_bound(body, arguments)})
        elif name == ["az"] or call.children[0].type == "command_invokation_operator":
            yield [*name, *(word for words in arguments for word in words)]


def _arguments(call: Node, values: Values) -> list[list[str]]:
    """
    The name of a call and its arguments; an argument that is a list is one of several words.
    """
    elements = [child for child in call.children if child.type in {"command_name", "command_name_expr"}]
    for part in call.children:
        if part.type == "command_elements":
            elements += [child for child in part.children if child.type != "command_argument_sep"]
    return [_words(element, values) for element in elements]


def _words(node: Node, values: Values) -> list[str]:
    if node.type == "variable":
        return values.get(_text(node).lower(), [_text(node)])
    inner = [child for child in node.children if _holds_words(child)]
    if node.type in _WORDS and not inner:
        return [_text(node).strip("'")]
    return [word for child in inner for word in _words(child, values)]


def _holds_words(node: Node) -> bool:
    return any(inner.type in _WORDS for inner in _all(node))


def _bound(function: Node, arguments: list[list[str]]) -> dict[str, list[str]]:
    names = [_text(_child(node, "variable")).lower() for node in _inside(function, "script_parameter")]
    pairs = list(zip(names, arguments, strict=True))
    return dict(pairs) | {name.replace("$", "@"): words for name, words in pairs}


def _inside(node: Node, type_name: str) -> Iterator[Node]:
    return (inner for inner in _all(node) if inner.type == type_name)


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def _child(node: Node, type_name: str) -> Node:
    return next(child for child in node.children if child.type == type_name)


def _is_within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _text(node: Node) -> str:
    return (node.text or b"").decode()
