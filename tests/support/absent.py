"""
What a machine may lack: a test that needs it is skipped there, and says so in words that tell it from any other skip.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import NoReturn

import pytest

NOT_HERE = "not here: "
"""What the reason of such a skip begins with."""


class Thing(Enum):
    """
    What may be missing. Its value is the variable that, set to 1, says that it must be there.
    """

    AZURITE = "REQUIRE_AZURITE"
    BROWSER = "REQUIRE_BROWSER"
    CHECKOV = "REQUIRE_CHECKOV"
    KUSTO = "REQUIRE_KUSTO"
    MOUNT = "REQUIRE_MOUNT"
    PYTHON_313 = "REQUIRE_PY313"
    SQL_SERVER = "REQUIRE_SQLSERVER"


def without(thing: Thing, reason: str) -> NoReturn:
    """
    Skips the test for want of it, or fails the test where it must be there.
    """
    if os.environ.get(thing.value) == "1":
        pytest.fail(f"{reason} ({thing.value} is set)")
    pytest.skip(f"{NOT_HERE}{reason}")
