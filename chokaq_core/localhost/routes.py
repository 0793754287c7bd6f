"""
Route templates as the Functions host reads them (`jobs/{id}`, `{id:guid}`, `{page?}`, `{*rest}`), and their matching.

Letters match in any case, values keep theirs; the more literal route wins, whatever the order of definition.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from chokaq_core.domain.value import Value
from chokaq_core.localhost.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.localhost.functions import HttpFunction

_CONSTRAINTS = {
    "": "[^/]+?",
    "alpha": "[A-Za-z]+",
    "bool": "true|false",
    "guid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32}",
    "int": r"[+-]?\d{1,10}",
    "long": r"[+-]?\d{1,19}",
}
_PLACEHOLDER = re.compile(r"\{(?P<star>\*?)(?P<name>[A-Za-z_]\w*)(?::(?P<constraint>[^{}?]*))?(?P<optional>\??)\}")

# How a segment ranks among its neighbours: the smaller, the more literal.
_LITERAL, _CONSTRAINED, _PLAIN, _REST = range(4)


class Route(Value):
    """
    A template made ready: the pattern that a path must match, and its rank among the routes of an app.
    """

    pattern: re.Pattern[str]
    rank: tuple[int, ...]


class RouteMatch(Value):
    """
    The function that a request is for, and the values of the placeholders in its route.
    """

    function: HttpFunction
    values: dict[str, str]


class RouteTable:
    """
    The routes of one app under their common prefix.
    """

    def __init__(self, functions: Iterable[HttpFunction], prefix: str) -> None:
        routes = [(parse_route(f"{prefix}/{function.route}".strip("/")), function) for function in functions]
        self._routes = sorted(routes, key=lambda entry: entry[0].rank)

    def match(self, method: str, raw_path: str) -> RouteMatch | None:
        """
        Finds the function for a method and a path as it came over the wire; None means 404, for a wrong method too.
        """
        path = _decoded(raw_path)
        for route, function in self._routes:
            found = route.pattern.fullmatch(path)
            if found and (method in function.methods or not function.methods):
                values = {name: value for name, value in found.groupdict().items() if value}
                return RouteMatch(function, values)
        return None


def parse_route(template: str) -> Route:
    """
    Reads a route template.

    Raises:
        HostError: a placeholder is malformed, misplaced, named twice, or has a constraint that this host does not know.
    """
    segments = template.split("/") if template else []
    for segment in segments[:-1]:
        _refuse_ending_placeholder(segment, template)
    try:
        pattern = re.compile("".join(_segment_pattern(segment, template) for segment in segments), re.IGNORECASE)
    except re.error as error:
        raise HostError(f"the route '{template}' names a placeholder twice") from error
    return Route(pattern, tuple(_segment_rank(segment) for segment in segments))


def _segment_pattern(segment: str, template: str) -> str:
    whole = _PLACEHOLDER.fullmatch(segment)
    if whole and whole["star"]:
        return f"(?:/(?P<{whole['name']}>.*))?"
    if whole and whole["optional"]:
        return f"(?:/{_placeholder_pattern(whole, template)})?"
    return "/" + "".join(_part_patterns(segment, template))


def _part_patterns(segment: str, template: str) -> Iterable[str]:
    at = 0
    for placeholder in _PLACEHOLDER.finditer(segment):
        if placeholder["star"] or placeholder["optional"]:
            raise HostError(f"the route '{template}' mixes '{placeholder[0]}' with other text in one segment")
        yield _literal_pattern(segment[at : placeholder.start()], template)
        yield _placeholder_pattern(placeholder, template)
        at = placeholder.end()
    yield _literal_pattern(segment[at:], template)


def _literal_pattern(text: str, template: str) -> str:
    if set(text) & set("{}?*"):
        raise HostError(f"the route '{template}' has a malformed placeholder near '{text}'")
    return re.escape(text)


def _placeholder_pattern(placeholder: re.Match[str], template: str) -> str:
    constraint = placeholder["constraint"] or ""
    if constraint not in _CONSTRAINTS:
        known = ", ".join(sorted(filter(None, _CONSTRAINTS)))
        raise HostError(f"the route '{template}' has the constraint '{constraint}': this host knows {known}")
    return f"(?P<{placeholder['name']}>{_CONSTRAINTS[constraint]})"


def _refuse_ending_placeholder(segment: str, template: str) -> None:
    whole = _PLACEHOLDER.fullmatch(segment)
    if whole and (whole["star"] or whole["optional"]):
        raise HostError(f"the route '{template}' has '{segment}' before its end")


def _segment_rank(segment: str) -> int:
    whole = _PLACEHOLDER.fullmatch(segment)
    if whole is None:
        return _CONSTRAINED if "{" in segment else _LITERAL
    if whole["star"]:
        return _REST
    return _CONSTRAINED if whole["constraint"] else _PLAIN


def _decoded(raw_path: str) -> str:
    # An encoded slash belongs to a value and stays encoded, as the platform keeps it.
    kept = re.sub("%2f", "%252F", raw_path, flags=re.IGNORECASE)
    return unquote(kept).rstrip("/")
