"""
What all functions of an app share: settings, profiles, events, and the runtime that the first use makes.
"""

from __future__ import annotations

import logging
import os
import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from chokaq_core.config import load_settings
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.errors import ConfigurationError, RegistrationError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.hosting.invocations import Invocations
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.telemetry import build_telemetry
from chokaq_core.telemetry.setup import Targets, flush, turn_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from chokaq_core.config import Settings
    from chokaq_core.contracts.middleware import Middleware
    from chokaq_core.contracts.profile import Profile
    from chokaq_core.contracts.serializer import JobSerializer
    from chokaq_core.hosting.health import Health
    from chokaq_core.hosting.runtime import Runtime
    from chokaq_core.ports import Store

_log = logging.getLogger("chokaq")

Listed = TypeVar("Listed")

FLUSH_TIMEOUT = timedelta(seconds=3)
"""What an invocation waits at its end for telemetry to be sent."""
LISTED_IN_A_LINE = 30
"""Of settings or problems: a line holds at most 50 of a list, and Application Insights cuts it at 32 768 characters."""
SQLITE, SQL_SERVER = "sqlite", "mssql"
"""Databases as OpenTelemetry names them."""


class Core:
    """
    Validates everything at cold start and connects at the first use. The arguments are those of `ChokaQ`.

    Attributes:
        settings: None when they are invalid.
        problems: why nothing works, by the full names of settings; empty when all is well.
        exports: where telemetry goes; nowhere before the first use.
        invocations: those that the engine's threads work for.
    """

    def __init__(
        self,
        app_folder: Path,
        *,
        profiles: Iterable[Profile] = (),
        middleware: Sequence[Middleware] = (),
        pipe: Callable[..., Any] | None = None,
        serializer: JobSerializer | None = None,
        overrides: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._middleware = middleware
        self._serializer = serializer
        self._runtime_lock = threading.Lock()
        self._store_lock = threading.Lock()
        self._exports_lock = threading.Lock()
        self._has_turned_exports_on = False
        self._runtime: Runtime | None = None
        self._store: Store | None = None
        self._health: Health | None = None
        self.invocations = Invocations()
        self.exports = Targets()
        self.problems: tuple[str, ...] = ()
        self.settings = self._load(app_folder, overrides)
        self._catalog = self._resolve(profiles, pipe)
        rules = self.settings.metrics if self.settings is not None else MetricRules()
        self.telemetry = build_telemetry(rules, mark_thread=self.invocations.mark_thread)
        self.events = self.telemetry.events
        if self.problems:
            self.events.publish(_invalid(self.problems))
        elif self.settings is not None:
            self.events.publish(_loaded(self.settings))

    def runtime(self) -> Runtime:
        """
        The connected parts, made at the first call and shared by all functions of the process.

        Raises:
            ConfigurationError: settings or profiles are invalid.
            StoreError: the store could not be made ready; the next call tries again.
        """
        self.turn_exports_on()
        settings, catalog = self._valid()
        from chokaq_core.hosting.runtime import build_runtime  # noqa: PLC0415 - a cold start that refuses needs no engine

        store = self.store()
        with self._runtime_lock:
            if self._runtime is None:
                self._runtime = build_runtime(
                    store,
                    settings,
                    catalog,
                    self.telemetry,
                    self._environ,
                    middleware=self._middleware,
                    serializer=self._serializer,
                    mark_thread=self.invocations.mark_thread,
                )
            return self._runtime

    def store(self) -> Store:
        """
        The store, opened at the first call, whether its schema is ready or not.

        Raises:
            ConfigurationError: settings or profiles are invalid.
        """
        settings, _ = self._valid()
        from chokaq_core.hosting.stores import open_store  # noqa: PLC0415 - as above
        from chokaq_core.telemetry.traced_store import traced  # noqa: PLC0415 - as above

        with self._store_lock:
            if self._store is None:
                system = SQLITE if settings.sqlserver is None else SQL_SERVER
                self._store = traced(open_store(settings, self.events), self.telemetry.tracing, system)
            return self._store

    def turn_exports_on(self) -> None:
        """
        Turns exports on, once in a process: also where settings are invalid or the store is away, or nobody would hear.
        """
        from chokaq_core.hosting.azure_monitor import turn_on_azure_monitor  # noqa: PLC0415 - as below

        with self._exports_lock:
            if not self._has_turned_exports_on:
                self._has_turned_exports_on = True
                self.exports = turn_on(self._environ, turn_on_azure_monitor)

    def health(self) -> Health:
        """
        The health checks of this process.

        Raises:
            ConfigurationError: settings or profiles are invalid.
        """
        settings, _ = self._valid()
        from chokaq_core.hosting.health import Health  # noqa: PLC0415 - as above

        with self._store_lock:
            if self._health is None:
                self._health = Health(settings, self.store, self.events)
            return self._health

    def flush(self) -> None:
        """
        Sends what telemetry waits to be sent, within a bound: an idle process may be ended without a word.
        """
        if self.exports:
            flush(FLUSH_TIMEOUT)

    @property
    def environ(self) -> Mapping[str, str]:
        """
        The environment of the process, in which the platform says how it guards the app.
        """
        return self._environ

    @property
    def catalog(self) -> Catalog:
        """
        The app's registrations.

        Raises:
            ConfigurationError: settings or profiles are invalid.
        """
        return self._valid()[1]

    def stop(self) -> None:
        """
        Drains the engine; for hosts that tell a process before they end it. Does nothing where nothing was started.
        """
        with self._runtime_lock:
            runtime = self._runtime
        if runtime is not None:
            runtime.stop()

    def _valid(self) -> tuple[Settings, Catalog]:
        if self.settings is None or self._catalog is None:
            raise ConfigurationError(self.problems)
        return self.settings, self._catalog

    def _load(self, app_folder: Path, overrides: Mapping[str, object] | None) -> Settings | None:
        try:
            settings = load_settings(app_folder, self._environ, overrides)
        except ConfigurationError as error:
            self.problems += error.problems
            return None
        for warning in settings.warnings:
            _log.warning(warning)
        return settings

    def _resolve(self, profiles: Iterable[Profile], pipe: Callable[..., Any] | None) -> Catalog | None:
        is_strict = self.settings is None or self.settings.require_registered_types
        try:
            return Catalog(
                profiles,
                pipe=pipe,
                require_registered_types=is_strict,
                idempotency=self.settings.idempotency if self.settings is not None else None,
            )
        except RegistrationError as error:
            self.problems += (f"profiles: {error}",)
            return None


def _invalid(problems: Sequence[str]) -> list[Event]:
    """
    All problems, few in a line: a line is cut where it grows long, and no problem may be lost by that.
    """
    return [Event(EventName.CONFIGURATION_INVALID, facts={"problems": part}) for part in _parts(problems)]


def _loaded(settings: Settings) -> list[Event]:
    """
    The effective settings, secrets masked, and where each that is not a default came from; few in a line, too.
    """
    facts = (
        {
            "effective": {setting.name: setting.shown for setting in part},
            "sources": {setting.name: setting.source for setting in part if setting.source != "default"},
        }
        for part in _parts(settings.effective())
    )
    return [Event(EventName.CONFIGURATION_LOADED, facts=part) for part in facts]


def _parts(listed: Sequence[Listed]) -> list[list[Listed]]:
    starts = range(0, len(listed), LISTED_IN_A_LINE)
    return [list(listed[start : start + LISTED_IN_A_LINE]) for start in starts]
