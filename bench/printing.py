"""
The table on the screen and the file for programs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.figures import Budget, Figure

COLUMNS = "{:<62} {:>8} {:>18}  {:<17} {}"
RULE = "-" * 120
_WHOLE_FROM = 1_000


def print_facts(facts: Mapping[str, str]) -> None:
    """
    Prints what the run is made on.
    """
    for name, text in facts.items():
        print(f"{name:<12} {text}")


def print_heading(title: str) -> None:
    """
    Prints a section's title and the heads of its columns.
    """
    print(f"\n{title}")
    print(COLUMNS.format("", "budget", "measured", "", "").rstrip())
    print(RULE, flush=True)


def print_figure(figure: Figure) -> None:
    """
    Prints one line.
    """
    cells = (figure.what, budget_text(figure.budget), value_text(figure), verdict_text(figure), remark_text(figure))
    print(COLUMNS.format(*cells).rstrip(), flush=True)


def print_verdict(figures: Sequence[Figure], failed: Sequence[str], seconds: float) -> None:
    """
    Prints which promises were broken, and which sections could not be measured.
    """
    broken = [figure for figure in figures if figure.is_broken_promise]
    print(f"\n{len(figures)} figures in {seconds:.0f} s.")
    for figure in broken:
        print(f"BROKEN: {figure.what}: {value_text(figure)}, promised {budget_text(figure.budget)}")
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    if not broken and not failed:
        print("Every promised budget that was measured is met. A target is not promised by this release.")


def value_text(figure: Figure) -> str:
    """
    The value with its unit.
    """
    return "" if figure.value is None else f"{number_text(figure.value)} {figure.unit}".rstrip()


def remark_text(figure: Figure) -> str:
    """
    The spread and the note.
    """
    parts = [figure.note] if figure.note else []
    if figure.low is not None and figure.high is not None:
        parts.insert(0, f"{number_text(figure.low)} – {number_text(figure.high)}")
    return ", ".join(parts)


def number_text(value: float) -> str:
    """
    Three digits that count; whole numbers in full.
    """
    if value == 0 or abs(value) >= _WHOLE_FROM or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".")


def write_results(path: Path, facts: Mapping[str, str], results: Mapping[str, Sequence[Figure]]) -> None:
    """
    Writes the figures of all sections as JSON.
    """
    sections = {name: [{**asdict(f), "is_met": f.is_met} for f in figures] for name, figures in results.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"facts": dict(facts), "sections": sections}, indent=2) + "\n", encoding="utf-8")


def budget_text(budget: Budget | None) -> str:
    """
    The bound.
    """
    if budget is None:
        return ""
    return f"{'≥' if budget.is_at_least else '≤'} {budget.limit:g}"


def verdict_text(figure: Figure) -> str:
    """
    Whether the budget is met, and whether that was only a target.
    """
    if figure.budget is None:
        return ""
    if figure.budget.is_promised:
        return "met" if figure.is_met else "NOT MET"
    return "target met" if figure.is_met else "target not met"
