"""
Simulates a deployment at sizes beyond one machine: lag, throughput, statements and cost against the arrival rate.

`python -m bench.simulate --help` lists what can be set. What a request and a row cost the database is an assumption
until you measure yours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from bench.figures import percentile
from bench.fleet import Deployment, Fleet, Tally
from chokaq_core.policy.running import WorkerRules

RATES = (1.0, 10.0, 100.0, 300.0, 1_000.0, 2_000.0, 4_000.0)
WARM_UP_SECONDS = 120.0
MEASURED_SECONDS = 60.0
BEHIND_SECONDS = 5.0
"""A deployment that ends with more jobs waiting than arrive in this time has met its limit."""
FULL_FROM = 0.9

HEADS = ("jobs/s", "done/s", "lag p50", "lag p99", "instances", "statements/s", "per job", "database", "GB-s/h", "")
COLUMNS = "{:>8} {:>8} {:>9} {:>9} {:>11} {:>13} {:>8} {:>9} {:>10}  {}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    One simulated deployment.

    Attributes:
        lag_p50: seconds from the call of `enqueue` to the start.
        database: share of its cores that is at work.
        core: share of an instance's core that is at work, of instances that are there.
    """

    rate: float
    done: float
    lag_p50: float
    lag_p99: float
    instances: float
    most_instances: int
    statements: float
    database: float
    core: float
    gigabyte_seconds_an_hour: float
    waiting: int
    deployment: Deployment

    @property
    def falls_behind(self) -> bool:
        """
        Whether jobs pile up.
        """
        return self.waiting > BEHIND_SECONDS * self.rate

    @property
    def advice(self) -> str:
        """
        What holds it back, and what to do then; empty while it keeps up.
        """
        if not self.falls_behind:
            return ""
        if self.database >= FULL_FROM:
            return "database full: a larger one; enqueue in batches; then a second database"
        if self.core >= FULL_FROM:
            return "instances busy computing: raise maximumInstanceCount, or instanceMemoryMB for more of a core"
        if self.most_instances >= self.deployment.most_instances:
            return "all instances at work: raise Worker.MaxConcurrency, then maximumInstanceCount"
        return "still recruiting instances when the measurement ended"


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Prints a line for each rate; always 0.
    """
    options = _parser().parse_args(arguments)
    deployment = _deployment(options)
    print("  ".join(f"{name}={getattr(deployment, name):g}" for name in _settable()), f"capacity={options.capacity}")
    print(COLUMNS.format(*HEADS))
    for outcome in outcomes(deployment, options.rates, options.seconds):
        print(line(outcome).rstrip(), flush=True)
    return 0


def outcomes(deployment: Deployment, rates: Sequence[float], seconds: float = MEASURED_SECONDS) -> Iterator[Outcome]:
    """
    One for each rate; the first that falls behind is the last.
    """
    for rate in rates:
        outcome = simulate(replace(deployment, rate=rate), seconds)
        yield outcome
        if outcome.falls_behind:
            return


def simulate(deployment: Deployment, seconds: float = MEASURED_SECONDS) -> Outcome:
    """
    A deployment that begins with nothing, measured when it has had time to find its size.
    """
    fleet = Fleet(deployment)
    tally = fleet.run(seconds, warm_up=WARM_UP_SECONDS)
    return _outcome(fleet, tally, seconds)


def line(outcome: Outcome) -> str:
    """
    One line of the table.
    """
    return COLUMNS.format(
        f"{outcome.rate:,.0f}",
        f"{outcome.done:,.0f}",
        f"{outcome.lag_p50:.3f} s",
        f"{outcome.lag_p99:.2f} s",
        f"{outcome.instances:.1f} ({outcome.most_instances})",
        f"{outcome.statements:,.1f}",
        f"{outcome.statements / outcome.rate:.3f}",
        f"{outcome.database:.0%}",
        f"{outcome.gigabyte_seconds_an_hour:,.0f}",
        outcome.advice,
    )


def _outcome(fleet: Fleet, tally: Tally, seconds: float) -> Outcome:
    deployment = fleet.deployment
    lags = tally.lags or [0.0]
    return Outcome(
        rate=deployment.rate,
        done=tally.ended / seconds,
        lag_p50=percentile(lags, 50),
        lag_p99=percentile(lags, 99),
        instances=tally.instance_seconds / seconds,
        most_instances=fleet.most_instances,
        statements=tally.statements / seconds,
        database=tally.database_seconds / (seconds * deployment.cores),
        core=tally.core_seconds / tally.instance_seconds if tally.instance_seconds else 0.0,
        gigabyte_seconds_an_hour=tally.instance_seconds * deployment.gigabytes * 3_600 / seconds,
        waiting=fleet.waiting,
        deployment=deployment,
    )


def _settable() -> list[str]:
    """
    The numbers of a deployment that have an option of their own.
    """
    return [f.name for f in fields(Deployment) if f.name not in ("rate", "is_random", "rules")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.simulate", description="Simulates a deployment.")
    parser.add_argument("--rates", type=_rates, default=RATES, metavar="N,N", help="jobs a second, one line for each")
    parser.add_argument("--seconds", type=float, default=MEASURED_SECONDS, help="simulated time that is measured")
    parser.add_argument("--capacity", type=int, default=WorkerRules().max_concurrency, help="Worker.MaxConcurrency")
    defaults = Deployment()
    for name in _settable():
        default = getattr(defaults, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return parser


def _rates(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def _deployment(options: argparse.Namespace) -> Deployment:
    numbers = {name: getattr(options, name) for name in _settable()}
    return Deployment(**numbers, rules=WorkerRules(max_concurrency=options.capacity))


if __name__ == "__main__":
    sys.exit(main())
