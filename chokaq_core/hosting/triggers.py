"""
Every function of the app: its name, its trigger, and the one thing that it does.

What a function needs is imported when it is first called, so that a cold start pays only for what it uses.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.domain.errors import ConfigurationError, StoreError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.hosting.deck_routes import DECK_ROUTES
from chokaq_core.hosting.parent import parent_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chokaq_core.config.schedules import Schedules
    from chokaq_core.hosting.core import Core
    from chokaq_core.hosting.deck_routes import DeckRoute
    from chokaq_core.hosting.runtime import Runtime

WAKE_CONNECTION = "AzureWebJobsStorage"
DEFAULT_WAKE_QUEUE = "chokaq-wake"


def register(app: func.FunctionApp, core: Core, schedules: Schedules) -> None:
    """
    Adds all functions to an app.
    """
    _register_worker(app, core)
    _register_timers(app, core, schedules)
    _register_jobs(app, core)
    _register_health(app, core)
    _register_api(app, core)
    _register_deck_page(app, core)
    for route in DECK_ROUTES:
        _register_deck_route(app, core, route)


def _register_worker(app: func.FunctionApp, core: Core) -> None:
    queue = core.settings.functions.wake_queue_name if core.settings is not None else DEFAULT_WAKE_QUEUE

    @app.function_name("chokaq_worker")
    @app.queue_trigger(arg_name="wake", queue_name=queue, connection=WAKE_CONNECTION)
    def chokaq_worker(wake: func.QueueMessage, context: func.Context) -> None:
        from chokaq_core.hosting.wake_text import malformed  # noqa: PLC0415 - see the module

        fault = malformed(wake)
        if fault is not None:
            core.events.publish([fault])
            return
        with _runtime(core, "chokaq_worker", context) as runtime:
            if runtime is not None:
                runtime.engine.attend()


def _register_timers(app: func.FunctionApp, core: Core, schedules: Schedules) -> None:
    @app.function_name("chokaq_poll")
    @app.timer_trigger(arg_name="timer", schedule=schedules.poll, run_on_startup=False)
    def chokaq_poll(timer: func.TimerRequest, context: func.Context) -> None:  # noqa: ARG001 - the host's name
        with _runtime(core, "chokaq_poll", context) as runtime:
            if runtime is not None and not runtime.poll.scan():
                runtime.engine.attend()

    @app.function_name("chokaq_heartbeat")
    @app.timer_trigger(arg_name="timer", schedule=schedules.heartbeat, run_on_startup=False)
    def chokaq_heartbeat(timer: func.TimerRequest, context: func.Context) -> None:  # noqa: ARG001
        with _runtime(core, "chokaq_heartbeat", context) as runtime:
            if runtime is not None:
                runtime.pulse.scan()
                runtime.readings.refresh()

    @app.function_name("chokaq_rescue")
    @app.timer_trigger(arg_name="timer", schedule=schedules.rescue, run_on_startup=False)
    def chokaq_rescue(timer: func.TimerRequest, context: func.Context) -> None:  # noqa: ARG001
        with _runtime(core, "chokaq_rescue", context) as runtime:
            if runtime is not None:
                runtime.rescue.scan()

    @app.function_name("chokaq_maintenance")
    @app.timer_trigger(arg_name="timer", schedule=schedules.maintenance, run_on_startup=False)
    def chokaq_maintenance(timer: func.TimerRequest, context: func.Context) -> None:  # noqa: ARG001
        with _runtime(core, "chokaq_maintenance", context) as runtime:
            if runtime is not None:
                runtime.maintenance.run()


def _register_jobs(app: func.FunctionApp, core: Core) -> None:
    @app.function_name("chokaq_enqueue")
    @app.route(route="jobs", methods=["POST"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_enqueue(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
        from chokaq_core.hosting import http_jobs  # noqa: PLC0415

        with _traced(core, context):
            return http_jobs.enqueue(req, core)

    @app.function_name("chokaq_enqueue_batch")
    @app.route(route="jobs/batch", methods=["POST"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_enqueue_batch(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
        from chokaq_core.hosting import http_jobs  # noqa: PLC0415

        with _traced(core, context):
            return http_jobs.enqueue_batch(req, core)

    @app.function_name("chokaq_job")
    @app.route(route="jobs/{id}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_job(req: func.HttpRequest) -> func.HttpResponse:
        from chokaq_core.hosting import http_jobs  # noqa: PLC0415

        return http_jobs.show(req, core)

    @app.function_name("chokaq_cancel")
    @app.route(route="jobs/{id}", methods=["DELETE"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_cancel(req: func.HttpRequest) -> func.HttpResponse:
        from chokaq_core.hosting import http_jobs  # noqa: PLC0415

        return http_jobs.cancel(req, core)


def _register_health(app: func.FunctionApp, core: Core) -> None:
    @app.function_name("chokaq_health")
    @app.route(route="health", methods=["GET", "HEAD"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_health(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001
        from chokaq_core.hosting import http_health  # noqa: PLC0415

        return http_health.health(core)

    @app.function_name("chokaq_live")
    @app.route(route="health/live", methods=["GET", "HEAD"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_live(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001
        from chokaq_core.hosting import http_health  # noqa: PLC0415

        return http_health.live()


def _register_api(app: func.FunctionApp, core: Core) -> None:
    @app.function_name("chokaq_openapi")
    @app.route(route="openapi.json", methods=["GET"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_openapi(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001
        from chokaq_core.hosting import openapi  # noqa: PLC0415

        return openapi.openapi(core)


def _register_deck_page(app: func.FunctionApp, core: Core) -> None:
    @app.function_name("chokaq_deck_page")
    @app.route(route="deck", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
    def chokaq_deck_page(req: func.HttpRequest) -> func.HttpResponse:
        from chokaq_core.hosting import deck_page  # noqa: PLC0415

        return deck_page.page(req, core)

    @app.function_name("chokaq_deck_asset")
    @app.route(route="deck/assets/{name}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
    def chokaq_deck_asset(req: func.HttpRequest) -> func.HttpResponse:
        from chokaq_core.hosting import deck_page  # noqa: PLC0415

        return deck_page.asset(req, core)


def _register_deck_route(app: func.FunctionApp, core: Core, route: DeckRoute) -> None:
    # Open to the host, which knows no roles: `deck` itself tells callers apart.
    @app.function_name(route.function_name)
    @app.route(route=route.route, methods=[route.method], auth_level=func.AuthLevel.ANONYMOUS)
    def chokaq_deck(req: func.HttpRequest) -> func.HttpResponse:
        from chokaq_core.hosting import deck  # noqa: PLC0415

        return deck.serve(route, req, core)


@contextmanager
def _runtime(core: Core, function: str, context: func.Context) -> Iterator[Runtime | None]:
    """
    The runtime, or None when the settings are invalid or the store is away: told, and the invocation ends well.

    An error here would only send the wake into the poison queue and make a timer's host repeat it.
    """
    with _traced(core, context), core.invocations.during(context):
        try:
            runtime = core.runtime()
        except (ConfigurationError, StoreError) as error:
            core.events.publish([_skipped(function, error)])
            runtime = None
        try:
            yield runtime
        except StoreError as error:
            core.events.publish([_skipped(function, error)])
        finally:
            core.flush()


@contextmanager
def _traced(core: Core, context: func.Context) -> Iterator[None]:
    """
    Makes the invocation's span the parent of what happens inside, from the first invocation of a process on.
    """
    core.turn_exports_on()
    with parent_of(context):
        yield


def _skipped(function: str, error: Exception) -> Event:
    return Event(EventName.INVOCATION_SKIPPED, facts={"function": function}, error=error)
