"""
Processes killed with signal 9 at every named point of a job's life.

After each kill every accepted job is in exactly one pillar, has run once unless it was retried or its handler allows
more, and the counters add up; a healthy process then finishes everything.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from chokaq_core.domain.moves import Move
from tests.faults.cradle import Cradle
from tests.faults.doomed_life import Orders
from tests.faults.kill_points import KillPoint, Moment, engine_points, engine_steps, stored_points
from tests.faults.leftovers import leave_work
from tests.faults.reckoning import check, survive
from tests.faults.report import Report

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
DATABASES = 5 if IS_DEEP else 1
KILLS = 10 if IS_DEEP else 2
"""Kills at each point of the store on each database; everyday runs kill once at the engine's own steps."""

TRIES = 5
"""Further lives for a kill, where a life ended before its point had come for the nth time."""

UNREACHED = {
    "Engine._tell_of_left_runs": "tells of handlers that outlive a shutdown; the process ends right after",
}
"""Steps without a kill point, with the reason; all others must be reached."""

EVERYDAY = [*stored_points(), *(point for point in engine_points() if point.moment is Moment.BEFORE)]
MORE = [point for point in engine_points() if point.moment is Moment.AFTER]
POINTS = [
    *(pytest.param(point, id=str(point)) for point in EVERYDAY if point.step not in UNREACHED),
    *(pytest.param(point, id=str(point), marks=pytest.mark.deep) for point in MORE if point.step not in UNREACHED),
]


@pytest.fixture(scope="module")
def met(cradle: Cradle, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, dict[str, int]]:
    """
    How often a process that is not killed comes by each point, without circuits and with them.
    """
    found = {}
    for has_circuits in (False, True):
        folder = tmp_path_factory.mktemp("undisturbed")
        assert _live(cradle, folder, Orders(str(folder), 0, {}, has_circuits)) == 0
        survive(folder)
        found[has_circuits] = json.loads((folder / "met.json").read_text(encoding="utf-8"))
    return found


def test_a_life_comes_by_every_point_that_is_not_excused(met: dict[bool, dict[str, int]]) -> None:
    points = [*stored_points(), *engine_points()]
    reached = met[False].keys() | met[True].keys()
    assert {point.step for point in points if str(point) not in reached} == set(UNREACHED)


def test_every_move_and_every_write_of_the_store_has_kill_points() -> None:
    steps = {point.step for point in stored_points()}

    assert {f"move.{move}" for move in Move} <= steps
    assert {step.removeprefix("call.") for step in steps if step.startswith("call.")} == {
        "change_queue",
        "claim_key",
        "complete_key",
        "fold_counters",
        "prune_buckets",
        "prune_keys",
        "prune_lanes",
        "prune_operator_log",
        "prune_workers",
        "purge_expired",
        "register",
        "release_key",
        "retire",
        "timer_finished",
        "timer_started",
    }
    assert set(UNREACHED) <= set(engine_steps())


@pytest.mark.case("C-058")
@pytest.mark.parametrize("point", POINTS)
def test_a_process_killed_at_any_point_loses_nothing_and_doubles_nothing(
    point: KillPoint, cradle: Cradle, met: dict[bool, dict[str, int]], tmp_path: Path, report: Report
) -> None:
    """
    Every second process has circuits, and all at a point that others never come by.
    """
    roll = random.Random(f"{report.seed} {point}")  # noqa: S311 - repeatable, not secret
    kills = KILLS if IS_DEEP or point in stored_points() else 1
    kinds = [has_circuits for has_circuits in (False, True) if str(point) in met[has_circuits]]
    for database in range(DATABASES):
        folder = tmp_path / f"{database}"
        folder.mkdir()
        lives = itertools.count()
        for number in range(kills):
            has_circuits = kinds[number % len(kinds)]
            first = Orders(str(folder), 0, {}, has_circuits, point.step, str(point.moment))
            varied = _varied(first, roll, met[has_circuits][str(point)]) if number else first
            assert any(_kills(cradle, folder, orders, next(lives)) for orders in (varied, *TRIES * [first]))
        report.survived(point, kills, survive(folder))


def _kills(cradle: Cradle, folder: Path, orders: Orders, round_: int) -> bool:
    """
    Lives until it is killed, and checks; False for a life that came by too seldom, since it is not always the same.
    """
    ended = _live(cradle, folder, replace(orders, round=round_))
    check(folder)
    return ended != 0


def _varied(orders: Orders, roll: random.Random, met: int) -> Orders:
    """
    Dies another time at the same point, and before another statement of the same call.
    """
    number = roll.randint(1, max(1, met // 2))
    return replace(orders, number=number, statement=roll.choice([None, 2, 3, 4, 5, 6, 8, 10, 12]))


def _live(cradle: Cradle, folder: Path, orders: Orders) -> int:
    """
    Prepares work for the scans and operators of one process, and lets it live; answers how it ended, 0 for by itself.
    """
    ghosts = leave_work(folder / "jobs.db", orders.round)
    ended = cradle.run(replace(orders, ghosts=ghosts))
    assert ended in {0, -signal.SIGKILL}, (folder / "error.txt").read_text(encoding="utf-8")
    return ended
