"""
A job with sets has the same text in every process, whatever the hashes of its members.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field

from chokaq_core.contracts import Job, JsonSerializer
from chokaq_core.contracts.set_order import has_sets, with_ordered_sets
from tests.support.documents import ROOT


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    name: str
    marks: frozenset[str] = frozenset()


class Pair(NamedTuple):
    label: str
    marks: frozenset[str]


@dataclass
class Box:
    label: str
    marks: set[str]


class Tagged(Job):
    words: set[str] = Field(default_factory=set)
    numbers: set[int] = Field(default_factory=set)
    mixed: set[int | str] = Field(default_factory=set)
    days: frozenset[date] = Field(default_factory=frozenset)
    prices: set[Decimal] = Field(default_factory=set)
    colors: set[Color] = Field(default_factory=set)
    raw: set[bytes] = Field(default_factory=set)
    groups: set[frozenset[str]] = Field(default_factory=set)
    models: set[Frozen] = Field(default_factory=set)
    listed: list[Frozen] = Field(default_factory=list)
    by_name: dict[str, set[str]] = Field(default_factory=dict)
    pair: Pair | None = None
    box: Box | None = None
    nested: Frozen | None = None
    optional: set[str] | None = Field(default=None, alias="opt")


class Plain(Job):
    words: list[str] = Field(default_factory=list)


MARKS = frozenset({"x", "y", "z", "eins", "zwei"})

CASES = [
    (Tagged(words={"b", "a", "c"}), '"words":["a","b","c"]'),
    (Tagged(numbers={10, 9, 100}), '"numbers":[9,10,100]'),
    (Tagged(mixed={10, "9", "b"}), '"mixed":["9","b",10]'),
    (Tagged(days=frozenset({date(2026, 3, 1), date(2025, 3, 1)})), '"days":["2025-03-01","2026-03-01"]'),
    (Tagged(prices={Decimal("2.5"), Decimal("1.5")}), '"prices":["1.5","2.5"]'),
    (Tagged(colors={Color.RED, Color.BLUE}), '"colors":["blue","red"]'),
    (Tagged(raw={b"\xff", b"\x00"}), '"raw":["AA==","_w=="]'),
    (Tagged(groups={frozenset("ba"), frozenset("dc")}), '"groups":[["a","b"],["c","d"]]'),
    (
        Tagged(models={Frozen(name="b", marks=MARKS), Frozen(name="a")}),
        '"models":[{"name":"a","marks":[]},{"name":"b","marks":["eins","x","y","z","zwei"]}]',
    ),
    (Tagged(listed=[Frozen(name="b", marks=MARKS)]), '"listed":[{"name":"b","marks":["eins","x","y","z","zwei"]}]'),
    (Tagged(by_name={"b": {"y", "x"}, "a": set()}), '"by_name":{"b":["x","y"],"a":[]}'),
    (Tagged(pair=Pair("p", MARKS)), '"pair":["p",["eins","x","y","z","zwei"]]'),
    (Tagged(box=Box("p", set(MARKS))), '"box":{"label":"p","marks":["eins","x","y","z","zwei"]}'),
    (Tagged(nested=Frozen(name="n", marks=MARKS)), '"nested":{"name":"n","marks":["eins","x","y","z","zwei"]}'),
    (Tagged(opt={"b", "a"}), '"opt":["a","b"]'),
]


@pytest.mark.parametrize("job, part", CASES, ids=[part.split(":")[0].strip('"') for _, part in CASES])
def test_members_stand_in_one_order_and_come_back(job: Tagged, part: str) -> None:
    text = JsonSerializer().dumps(job)
    assert part in text
    assert JsonSerializer().loads(Tagged, text) == job


@pytest.mark.case("C-020")
def test_processes_with_other_hashes_write_the_same_text() -> None:
    code = "from tests.unit.contracts.test_set_order import *\nfor job, _ in CASES: print(JsonSerializer().dumps(job))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


def test_the_job_itself_is_left_as_it_was() -> None:
    job = Tagged(words={"b", "a"}, listed=[Frozen(name="b", marks=MARKS)])
    JsonSerializer().dumps(job)
    assert type(job.words) is set
    assert type(job.listed[0].marks) is frozenset


def test_a_job_without_sets_is_not_copied() -> None:
    job = Plain(words=["b", "a"])
    assert with_ordered_sets(job) is job
    assert not has_sets(Plain)
    assert has_sets(Tagged)
