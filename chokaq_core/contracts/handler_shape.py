"""
What a handler's signature tells: its model, its colour, its arguments.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeGuard, get_type_hints

from chokaq_core.contracts.job import Job
from chokaq_core.domain.errors import RegistrationError

Function = Callable[..., Any]


def model_of(function: Function, job_type: object = None) -> type[Job]:
    """
    The model of the handler's jobs: the one that is given, else the annotation of its first argument.

    Raises:
        RegistrationError: there is none, or it cannot be found by its name.
    """
    model = job_type if job_type is not None else _annotated(function)
    if not _is_model(model):
        rule = "annotate its first argument with a subclass of Job, or pass job_type="
        if job_type is not None:
            rule = f"job_type= must be a subclass of Job; got {job_type!r}"
        msg = f"handler {_name(function)}: {rule}"
        raise RegistrationError(msg)
    return model


def is_async(function: Function) -> bool:
    """
    Whether it is `async def`, be it a function, a part of one, or an object that is called.
    """
    return any(inspect.iscoroutinefunction(shape) for shape in _shapes(function))


def wants_context(function: Function) -> bool:
    """
    Whether it takes the context behind the job.

    Raises:
        RegistrationError: it can be called neither with (job, ctx) nor with (job), or a call would not run its body.
    """
    _refuse_generator(function)
    if _accepts(function, "job", "ctx"):
        return True
    if _accepts(function, "job"):
        return False
    msg = f"handler {_name(function)}: is called with (job, ctx) or (job); its arguments are {_signature(function)}"
    raise RegistrationError(msg)


def check_pipe(function: Function) -> None:
    """
    Refuses a pipe-mode handler that cannot be called with (type_key, payload_text, ctx).

    Raises:
        RegistrationError: that call does not fit its arguments, or would not run its body.
    """
    _refuse_generator(function)
    if not _accepts(function, "type_key", "payload_text", "ctx"):
        call = "is called with (type_key, payload_text, ctx)"
        msg = f"pipe handler {_name(function)}: {call}; its arguments are {_signature(function)}"
        raise RegistrationError(msg)


def _annotated(function: Function) -> object:
    first = next(iter(_signature(function).parameters.values()), None)
    return _resolved(first.annotation, function) if first is not None else None


def _is_model(value: object) -> TypeGuard[type[Job]]:
    return isinstance(value, type) and issubclass(value, Job)


def _refuse_generator(function: Function) -> None:
    if any(inspect.isgeneratorfunction(shape) or inspect.isasyncgenfunction(shape) for shape in _shapes(function)):
        msg = f"handler {_name(function)}: is a generator, whose body no call runs; return the result, do not yield it"
        raise RegistrationError(msg)


def _signature(function: Function) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        msg = f"handler {_name(function)}: its arguments cannot be told ({error}); wrap it in a function"
        raise RegistrationError(msg) from error


def _accepts(function: Function, *arguments: str) -> bool:
    try:
        _signature(function).bind(*arguments)
    except TypeError:
        return False
    return True


def _resolved(annotation: object, function: Function) -> object:
    """
    The object that an annotation stands for; others of the same function may name what is only there for checkers.
    """
    if not isinstance(annotation, str):
        return annotation
    holder = SimpleNamespace(__annotations__={"job": annotation})
    try:
        return get_type_hints(holder, globalns=_globals(function))["job"]
    except Exception as error:
        name = _name(function)
        msg = f"handler {name}: the annotation of its first argument cannot be resolved ({error}); pass job_type="
        raise RegistrationError(msg) from error


def _globals(function: Function) -> dict[str, Any]:
    inner = inspect.unwrap(_whole(function))
    return getattr(inner if hasattr(inner, "__globals__") else type(inner).__call__, "__globals__", {})


def _shapes(function: Function) -> tuple[object, object]:
    return function, getattr(_whole(function), "__call__", None)  # noqa: B004 - its code is looked at


def _whole(function: Function) -> Any:  # noqa: ANN401 - any callable
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _name(function: object) -> str:
    return getattr(function, "__qualname__", repr(function))
