"""Deviations of the model from simulations: the table of the page."""

from __future__ import annotations

import sys

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

DEVIATIONS = (
    "age_avg_model_percent",
    "age_p99_model_percent",
    "age_max_model_percent",
    "bytes_model_percent",
    "datagrams_model_percent",
)
HEADING = ("strategy", "loss", "average", "99 %", "oldest", "bytes", "datagrams")

# Of these the mean is shown, too.
AGES = 3


def deviation(rows: list[Row], at: int) -> str:
    """Return the largest absolute deviation of some points, and of ages the mean."""
    all_of_them = [abs(row.number(DEVIATIONS[at])) for row in rows]
    largest = f"{max(all_of_them):.1f}"
    return f"{largest} ({sum(all_of_them) / len(rows):.1f})" if at < AGES else largest


def tables(table: Table) -> dict[str, str]:
    """Return a line for each strategy and loss."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in table:
        groups.setdefault((row.text("strategy"), row.text("loss_percent")), []).append(row)
    lines = [
        [strategy, f"{loss} %", *(deviation(rows, at) for at in range(len(DEVIATIONS)))]
        for (strategy, loss), rows in groups.items()
    ]
    return {"deviations": markdown(HEADING, lines)}


DRAWN = (Drawn("model.csv", ("strategy", "loss_percent", *DEVIATIONS), tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
