"""How many durable tasks are done in a second, beside their writes alone: tables of the page."""

from __future__ import annotations

import statistics
import sys

from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

STORES = {"file": "a file", "etcd": "an etcd of three"}
TASKS = {"numbered": "of one family", "scattered": "each of its own", "graph": "with two inputs"}
TUPLES = {
    ("memory", "here"): "memory",
    ("file", "here"): "a file",
    ("file", "elsewhere"): "a file that another process holds",
}
HEAD = (
    "store",
    "tasks",
    "in flight",
    "tasks/s",
    "of its writes alone",
    "ms each",
    "µs of service and client",
    "µs of store",
)


def spread(values: list[float], digits: int) -> str:
    """Return the median and, behind it, the smallest and the largest of several values."""
    least, most = min(values), max(values)
    return f"{statistics.median(values):,.{digits}f} ({least:,.{digits}f} to {most:,.{digits}f})"


def rates(table: Table) -> dict[str, str]:
    """Return a line for each case."""
    lines = []
    for store, tasks, in_flight in table.distinct("store", "tasks", "in_flight"):
        rows = table.where(store=store, tasks=tasks, in_flight=in_flight)
        done, alone = rows.numbers("tasks_per_s"), rows.numbers("reference_per_s")
        share = [one / other for one, other in zip(done, alone, strict=True)]
        middle = statistics.median(rows.numbers("middle_ms"))
        processor = ["", ""]
        if store == "file":
            columns = ("service_us", "store_us")
            processor = [f"{statistics.median(rows.numbers(one)):.0f}" for one in columns]
        line = [STORES[store], TASKS[tasks], in_flight, spread(done, 0), spread(share, 2)]
        lines.append([*line, f"{middle:.2f}", *processor])
    return {"rates": markdown(list(HEAD), lines)}


def tuples(table: Table) -> dict[str, str]:
    """Return a line for each store and number of takers, and one for who waits."""
    rates, waits = [], []
    for store, takers_are, takers in table.distinct("store", "takers_are", "takers"):
        rows = table.where(store=store, takers_are=takers_are, takers=takers).rows
        done = [row.number("pairs_per_s") for row in rows if row.text("pairs_per_s")]
        where = [TUPLES[store, takers_are]]
        rates.append([*where, takers, spread(done, 0)])
        for row in rows:
            if row.text("wait_p50_us"):
                values = [row.number(name) / 1e3 for name in ("wait_p50_us", "wait_p99_us")]
                waits.append([*where, *(f"{value:.2f}" for value in values)])
    return {
        "tuples": markdown(["store", "takers", "put and pulled a second"], rates),
        "waits": markdown(["store", "median ms", "p99 ms"], waits),
    }


def soak(table: Table) -> dict[str, str]:
    """Return a line for each fifth, with a column for what becomes of ended tasks."""
    series = [table.where(ended=ended).rows for (ended,) in table.distinct("ended")]
    fifth = max(1, len(series[0]) // 5)
    lines = []
    for first in range(0, len(series[0]), fifth):
        fifths = [rows[first : first + fifth] for rows in series]
        rates = [[row.number("tasks_per_s") for row in some] for some in fifths]
        done = f"{fifths[0][-1].whole('done'):,}"
        lines.append([done, *(spread(values, 0) for values in rates)])
    head = [f"tasks/s, records {ended}" for (ended,) in table.distinct("ended")]
    return {"soak": markdown(["tasks done", *head], lines)}


DRAWN = (
    Drawn(
        "rates.csv",
        (
            "store",
            "tasks",
            "in_flight",
            "repetition",
            "tasks_per_s",
            "reference_per_s",
            "middle_ms",
            "service_us",
            "store_us",
        ),
        tables=rates,
    ),
    Drawn(
        "tuples.csv",
        (
            "store",
            "takers_are",
            "takers",
            "repetition",
            "pairs_per_s",
            "wait_p50_us",
            "wait_p99_us",
        ),
        tables=tuples,
    ),
    Drawn("soak.csv", ("ended", "done", "tasks_per_s", "middle_ms"), tables=soak),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
