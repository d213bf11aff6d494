"""The tables of docs/results/scaling.md, from the CSV files beside it.

PYTHONPATH=python python bench/scaling/page.py docs/results/scaling.md
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from tidings.tables import insert

PERCENT = ("exact", "near", "far", "covered_4", "covered_64", "alarm", "caught")
HEADINGS = ("exact", "near", "×64", "covered ×4", "covered ×64", "alarm", "caught")


def cell(row: dict[str, str], name: str) -> str:
    """Return a share in per cent, or nothing."""
    return f"{100 * float(row[name]):.1f}" if row[name] else ""


def by_tool(rows: list[dict[str, str]]) -> str:
    """Return the tools over all cases."""
    lines = [f"| tool | cases | {' | '.join(HEADINGS)} | CPU ms |", f"|{'---|' * 10}"]
    for row in rows:
        if row["group"] == "all":
            cells = " | ".join(cell(row, name) for name in PERCENT)
            cpu = f"{float(row['cpu_ms']):.1f}"
            lines.append(f"| {row['tool']} | {row['cases']} | {cells} | {cpu} |")
    return "\n".join(lines)


def by_group(rows: list[dict[str, str]]) -> str:
    """Return the default engine by families and noise, and Extra-P's better figure beside it."""
    lines = [
        f"| group | cases | {' | '.join(HEADINGS)} | Extra-P exact | near |",
        f"|{'---|' * 11}",
    ]
    own = [row for row in rows if row["tool"] == "tidings" and row["group"] != "all"]
    for row in own:
        others = [
            other
            for other in rows
            if other["tool"].startswith("Extra-P") and other["group"] == row["group"]
        ]
        best = [
            f"{100 * max((float(other[name]) for other in others), default=0):.1f}"
            for name in ("exact", "near")
        ]
        cells = " | ".join(cell(row, name) for name in PERCENT)
        lines.append(f"| {row['group']} | {row['cases']} | {cells} | {' | '.join(best)} |")
    return "\n".join(lines)


def main() -> None:
    """Write the tables into the page."""
    page = Path(sys.argv[1])
    tables = {}
    for suite in ("held-out", "tuning"):
        with (page.parent / f"scaling-{suite}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        tables[f"scaling-{suite}"] = by_tool(rows)
        tables[f"scaling-{suite}-groups"] = by_group(rows)
    page.write_text(insert(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main()
