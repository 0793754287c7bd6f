"""
Runs the sections, prints their figures, and fails when a promised budget is not met.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from bench import machine, printing
from bench.figures import Figure
from bench.sections import SECTIONS, Section
from bench.size import Size

RESULTS = Path(__file__).parent / "results" / "latest.json"
SECTION_LIMIT_SECONDS = 600.0
"""A section that takes longer hangs: the run ends and shows where every thread stands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    The exit status: 0 when every promise measured in this run is kept and every section came to its end.
    """
    options = _parser().parse_args(arguments)
    wanted = options.only or list(SECTIONS)
    facts = machine.facts()
    printing.print_facts(facts)
    begun = time.perf_counter()
    results: dict[str, list[Figure]] = {}
    failed = [name for name in wanted if not _run(SECTIONS[name], Size(options.quick), results.setdefault(name, []))]
    figures = [figure for section in results.values() for figure in section]
    printing.write_results(options.results, facts, results)
    printing.print_verdict(figures, failed, time.perf_counter() - begun)
    return 1 if failed or any(figure.is_broken_promise for figure in figures) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures the budgets.")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(SECTIONS),
        metavar="NAME",
        help=f"one of {', '.join(SECTIONS)}; may be repeated",
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes and rougher figures")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help="where the JSON goes")
    return parser


def _run(section: Section, size: Size, figures: list[Figure]) -> bool:
    """
    Runs one section and prints each figure as it comes; False when it failed, which does not stop the others.
    """
    printing.print_heading(section.title)
    faulthandler.dump_traceback_later(SECTION_LIMIT_SECONDS, exit=True)
    try:
        for figure in section.measure(size):
            figures.append(figure)
            printing.print_figure(figure)
    except Exception:  # noqa: BLE001 - one section's fault is told, and the others still measure
        traceback.print_exc()
        return False
    finally:
        faulthandler.cancel_dump_traceback_later()
    return True


if __name__ == "__main__":
    sys.exit(main())
