"""
Draws the rates of a run as an SVG for the documents: `python -m bench.chart bench/results/latest.json out.svg`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

SECTIONS = ("throughput", "peers")
GROUPS = {
    "drain: ": "Drain of jobs that do nothing, jobs/s",
    "enqueue one by one: ": "Enqueue one by one, jobs/s",
    "enqueue in bulk: ": "Enqueue in bulk, jobs/s",
}
OURS = "ChokaQ"

WIDTH, LABEL, BAR, GAP, HEAD = 720, 250, 18, 6, 34
_STYLE = """
svg { background: #ffffff; font: 13px system-ui, sans-serif; }
text { fill: #1d2733; } .head { font-weight: 600; } .ours { fill: #1f6feb; } .other { fill: #b6c2cf; }
"""

Bar = tuple[str, float]


def main(arguments: Sequence[str]) -> int:
    """
    Reads a run's results and writes the picture; the exit status.
    """
    if len(arguments) != 2:
        print("usage: python -m bench.chart RESULTS.json PICTURE.svg", file=sys.stderr)
        return 2
    source, target = (Path(argument) for argument in arguments)
    results = json.loads(source.read_text(encoding="utf-8"))
    target.write_text(picture(groups(results["sections"])), encoding="utf-8")
    return 0


def groups(sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[Bar]]:
    """
    The bars of each group, the longest first; an entrant that ran in both sections is shown as it did beside its peers.
    """
    found: dict[str, dict[str, float]] = {title: {} for title in GROUPS.values()}
    for section in SECTIONS:
        for figure in sections.get(section, ()):
            for prefix, title in GROUPS.items():
                if figure["what"].startswith(prefix) and figure["unit"] == "jobs/s":
                    found[title][figure["what"].removeprefix(prefix)] = figure["value"]
    return {title: sorted(bars.items(), key=lambda bar: -bar[1]) for title, bars in found.items() if bars}


def picture(bars_by_title: Mapping[str, Sequence[Bar]]) -> str:
    """
    The SVG's text.
    """
    parts: list[str] = []
    top = 10
    for title, bars in bars_by_title.items():
        parts.extend(_group(title, bars, top))
        top += HEAD + len(bars) * (BAR + GAP) + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img">\n'
        f"<title>{escape('; '.join(bars_by_title))}</title>\n<style>{_STYLE}</style>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _group(title: str, bars: Sequence[Bar], top: int) -> Iterator[str]:
    yield f'<text class="head" x="10" y="{top + 18}">{escape(title)}</text>'
    longest = bars[0][1]
    for number, (name, value) in enumerate(bars):
        y = top + HEAD + number * (BAR + GAP)
        width = max(1.0, value / longest * (WIDTH - LABEL - 90))
        kind = "ours" if name.startswith(OURS) else "other"
        yield f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>'
        yield f'<rect class="{kind}" x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR}"/>'
        yield f'<text x="{LABEL + width + 6:.1f}" y="{y + 14}">{value:,.0f}</text>'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
