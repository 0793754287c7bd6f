"""
The functions of an app as this host sees them: one handler, one trigger.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.value import Value
from chokaq_core.localhost.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from azure.functions.decorators.function_app import Function

_HTTP_ANSWER = ("http", "$return")


class Handler(Value):
    """
    The user's code, and the name of the argument that its trigger fills.
    """

    name: str
    argument: str
    call: Callable[..., Any]

    @property
    def parameters(self) -> frozenset[str]:
        """
        The names of the handler's own parameters.
        """
        return frozenset(inspect.signature(self.call).parameters)

    @property
    def is_async(self) -> bool:
        """
        Tells whether the handler runs on the event loop rather than in a thread.
        """
        return inspect.iscoroutinefunction(self.call)


class HttpFunction(Value):
    """
    A function behind a route; no methods means all of them.
    """

    handler: Handler
    route: str
    methods: frozenset[str]


class TimerFunction(Value):
    """
    A function behind a schedule, which may still hold `%SETTING%`.
    """

    handler: Handler
    schedule: str
    runs_on_startup: bool
    is_monitored: bool


class QueueFunction(Value):
    """
    A function behind a queue, whose name may still hold `%SETTING%`.
    """

    handler: Handler
    queue_name: str
    connection: str


AnyFunction = HttpFunction | TimerFunction | QueueFunction


class Functions(Value):
    """
    All functions of one app, by trigger.
    """

    http: tuple[HttpFunction, ...]
    timers: tuple[TimerFunction, ...]
    queues: tuple[QueueFunction, ...]

    @property
    def handlers(self) -> tuple[Handler, ...]:
        """
        Every handler of the app.
        """
        functions: tuple[AnyFunction, ...] = (*self.http, *self.timers, *self.queues)
        return tuple(function.handler for function in functions)


def sort_by_trigger(functions: Iterable[Function]) -> Functions:
    """
    Reads the bindings of an app's functions.

    Raises:
        HostError: a function has a trigger or a further binding that this host does not serve.
    """
    found = [_read(function) for function in functions]
    return Functions(
        http=tuple(function for function in found if isinstance(function, HttpFunction)),
        timers=tuple(function for function in found if isinstance(function, TimerFunction)),
        queues=tuple(function for function in found if isinstance(function, QueueFunction)),
    )


def _read(function: Function) -> AnyFunction:
    name = str(function.get_function_name())
    bindings = [json.loads(raw) for raw in function.get_raw_bindings()]
    trigger = next(binding for binding in bindings if binding["type"].endswith("Trigger"))
    _refuse_further_bindings(name, [binding for binding in bindings if binding is not trigger])
    handler = Handler(name=name, argument=trigger["name"], call=function.get_user_function())
    match trigger["type"]:
        case "httpTrigger":
            return _http_function(handler, trigger)
        case "timerTrigger":
            return _timer_function(handler, trigger)
        case "queueTrigger":
            return QueueFunction(handler, trigger["queueName"], trigger["connection"])
        case other:
            raise HostError(f"Function '{name}' has a {other}: the local host serves http, timer and queue triggers.")


def _http_function(handler: Handler, trigger: dict[str, Any]) -> HttpFunction:
    # An empty route stands for the function's name, as on the platform; the root is written "/".
    route = trigger.get("route") or handler.name
    methods = frozenset(str(method).upper() for method in trigger.get("methods") or ())
    return HttpFunction(handler, route.strip("/"), methods)


def _timer_function(handler: Handler, trigger: dict[str, Any]) -> TimerFunction:
    return TimerFunction(
        handler,
        schedule=trigger["schedule"],
        runs_on_startup=bool(trigger.get("runOnStartup", False)),
        is_monitored=bool(trigger.get("useMonitor", True)),
    )


def _refuse_further_bindings(name: str, bindings: list[dict[str, Any]]) -> None:
    for binding in bindings:
        if (binding["type"], binding["name"]) != _HTTP_ANSWER:
            raise HostError(
                f"Function '{name}' has a binding '{binding['name']}' of type {binding['type']}:"
                " beside the trigger, the local host serves only the HTTP answer."
            )
