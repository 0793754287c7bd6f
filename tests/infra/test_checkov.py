"""
What checkov says of the templates: it objects to what the settings leave out with a reason, and to nothing else.
"""

from __future__ import annotations

import re

import pytest

from tests.support import checkov
from tests.support.infra import INFRA, parsed

SETTINGS = checkov.SETTINGS.read_text(encoding="utf-8")
ENTRIES = [line for line in SETTINGS.splitlines() if line.lstrip().startswith("- CKV")]


@pytest.fixture(scope="module")
def findings() -> checkov.Findings:
    checkov.need()
    return checkov.look()


def test_checkov_objects_to_nothing_that_is_not_left_out_for_a_reason(findings: checkov.Findings) -> None:
    left_out = {match for line in ENTRIES for match in re.findall(r"CKV_AZURE_\d+", line)}
    assert findings.failed - left_out == set()
    assert left_out - findings.failed == set(), "nothing fails these checks any more: take them out of the settings"
    assert findings.passed > 30


def test_checkov_reads_every_template_but_the_one_that_holds_modules_only(findings: checkov.Findings) -> None:
    assert findings.unread == ("main.bicep",)
    resources = parsed(INFRA / "main.bicep")["resources"]
    assert [entry["type"] for entry in resources.values()] == ["Microsoft.Resources/resourceGroups"]


def test_each_check_that_is_left_out_has_its_reason() -> None:
    assert len(ENTRIES) > 10
    assert [line for line in ENTRIES if not re.fullmatch(r"  - CKV_AZURE_\d+ # .{5,}", line)] == []
