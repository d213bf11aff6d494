"""Ages and bytes of a million nodes in colonies: the table of the page."""

from __future__ import annotations

import sys

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

COLUMNS = (
    "nodes",
    "churn_percent_per_minute",
    "loss",
    "colonies",
    "colony_nodes",
    "age_avg_units",
    "aggregate_age_avg_units",
    "aggregate_age_p99_units",
    "aggregate_age_max_units",
    "aggregate_age_highest_units",
    "lacking_aggregates",
    "node_unit_bytes",
    "node_unit_bytes_most",
    "node_unit_datagrams",
    "wall_s",
)
HEADING = (
    "nodes",
    "",
    "colonies",
    "entries, average",
    "aggregates, average",
    "99 %",
    "oldest of a node",
    "greatest",
    "bytes per node and unit",
    "the node that sends most",
    "datagrams",
    "aggregates lacking",
    "s",
)


def disturbance(row: Row) -> str:
    """Return what happens to the nodes of a run."""
    churn, loss = row.number("churn_percent_per_minute"), row.number("loss")
    if churn:
        return f"{churn:.0f} % churn"
    return f"{100 * loss:.0f} % loss" if loss else "undisturbed"


def line(row: Row) -> list[str]:
    """Return the line of a run."""
    return [
        f"{row.whole('nodes'):,}",
        disturbance(row),
        f"{row.text('colonies')} of {row.text('colony_nodes')}",
        f"{row.number('age_avg_units'):.2f}",
        f"{row.number('aggregate_age_avg_units'):.2f}",
        f"{row.number('aggregate_age_p99_units'):.1f}",
        f"{row.number('aggregate_age_max_units'):.1f}",
        f"{row.number('aggregate_age_highest_units'):.0f}",
        f"{row.number('node_unit_bytes'):,.0f}",
        f"{row.number('node_unit_bytes_most'):,.0f}",
        f"{row.number('node_unit_datagrams'):.1f}",
        row.text("lacking_aggregates"),
        f"{row.number('wall_s'):.0f}",
    ]


def tables(table: Table) -> dict[str, str]:
    """Return a line for each run."""
    return {"colonies": markdown(HEADING, map(line, table))}


DRAWN = (Drawn("colonies.csv", COLUMNS, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
