"""
What the Azure host checks when it reads an app's functions and the Python library does not: refused here as there.

In Azure a broken rule shows as a function that is missing, or as "0 functions found"; here each one is named.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from itertools import combinations
from typing import TYPE_CHECKING

from chokaq_core.localhost.environment import resolve_settings
from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.routes import parse_route
from chokaq_core.localhost.schedules import parse_schedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chokaq_core.localhost.functions import Functions, Handler, HttpFunction, TimerFunction

_FUNCTION_NAME = re.compile(r"[a-z][a-z0-9_-]{0,127}", re.IGNORECASE)
# Hosts from 4.1038 on take underscores as well; older ones are still about.
_ARGUMENT_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]{0,127}")
_RESERVED_ROUTES = ("admin", "runtime")


def check_host_rules(functions: Functions, environ: Mapping[str, str]) -> None:
    """
    Refuses an app that the Azure host would refuse, wholly or in part.

    Raises:
        HostError: at least one rule is broken; the text lists every one.
    """
    broken = list(broken_rules(functions, environ))
    if broken:
        raise HostError("\n  ".join(["The Functions host would refuse this app:", *broken]))


def broken_rules(functions: Functions, environ: Mapping[str, str]) -> Iterator[str]:
    """
    Names every broken rule, one text each.
    """
    yield from _duplicate_names(functions)
    for handler in functions.handlers:
        yield from _broken_names(handler)
        yield from _broken_parameters(handler)
    for http in functions.http:
        yield from _broken_route(http)
    yield from _conflicting_routes(functions.http)
    for timer in functions.timers:
        yield from _broken_schedule(timer, environ)
    for queue in functions.queues:
        yield from _unresolved(queue.handler, queue.queue_name, environ)


def _duplicate_names(functions: Functions) -> Iterator[str]:
    counts = Counter(handler.name.lower() for handler in functions.handlers)
    yield from (f"Two functions are named '{name}': letter case does not count." for name, n in counts.items() if n > 1)


def _broken_names(handler: Handler) -> Iterator[str]:
    if handler.name.lower() == "host":
        yield "A function may not be named 'host'."
    if not _FUNCTION_NAME.fullmatch(handler.name):
        yield (
            f"Function '{handler.name}': the name must begin with a letter and go on with letters, digits, '_' or '-',"
            " up to 128 characters."
        )
    if not _ARGUMENT_NAME.fullmatch(handler.argument):
        yield (
            f"Function '{handler.name}': the argument name '{handler.argument}' may hold only letters and digits,"
            " a letter first."
        )


def _broken_parameters(handler: Handler) -> Iterator[str]:
    if handler.argument not in handler.parameters:
        yield f"Function '{handler.name}': its trigger fills '{handler.argument}', which the handler does not take."
    for parameter in sorted(handler.parameters - {handler.argument, "context"}):
        yield f"Function '{handler.name}': nothing fills the parameter '{parameter}'."


def _broken_route(function: HttpFunction) -> Iterator[str]:
    if function.route.lower().startswith(_RESERVED_ROUTES):
        yield (
            f"Function '{function.handler.name}': the route '{function.route}' conflicts with built-in routes,"
            " since it begins with 'admin' or 'runtime'."
        )
    try:
        parse_route(function.route)
    except HostError as error:
        yield f"Function '{function.handler.name}': {error}."


def _conflicting_routes(functions: tuple[HttpFunction, ...]) -> Iterator[str]:
    for first, second in combinations(functions, 2):
        if first.route.lower() == second.route.lower() and _methods_overlap(first.methods, second.methods):
            yield (
                f"Function '{second.handler.name}': the route '{second.route}' conflicts with the route of"
                f" function '{first.handler.name}'."
            )


def _methods_overlap(first: frozenset[str], second: frozenset[str]) -> bool:
    return not first or not second or bool(first & second)


def _broken_schedule(timer: TimerFunction, environ: Mapping[str, str]) -> Iterator[str]:
    try:
        parse_schedule(resolve_settings(timer.schedule, environ), datetime.now(UTC))
    except HostError as error:
        yield f"Function '{timer.handler.name}': {error}."


def _unresolved(handler: Handler, text: str, environ: Mapping[str, str]) -> Iterator[str]:
    try:
        resolve_settings(text, environ)
    except HostError as error:
        yield f"Function '{handler.name}': {error}."
