"""Ages beside busy loops, by the priority of the agents: the table of the page."""

from __future__ import annotations

import sys
from decimal import ROUND_HALF_UP, Decimal

from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

COLUMNS = (
    "priority",
    "crowded",
    "age_avg_units",
    "age_max_units",
    "age_highest_units",
    "cpu_percent",
    "suspicions",
    "false_deaths",
)
HEADING = (
    "priority",
    "busy loops",
    "average",
    "oldest of a node, mean",
    "oldest of all",
    "CPU, % of a core",
    "suspicions",
    "false deaths",
)


def rounded(cell: str, digit: str) -> str:
    """Return a number of the table rounded as one does by hand: 4.295 is 4.30."""
    return str(Decimal(cell).quantize(Decimal(digit), ROUND_HALF_UP))


def tables(table: Table) -> dict[str, str]:
    """Return a line for each priority, with busy loops and without."""
    lines = [
        [
            row.text("priority"),
            row.text("crowded"),
            rounded(row.text("age_avg_units"), "0.01"),
            rounded(row.text("age_max_units"), "0.1"),
            rounded(row.text("age_highest_units"), "0.1"),
            rounded(row.text("cpu_percent"), "0.001"),
            row.text("suspicions"),
            row.text("false_deaths"),
        ]
        for row in table
    ]
    return {"crowded": markdown(HEADING, lines)}


DRAWN = (Drawn("crowded.csv", COLUMNS, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
