"""Campaigns with a slowdown that is known: the table of the page."""

from __future__ import annotations

import sys

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

COLUMNS = (
    "campaign",
    "injected",
    "steal_share",
    "pairs",
    "slowdown",
    "slowdown_low",
    "slowdown_high",
    "aa_slowdown_low",
    "aa_slowdown_high",
    "verdict",
)
HEADING = (
    "campaign",
    "more work",
    "steal",
    "pairs left",
    "slowdown",
    "interval of the arm",
    "interval of A/A pairs",
    "verdict",
)

# The pairs of a campaign, before those with disturbed runs are left out.
PAIRS = 160


def percent(row: Row, column: str, digits: int = 2) -> str:
    """Return a share in per cent, with a minus sign that is as long as a plus sign."""
    return f"{100 * row.number(column):.{digits}f}".replace("-", "\N{MINUS SIGN}")


def line(row: Row) -> list[str]:
    """Return what one campaign found."""
    injected = row.number("injected")
    return [
        row.text("campaign"),
        f"{percent(row, 'injected', 1)} %" if injected else "none",
        f"{percent(row, 'steal_share')} %",
        f"{row.text('pairs')} of {PAIRS}",
        f"{percent(row, 'slowdown')} %",
        f"{percent(row, 'slowdown_low')} to {percent(row, 'slowdown_high')} %",
        f"{percent(row, 'aa_slowdown_low')} to {percent(row, 'aa_slowdown_high')} %",
        row.text("verdict"),
    ]


def tables(table: Table) -> dict[str, str]:
    """Return a line for each campaign."""
    return {"campaigns": markdown(HEADING, map(line, table))}


DRAWN = (Drawn("rate.csv", COLUMNS, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
