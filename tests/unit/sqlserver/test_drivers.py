"""
Which ODBC driver is chosen.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chokaq_core.domain.errors import StoreRefusedError
from chokaq_core.stores.sqlserver.drivers import carried_driver, choose_driver

EIGHTEEN, SEVENTEEN = "ODBC Driver 18 for SQL Server", "ODBC Driver 17 for SQL Server"
CARRIED = Path("/opt/wheel/libmsodbcsql-18.so")


@pytest.mark.parametrize(
    "installed,carried,expected",
    [
        ([SEVENTEEN, EIGHTEEN, "SQLite3"], CARRIED, EIGHTEEN),
        ([SEVENTEEN, "SQLite3"], CARRIED, SEVENTEEN),
        (["SQLite3"], CARRIED, "/opt/wheel/libmsodbcsql-18.so"),
        ([], CARRIED, "/opt/wheel/libmsodbcsql-18.so"),
        ([EIGHTEEN], None, EIGHTEEN),
    ],
)
def test_the_newest_installed_driver_is_chosen_and_the_carried_one_last(
    installed: list[str], carried: Path | None, expected: str
) -> None:
    assert choose_driver(None, installed, carried) == expected


def test_the_driver_that_is_asked_for_is_taken() -> None:
    assert choose_driver(SEVENTEEN, [EIGHTEEN, SEVENTEEN], CARRIED) == SEVENTEEN


def test_a_driver_may_be_asked_for_by_the_path_of_its_library(tmp_path: Path) -> None:
    library = tmp_path / "libtdsodbc.so"
    library.touch()

    assert choose_driver(str(library), [], None) == str(library)


def test_a_driver_that_is_not_installed_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        StoreRefusedError, match=r"^the ODBC driver 'FreeTDS' is not installed; installed: ODBC Driver 18"
    ):
        choose_driver("FreeTDS", [EIGHTEEN], CARRIED)


def test_without_any_driver_the_error_says_what_to_install() -> None:
    with pytest.raises(StoreRefusedError, match=r"pip install mssql-python-odbc$"):
        choose_driver(None, ["SQLite3"], None)


def test_the_wheel_that_the_tests_need_carries_a_driver_for_this_machine() -> None:
    found = carried_driver()

    assert found is not None
    assert found.is_file()
    assert "msodbcsql" in found.name
