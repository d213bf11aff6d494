"""What waiting tasks and idle workers cost: the table of the page."""

from __future__ import annotations

import statistics
import sys

from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown

COLUMNS = ("what", "count", "value", "unit")


def shown(number: float) -> str:
    """Return a number with three digits, as far as they are behind the point."""
    digits = 0 if number >= 100 else 1 if number >= 10 else 2 if number >= 1 else 3
    return f"{number:,.{digits}f}"


def tables(table: Table) -> dict[str, str]:
    """Return a line for each figure: the median where there are several, and their range."""
    lines = []
    for what, unit in table.distinct("what", "unit"):
        rows = table.where(what=what, unit=unit)
        values = rows.numbers("value")
        cell = shown(statistics.median(values))
        if len(values) > 1:
            cell += f" ({shown(min(values))} to {shown(max(values))})"
        lines.append([what, f"{rows.rows[0].whole('count'):,}", cell, unit])
    return {"footprint": markdown(["", "tasks or workers", "", "unit"], lines)}


def graphs(table: Table) -> dict[str, str]:
    """Return a line for each graph, with its rate and the most memory of both processes."""
    lines = []
    for (count,) in table.distinct("count"):
        rows = table.where(count=count)
        one = {row.text("what"): row.number("value") for row in rows.rows}
        cells = [shown(one[what]) for what in ("done", "holder", "submitter")]
        lines.append([f"{int(count):,}", *cells])
    return {"graphs": markdown(["tasks", "tasks/s", "holder, MB", "submitter, MB"], lines)}


def ended(table: Table) -> dict[str, str]:
    """Return a line for each number of tasks that have ended: memory, file, and both starts."""
    lines = []
    for (count,) in table.distinct("count"):
        rows = table.where(count=count)
        one = {row.text("what"): row.number("value") for row in rows.rows}
        cells = [shown(one[what]) for what in ("done", "memory", "file", "killed", "left")]
        lines.append([f"{int(count):,}", *cells])
    heading = ["ended", "tasks/s", "memory, MB", "file, MB", "start after a kill, s", "start, s"]
    return {"ended": markdown(heading, lines)}


def first(table: Table) -> dict[str, str]:
    """Return the sizes of the wheel, and when each step from a clone on was done."""
    lines = [
        [what, f"{table.numbers(column)[0] / 1e6:.1f}"]
        for what, column in (("wheel, MB", "wheel_bytes"), ("installed, MB", "installed_bytes"))
    ]
    for what, column in FIRST:
        values = table.numbers(column)
        median = statistics.median(values)
        lines.append([what, f"{median:.1f} ({min(values):.1f} to {max(values):.1f})"])
    return {"first": markdown(["", ""], lines)}


FIRST = (
    ("cloned and installed after, s", "installed_s"),
    ("first result in Python after, s", "python_s"),
    ("first result of a command after, s", "command_s"),
)

STEPS = ("wheel_bytes", "installed_bytes", *(column for _, column in FIRST))

DRAWN = (
    Drawn("footprint.csv", COLUMNS, tables=tables),
    Drawn("graphs.csv", COLUMNS, tables=graphs),
    Drawn("ended.csv", COLUMNS, tables=ended),
    Drawn("first.csv", STEPS, tables=first),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
