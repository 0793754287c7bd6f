from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import NODEFAULT
from msgspec.structs import fields

from chokaq_core.config import Settings, load_settings
from chokaq_core.config.catalog import QUEUE_SETTINGS, SECTIONS, SETTINGS
from chokaq_core.config.setting import Setting
from chokaq_core.domain.value import Value
from tests.support.setting_cases import SQL_SERVER

ALL = (*SETTINGS, *QUEUE_SETTINGS)
each_setting = pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)


@each_setting
def test_its_variable_arrives_whole_on_every_platform(setting: Setting) -> None:
    name = setting.environment_name.replace("{queue}", "reports")
    assert re.fullmatch(r"ChokaQ(__[A-Za-z]+){2,3}", name)
    assert len(name) <= 50


@each_setting
def test_it_is_explained_in_whole_sentences(setting: Setting) -> None:
    assert re.fullmatch(r"[A-Z].*\.", setting.purpose)
    assert re.fullmatch(r"[^A-Z].*\.|`.*\.", setting.change)
    assert "—" not in setting.purpose + setting.change


@each_setting
def test_its_default_obeys_its_own_rule(setting: Setting) -> None:
    if setting.default is None:
        assert setting.null is not None or setting.name == "SqlServer.ConnectionString"
    else:
        assert setting.kind.parse(setting.show(setting.default)) == setting.default


def test_names_are_unique_and_stand_in_their_section() -> None:
    names = [setting.name.lower() for setting in ALL]
    assert len(set(names)) == len(names)
    assert all(s.name.split(".")[0] == section.name for section in SECTIONS for s in section.settings)


@pytest.mark.parametrize("overrides", [{}, {"SqlServer.ConnectionString": SQL_SERVER}], ids=["embedded", "sqlserver"])
def test_every_default_agrees_with_the_value_class_that_it_fills(
    overrides: dict[str, object], app_folder: Path
) -> None:
    settings = load_settings(app_folder, {}, overrides)
    compared = 0
    for room in fields(Settings):
        value = getattr(settings, room.name)
        for own in fields(value) if isinstance(value, Value) else ():
            default = own.default_factory() if own.default_factory is not NODEFAULT else own.default
            if default is not NODEFAULT:
                assert getattr(value, own.name) == default, f"{room.name}.{own.name}"
                compared += 1
    assert compared == (62 if not overrides else 67)


def test_the_store_decides_which_grace_counts(app_folder: Path) -> None:
    overrides = {"Worker.ShutdownGracePeriod": "00:00:07", "SqlServer.WorkerShutdownGracePeriod": "00:00:09"}
    assert load_settings(app_folder, {}, overrides).worker.shutdown_grace_period.seconds == 7
    overrides["SqlServer.ConnectionString"] = SQL_SERVER
    assert load_settings(app_folder, {}, overrides).worker.shutdown_grace_period.seconds == 9


def test_what_two_rooms_need_reaches_both(app_folder: Path) -> None:
    overrides = {
        "SqlServer.ConnectionString": SQL_SERVER,
        "SqlServer.CleanupBatchSize": 50,
        "SqlServer.TransientRetryBaseDelayMs": 70,
    }
    settings = load_settings(app_folder, {}, overrides)
    assert settings.sqlserver is not None
    assert settings.retention.batch_size == 50
    assert settings.sqlserver.transient_retry_base_delay == settings.worker.retry_base_delay
    assert settings.worker.retry_base_delay.microseconds == 70_000


def test_queues_keep_their_own_values_apart(app_folder: Path) -> None:
    overrides = {
        "Queues.reports.ExecutionTimeout": "00:20:00",
        "Queues.reports.MaxWorkers": 2,
        "Queues.mail.ZombieTimeoutSeconds": 90,
        "Queues.slow.ExecutionTimeout": "00:30:00",
        "Queues.plain.ExecutionTimeout": None,
    }
    settings = load_settings(app_folder, {}, overrides)
    assert {queue: str(limit) for queue, limit in settings.execution.queue_timeouts.items()} == {
        "reports": "0:20:00",
        "slow": "0:30:00",
    }
    assert {queue: (own.max_workers, str(own.zombie_timeout)) for queue, own in settings.queues.items()} == {
        "reports": (2, "None"),
        "mail": (None, "0:01:30"),
    }


@pytest.mark.parametrize(
    "overrides, is_configured",
    [
        ({}, False),
        ({"Deck.ReadKey": "k" * 32}, True),
        ({"Deck.OperateKey": "k" * 32}, True),
        ({"Deck.TrustPlatformAuthentication": True}, True),
        ({"Deck.AllowAnonymous": True}, True),
    ],
)
def test_the_deck_is_configured_when_somebody_could_be_let_in(
    overrides: dict[str, object], is_configured: bool, app_folder: Path
) -> None:
    assert load_settings(app_folder, {}, overrides).deck.is_configured is is_configured


def test_settings_cannot_be_changed(app_folder: Path) -> None:
    settings = load_settings(app_folder, {}, {"Queues.mail.MaxWorkers": 1})
    with pytest.raises(AttributeError):
        settings.sqlite_path = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        settings.queues["mail"] = settings.queues["mail"]  # type: ignore[index]
