from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.config import Settings, load_settings
from chokaq_core.config.catalog import QUEUE_SETTINGS, SETTINGS
from tests.support.setting_cases import CASES, SECRET_NAMES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_the_table_holds_every_setting() -> None:
    known = {setting.name for setting in SETTINGS} | {
        setting.name.replace("{queue}", "reports") for setting in QUEUE_SETTINGS
    }
    assert {case.name for case in CASES} | set(SECRET_NAMES) == known
    assert len(CASES) + len(SECRET_NAMES) == len(known) == 73


@pytest.mark.parametrize("case", [case for case in CASES if case.default], ids=lambda case: case.name)
def test_a_setting_that_nobody_gives_has_its_default(case: Case, app_folder: Path) -> None:
    assert _effective(load_settings(app_folder, {}), case.name) == (case.default, "default")


@each_case
def test_the_environment_sets_it(case: Case, app_folder: Path) -> None:
    settings = load_settings(app_folder, {case.variable: case.given}, dict(case.beside))
    assert _found(settings, case.target) == case.expected
    assert _effective(settings, case.name) == (case.given, f"environment variable {case.variable}")


@each_case
def test_the_environment_sets_it_in_upper_case_with_colons(case: Case, app_folder: Path) -> None:
    variable = case.variable.replace("__", ":").upper()
    settings = load_settings(app_folder, {variable: case.given}, dict(case.beside))
    assert _found(settings, case.target) == case.expected


@each_case
def test_the_file_sets_it(case: Case, app_folder: Path, write_settings: Callable[[Any], None]) -> None:
    write_settings(_nested(case))
    settings = load_settings(app_folder, {}, dict(case.beside))
    assert _found(settings, case.target) == case.expected
    assert _effective(settings, case.name) == (case.given, "appsettings.json")


@each_case
def test_code_sets_it(case: Case, app_folder: Path) -> None:
    settings = load_settings(app_folder, {}, {case.name: case.native, **dict(case.beside)})
    assert _found(settings, case.target) == case.expected
    assert _effective(settings, case.name) == (case.given, "code")


@pytest.mark.case("C-050")
@pytest.mark.case("C-054")
@pytest.mark.parametrize(
    "case, given, told",
    [(case, given, told) for case in CASES for given, told in case.refused.items()],
    ids=lambda part: part.name if isinstance(part, Case) else None,
)
def test_a_value_that_breaks_its_rule_is_refused(
    case: Case, given: str, told: tuple[str, str], problems: Callable[..., list[str]]
) -> None:
    rule, hint = told
    shown = ascii(given) if len(ascii(given)) <= 60 else f"{ascii(given)[:60]}…"
    expected = f"{case.name}: {rule}; got {shown} (environment variable {case.variable}){hint}"
    assert problems({case.variable: given}, dict(case.beside)) == [expected]


def _found(settings: Settings, target: str) -> object:
    value: Any = settings
    for word in target.split("."):
        value = value[word] if hasattr(value, "keys") else getattr(value, word)
    return value


def _effective(settings: Settings, name: str) -> tuple[str, str]:
    return next((row.shown, row.source) for row in settings.effective() if row.name == name)


def _nested(case: Case) -> dict[str, Any]:
    value: Any = case.given if isinstance(case.native, timedelta) else case.native
    for word in reversed(case.name.split(".")):
        value = {word: value}
    return dict(value)
