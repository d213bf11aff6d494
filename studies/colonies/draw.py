"""Ages and bytes of a million nodes in colonies, and deaths: the tables of the page."""

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

DEATHS = (
    "nodes",
    "churn_percent_per_minute",
    "loss",
    "death_after",
    "colonies",
    "colony_nodes",
    "crashes",
    "half_avg_units",
    "all_avg_units",
    "all_p99_units",
    "all_highest_units",
    "missed",
    "open",
    "open_longest_units",
    "mistaken",
    "age_avg_units",
    "node_unit_bytes",
)
DEATHS_HEADING = (
    "nodes",
    "",
    "colonies",
    "crashes",
    "half know, average",
    "all know, average",
    "99 %",
    "greatest",
    "missed",
    "open, the first since",
    "false deaths",
    "entries, average",
    "bytes per node and unit",
)


def disturbance(row: Row) -> str:
    """Return what happens to the nodes of a run."""
    churn, loss = row.number("churn_percent_per_minute"), row.number("loss")
    parts = [f"{churn:.0f} % churn"] if churn else []
    parts += [f"{100 * loss:.0f} % loss"] if loss else []
    return ", ".join(parts) or "undisturbed"


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


def line_of_deaths(row: Row) -> list[str]:
    """Return the line of a run whose nodes look for the dead."""
    still_open = row.whole("open")
    since = f", {row.number('open_longest_units'):.1f}" if still_open else ""
    return [
        f"{row.whole('nodes'):,}",
        disturbance(row),
        f"{row.text('colonies')} of {row.text('colony_nodes')}",
        row.text("crashes"),
        f"{row.number('half_avg_units'):.2f}",
        f"{row.number('all_avg_units'):.2f}",
        f"{row.number('all_p99_units'):.1f}",
        f"{row.number('all_highest_units'):.1f}",
        row.text("missed"),
        f"{still_open}{since}",
        row.text("mistaken"),
        f"{row.number('age_avg_units'):.2f}",
        f"{row.number('node_unit_bytes'):,.0f}",
    ]


def tables(table: Table) -> dict[str, str]:
    """Return a line for each run."""
    return {"colonies": markdown(HEADING, map(line, table))}


def deaths(table: Table) -> dict[str, str]:
    """Return a line for each run whose nodes look for the dead."""
    return {"deaths": markdown(DEATHS_HEADING, map(line_of_deaths, table))}


DRAWN = (
    Drawn("colonies.csv", COLUMNS, tables=tables),
    Drawn("deaths.csv", DEATHS, tables=deaths),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
