"""
The worker's queue trigger and the timers. Each does one thing of the engine, and says why when it does nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.domain.errors import ConfigurationError, StoreError
from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chokaq_core.config.schedules import Schedules
    from chokaq_core.hosting.core import Core
    from chokaq_core.hosting.runtime import Runtime

WAKE_CONNECTION = "AzureWebJobsStorage"
DEFAULT_WAKE_QUEUE = "chokaq-wake"
_SHOWN_CHARACTERS = 100


def register(app: func.FunctionApp, core: Core, schedules: Schedules) -> None:
    """
    Adds the worker and the timers to an app.
    """
    queue = core.settings.functions.wake_queue_name if core.settings is not None else DEFAULT_WAKE_QUEUE

    @app.function_name("chokaq_worker")
    @app.queue_trigger(arg_name="wake", queue_name=queue, connection=WAKE_CONNECTION)
    def chokaq_worker(wake: func.QueueMessage) -> None:
        if not is_wake(wake.get_body()):
            shown = ascii(wake.get_body()[:_SHOWN_CHARACTERS])
            core.events.publish([Event(EventName.WAKE_MALFORMED, facts={"message_id": wake.id, "body": shown})])
            return
        with _runtime(core, "chokaq_worker") as runtime:
            if runtime is not None:
                runtime.engine.attend()

    @app.function_name("chokaq_poll")
    @app.timer_trigger(arg_name="timer", schedule=schedules.poll, run_on_startup=False)
    def chokaq_poll(timer: func.TimerRequest) -> None:  # noqa: ARG001 - the platform passes it by this name
        with _runtime(core, "chokaq_poll") as runtime:
            if runtime is not None and not runtime.poll.scan():
                runtime.engine.attend()

    @app.function_name("chokaq_heartbeat")
    @app.timer_trigger(arg_name="timer", schedule=schedules.heartbeat, run_on_startup=False)
    def chokaq_heartbeat(timer: func.TimerRequest) -> None:  # noqa: ARG001
        with _runtime(core, "chokaq_heartbeat") as runtime:
            if runtime is not None:
                runtime.pulse.scan()

    @app.function_name("chokaq_rescue")
    @app.timer_trigger(arg_name="timer", schedule=schedules.rescue, run_on_startup=False)
    def chokaq_rescue(timer: func.TimerRequest) -> None:  # noqa: ARG001
        with _runtime(core, "chokaq_rescue") as runtime:
            if runtime is not None:
                runtime.rescue.scan()


def is_wake(body: bytes) -> bool:
    """
    Whether a queue message is a wake: a JSON object of version 1, as plain text or base64.
    """
    return _is_version_1(body) or _is_version_1(_unpacked(body))


@contextmanager
def _runtime(core: Core, function: str) -> Iterator[Runtime | None]:
    """
    The runtime, or None when the settings are invalid or the store is away: told once, and the invocation ends well.

    An error here would only send the wake into the poison queue and make a timer's host repeat it.
    """
    try:
        runtime = core.runtime()
    except ConfigurationError as error:
        _skipped(core, function, error)
        runtime = None
    except StoreError as error:
        _skipped(core, function, error)
        runtime = None
    try:
        yield runtime
    except StoreError as error:
        _skipped(core, function, error)


def _skipped(core: Core, function: str, error: Exception) -> None:
    core.events.publish([Event(EventName.INVOCATION_SKIPPED, facts={"function": function}, error=error)])


def _unpacked(body: bytes) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        return b""


def _is_version_1(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("v") == 1
