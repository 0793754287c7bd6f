"""
Settings that every test shares.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Failed assertions of the shared pieces show their values, as those of the tests do.
pytest.register_assert_rewrite("tests.contract", "tests.faults", "tests.support")

# Everyday runs repeat the same examples, so that a gate does not change its mind; deep runs look for new ones.
settings.register_profile("everyday", deadline=None, derandomize=True)
settings.register_profile("deep", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


def pytest_configure(config: pytest.Config) -> None:
    """
    Full runs fail where a field case is not guarded.
    """
    from tests.support.case_outcomes import CaseOutcomes  # noqa: PLC0415 - after the rewriting is asked for

    config.pluginmanager.register(CaseOutcomes())
