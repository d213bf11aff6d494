"""What was done again when a node died: the table of the page."""

from __future__ import annotations

import sys
from statistics import median

from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

COLUMNS = (
    *("seed", "share", "node", "calls", "begun", "in_flight", "lost", "needed", "oracle", "again"),
    *("beyond", "error", "first_s", "again_s", "seconds", "lost_s"),
)
COUNTED = ("begun", "lost", "needed", "in_flight", "oracle", "again", "beyond")


def spread(values: list[float], digits: int = 0) -> str:
    """Return the median with its range."""
    middle, least, most = (f"{value:,.{digits}f}" for value in (median(values), *ends(values)))
    return middle if least == most else f"{middle} ({least} to {most})"


def ends(values: list[float]) -> tuple[float, float]:
    """Return the lowest and the highest."""
    return min(values), max(values)


def tables(table: Table) -> dict[str, str]:
    """Return a line for each share of the calls at which a node died."""
    lines = []
    for (share,) in table.distinct("share"):
        own = table.where(share=share)
        counts = [spread(own.numbers(name)) for name in COUNTED]
        times = [spread(own.numbers(name), 1) for name in ("first_s", "again_s")]
        lines.append([f"{float(share):.2f}", *counts, *times])
    heads = ["died at", "begun", "outputs lost", "of them needed", "in hand", "oracle"]
    heads += ["done again", "for nothing", "the first after s", "worker-seconds"]
    return {"deaths": markdown(heads, lines)}


DRAWN = (Drawn("deaths.csv", COLUMNS, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
