"""
What the rows of settings at work share: one setting, an app to try it in, and a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from chokaq_core.config import Settings, load_settings
from chokaq_core.contracts import Job, Profile
from chokaq_core.hosting.core import Core
from chokaq_core.policy.sqlserver import SqlServerSettings
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.stages import Stage
from tests.support.clock import SteppedClock

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

CONNECTION = "Server=db.invalid;Database=jobs;User ID=app;Password=secret"
ON_SQL_SERVER = {"SqlServer.ConnectionString": CONNECTION}


class Note(Job):
    text: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """
    An app's folder and settings, in which a row looks at what happens.
    """

    folder: Path
    given: Mapping[str, str]

    @property
    def environ(self) -> dict[str, str]:
        """
        The environment of the app.
        """
        return {"ChokaQ__" + name.replace(".", "__"): value for name, value in self.given.items()}

    @property
    def settings(self) -> Settings:
        """
        The settings that come of it.
        """
        return load_settings(self.folder, self.environ)

    @property
    def sqlserver(self) -> SqlServerSettings:
        """
        Those of the production store, which is the one in use.
        """
        assert self.settings.sqlserver is not None
        return self.settings.sqlserver


@dataclass(frozen=True, slots=True)
class Row:
    """
    One setting at work.

    Attributes:
        given: another value than the default.
        observe: what the row looks at.
        before: what is seen under the default.
        after: what is seen under `given`.
        beside: settings that both need.
    """

    name: str
    given: str
    observe: Callable[[Trial], object]
    before: object
    after: object
    beside: Mapping[str, str] = field(default_factory=dict)


def by(look: Callable[[Settings], object]) -> Callable[[Trial], object]:
    """
    Looks at what settings alone decide.
    """
    return lambda trial: look(trial.settings)


@contextmanager
def stage() -> Iterator[Stage]:
    """
    A store in memory whose time stands still.
    """
    clock = SteppedClock()
    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        yield Stage(store, clock)


@contextmanager
def running(trial: Trial, profile: Profile) -> Iterator[Core]:
    """
    A whole app that does not linger.
    """
    environ = {"ChokaQ__Functions__IdleLinger": "00:00:00", **trial.environ}
    core = Core(trial.folder, profiles=[profile], environ=environ)
    try:
        yield core
    finally:
        core.stop()
