"""Peers in one program each: the table of the page, for all nodes and variants."""

from __future__ import annotations

import sys
from functools import partial

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

AGES = ("age_avg_units", "age_avg_least_units", "age_avg_most_units")
COLUMNS = (
    "peer",
    "variant",
    "nodes",
    *AGES,
    "age_p99_units",
    "age_max_units",
    "bytes_per_node_s",
    "datagrams_per_node_s",
    "cpu_s_per_node_s",
    "looking_s_per_node_s",
    "resident_kib_per_node",
)
HEADING = (
    "nodes",
    "peer",
    "average age",
    "99 %",
    "oldest",
    "kB/s",
    "datagrams/s",
    "CPU %",
    "of it looking",
    "KiB",
)


def line(row: Row) -> list[str]:
    """Return what one peer did."""
    average, least, most = (f"{row.number(one):.2f}" for one in AGES)
    variant = row.text("variant").removesuffix(" keyed")
    return [
        row.text("nodes"),
        f"{row.text('peer')} {variant}".rstrip(),
        f"{average} ({least} to {most})",
        f"{row.number('age_p99_units'):.1f}",
        f"{row.number('age_max_units'):.1f}",
        f"{row.number('bytes_per_node_s') / 1e3:.1f}",
        f"{row.number('datagrams_per_node_s'):.1f}",
        f"{100 * row.number('cpu_s_per_node_s'):.3f}",
        f"{100 * row.number('looking_s_per_node_s'):.3f}",
        row.text("resident_kib_per_node"),
    ]


def tables(table: Table, name: str = "peers") -> dict[str, str]:
    """Return a line for each peer, the smaller number of nodes first."""
    rows = sorted(table, key=lambda row: row.whole("nodes"))
    return {name: markdown(HEADING, map(line, rows))}


DRAWN = (
    Drawn("peers.csv", COLUMNS, tables=tables),
    Drawn("peers-readings.csv", COLUMNS, tables=partial(tables, name="peers-readings")),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
