"""
The simulated deployment of the benchmark: it keeps up where it can, and says what holds it back where it cannot.
"""

from __future__ import annotations

import pytest

from bench.fleet import Deployment, Fleet
from bench.simulate import line, main, outcomes, simulate
from chokaq_core.policy.running import WorkerRules


def test_keeps_up_with_a_rate_that_one_instance_can_bear() -> None:
    outcome = simulate(Deployment(rate=20.0, job_seconds=0.05), seconds=60.0)

    assert not outcome.falls_behind
    assert outcome.advice == ""
    assert outcome.instances < 3
    assert outcome.lag_p50 < 2.0


def test_starts_every_job_once_and_settles_it() -> None:
    fleet = Fleet(Deployment(rate=0.0, job_seconds=0.01, is_random=False))

    fleet.drain(1_000)

    assert (len(fleet.tally.lags), fleet.tally.ended, fleet.waiting) == (1_000, 1_000, 0)


def test_a_full_turn_carries_as_many_jobs_as_there_are_slots() -> None:
    fleet = Fleet(Deployment(rate=0.0, job_seconds=0.01, is_random=False, rules=WorkerRules(max_concurrency=10)))

    fleet.drain(1_000)

    assert fleet.tally.statements == 101  # a claim, 99 turns that settle and claim, a last one that settles


def test_a_slow_database_is_what_holds_back() -> None:
    outcome = simulate(Deployment(rate=400.0, job_seconds=0.01, request_seconds=0.01, cores=1), seconds=30.0)

    assert outcome.falls_behind
    assert "database" in outcome.advice


def test_too_few_instances_are_what_holds_back() -> None:
    outcome = simulate(Deployment(rate=50.0, job_seconds=2.0, most_instances=2), seconds=30.0)

    assert outcome.falls_behind
    assert "instances at work" in outcome.advice


def test_the_first_rate_that_falls_behind_is_the_last_line() -> None:
    deployment = Deployment(job_seconds=2.0, most_instances=1)

    found = list(outcomes(deployment, (1.0, 50.0, 100.0), seconds=20.0))

    assert [outcome.rate for outcome in found] == [1.0, 50.0]


def test_prints_its_settings_and_a_line_for_each_rate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rates", "1,2", "--seconds", "10", "--job-seconds", "0.1"]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert "job_seconds=0.1" in printed[0]
    assert [row.split()[0] for row in printed[2:]] == ["1", "2"]
    assert line(simulate(Deployment(rate=1.0, job_seconds=0.1), seconds=10.0)).rstrip() == printed[2]
