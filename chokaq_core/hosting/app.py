"""
The one object that a `function_app.py` needs: settings, profiles and triggers become an app.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.config.schedules import schedules_of
from chokaq_core.hosting import triggers
from chokaq_core.hosting.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import azure.functions as func

    from chokaq_core.contracts.middleware import Middleware
    from chokaq_core.contracts.profile import Profile
    from chokaq_core.contracts.serializer import JobSerializer
    from chokaq_core.engine.producer import Producer
    from chokaq_core.operations.job_commands import JobCommands
    from chokaq_core.operations.queue_commands import QueueCommands


class ChokaQ:
    """
    One app's job runner. Making it connects to nothing.

    A mistake in the settings or profiles never raises here, because a host shows an import that raises as "0 functions
    found" and nothing more. All functions are registered, refuse, and say why.

    Args:
        app_folder: the folder of `function_app.py`, `host.json` and, if present, `appsettings.json`.
        profiles: the app's handlers.
        middleware: code around every handler; registered first means outermost.
        pipe: one handler for every job, instead of profiles.
        serializer: replaces the JSON of jobs.
        overrides: settings that win over files and environment, by full name: `{"Retry.MaxAttempts": 5}`.
        environ: the environment; the process's own by default.
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
        self._core = Core(
            app_folder,
            profiles=profiles,
            middleware=middleware,
            pipe=pipe,
            serializer=serializer,
            overrides=overrides,
            environ=environ,
        )

    def register(self, app: func.FunctionApp) -> None:
        """
        Adds every function to an app, whether the settings are valid or not.
        """
        triggers.register(app, self._core, schedules_of(self._core.settings))

    @property
    def problems(self) -> tuple[str, ...]:
        """
        Why every function refuses: what is wrong with settings and profiles, secrets left out; empty where all is well.
        """
        return self._core.problems

    @property
    def producer(self) -> Producer:
        """
        Enqueues jobs from Python, in this app's own functions.

        Raises:
            ConfigurationError: settings or profiles are invalid.
            StoreError: the database is away.
        """
        return self._core.runtime().producer

    @property
    def jobs(self) -> JobCommands:
        """
        The operators' commands to jobs: `chokaq.jobs.run(JobCommand(Verb.RESURRECT, Ids((job_id,))), actor)`.

        Raises:
            ConfigurationError: settings or profiles are invalid.
            StoreError: the database is away.
        """
        return self._core.runtime().jobs

    @property
    def queues(self) -> QueueCommands:
        """
        The operators' commands to queues: `chokaq.queues.change("mail", QueueChange(is_paused=True), actor)`.

        Raises:
            ConfigurationError: settings or profiles are invalid.
            StoreError: the database is away.
        """
        return self._core.runtime().queues

    def stop(self) -> None:
        """
        Drains the engine; for hosts that tell a process before they end it. Does nothing where nothing was started.
        """
        self._core.stop()
