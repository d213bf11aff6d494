"""What gossip over MPI costs and survives: the tables of the page."""

from __future__ import annotations

import statistics
import sys

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

SHIM = ("mpi", "call", "instructions", "instructions_with_shim", "added")
YIELDING = (
    "mpi",
    "ranks",
    "ping_pong_us",
    "ping_pong_yielding_us",
    "ping_pong_ratio",
    "allreduce_us",
    "allreduce_yielding_us",
    "allreduce_ratio",
)
THOUSANDS = (
    "payload_bytes",
    "interval_ms",
    "rounds_share",
    "taken_share",
    "messages_dropped",
    "busy_share",
)
OVERLOAD = (
    "interval_ms",
    "ending",
    "messages_sent",
    "messages_received",
    "messages_dropped",
    "rounds",
    "rounds_skipped",
)

MPIS = {
    "openmpi": "Open MPI, `--oversubscribe`",
    "openmpi-slots": "Open MPI, a slot for each rank",
    "mpich": "MPICH",
}


def short(row: Row, column: str) -> str:
    """Return a time or ratio: a digit behind the point below ten."""
    number = row.number(column)
    return f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def grouped(table: Table, *columns: str) -> dict[tuple[float, ...], list[Row]]:
    """Return the rows that have the same numbers in some columns, in order of these."""
    groups: dict[tuple[float, ...], list[Row]] = {}
    for row in table:
        groups.setdefault(tuple(row.number(column) for column in columns), []).append(row)
    return dict(sorted(groups.items()))


def shim(table: Table) -> dict[str, str]:
    """Return a line for each call under each MPI."""
    heading = ("MPI", "call", "without", "with the shim", "added")
    lines = [
        [
            MPIS[row.text("mpi")].partition(",")[0],
            row.text("call"),
            *(str(row.whole(column)) for column in SHIM[2:]),
        ]
        for row in table
    ]
    return {"shim": markdown(heading, lines)}


def yielding(table: Table) -> dict[str, str]:
    """Return a line for each MPI and number of ranks."""
    heading = ["MPI", "ranks", "ping-pong", "with the library", "ratio"]
    heading += ["allreduce", "with the library", "ratio"]
    lines = [
        [
            MPIS[row.text("mpi")],
            row.text("ranks"),
            *(short(row, column) for column in YIELDING[2:]),
        ]
        for row in table
    ]
    return {"yielding": markdown(heading, lines)}


def thousands(table: Table) -> dict[str, str]:
    """Return means of all runs of an entry's length and a unit."""
    heading = ["entry", "unit, ms", "rounds done", "rounds skipped"]
    heading += ["received, of one message per unit", "dropped for lack of a slot", "busy share"]
    lines = []
    groups = grouped(table, "payload_bytes", "interval_ms")
    for (payload, interval), rows in sorted(groups.items(), key=lambda one: -one[0][0]):

        def mean(column: str, rows: list[Row] = rows) -> float:
            return statistics.mean(row.number(column) for row in rows)

        done = round(100 * mean("rounds_share"), 1)
        lines.append(
            [
                f"{payload:,.0f} B",
                f"{interval:g}",
                f"{done:.1f} %",
                f"{100 - done:.1f} %",
                f"{100 * mean('taken_share'):.1f} %",
                f"{mean('messages_dropped'):,.0f}",
                f"{100 * mean('busy_share'):.0f} %",
            ]
        )
    return {"thousands": markdown(heading, lines)}


def overload(table: Table) -> dict[str, str]:
    """Return sums of all runs with a unit."""
    heading = ["unit, ms", "runs", "conserved", "aborted or hung", "messages sent", "received"]
    heading += ["dropped", "rounds", "rounds skipped", "runs that dropped or skipped"]
    lines = []
    for (interval,), rows in grouped(table, "interval_ms").items():
        conserved = sum(row.text("ending") == "conserved" for row in rows)
        sums = {one: sum(row.whole(one) for row in rows) for one in OVERLOAD[2:]}
        behind = [row.whole("messages_dropped") + row.whole("rounds_skipped") > 0 for row in rows]
        counts = [len(rows), conserved, len(rows) - conserved, *sums.values(), sum(behind)]
        lines.append([f"{interval:g}", *(f"{count:,}" for count in counts)])
    return {"overload": markdown(heading, lines)}


DRAWN = (
    Drawn("shim-cost.csv", SHIM, tables=shim),
    Drawn("yielding.csv", YIELDING, tables=yielding),
    Drawn("thousands.csv", THOUSANDS, tables=thousands),
    Drawn("overload.csv", OVERLOAD, tables=overload),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
