"""Weak scaling of mcphoton: efficiency against the number of workers, measured and simulated."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure

COLOURS = (style.BLUE, style.VERMILION)
COLUMNS = ("workers", "task_ms", "tasks", "seconds", "efficiency")


def lengths(table: Table) -> list[str]:
    """Return the milliseconds of a task, the longest first."""
    return [length for (length,) in table.distinct("task_ms")]


def workers(table: Table) -> list[str]:
    """Return the numbers of workers, ascending."""
    return [number for (number,) in table.distinct("workers")]


def name(length: str) -> str:
    """Return what tasks of such a length are called."""
    return "tasks of 1 s" if length == "1000" else f"tasks of {length} ms"


def figure(table: Table) -> Figure:
    """Draw a line for each length of tasks: medians, and each run as a point."""
    drawn = style.blank(6.0, 3.2)
    axes = drawn.subplots()
    numbers = [float(number) for number in workers(table)]
    style.log_ticks(axes, x=numbers)
    for length, colour, marker in zip(lengths(table), COLOURS, "os", strict=True):
        own = table.where(task_ms=length)
        middles = [median(own.where(workers=one).numbers("efficiency")) for one in workers(own)]
        each = own.numbers("workers"), own.numbers("efficiency")
        axes.plot(*each, marker, color=colour, alpha=0.3)
        axes.plot(numbers, middles, marker=marker, color=colour, label=name(length))
    axes.set_ylim(0.0, 1.05)
    axes.axhline(1.0, color=style.GREY, linewidth=0.8)
    axes.set_xlabel("workers, each with as many tasks")
    axes.set_ylabel("time without a runtime / time")
    axes.legend(loc="lower left")
    return drawn


def measured(table: Table) -> dict[str, str]:
    """Return a line for each number of workers: the efficiency, and what the holder spends."""
    lines = []
    for number in workers(table):
        cells = [number]
        for length in lengths(table):
            own = table.where(task_ms=length, workers=number)
            values = sorted(own.numbers("efficiency"))
            cells.append(f"{median(values):.3f} ({values[0]:.3f} to {values[-1]:.3f})")
        own = table.where(task_ms=lengths(table)[-1], workers=number)
        cells.append(f"{median(own.numbers('holder_us')):.0f}")
        lines.append(cells)
    heads = ["workers", *(f"{name(length)}: efficiency" for length in lengths(table))]
    return {"hosts": markdown([*heads, "holder's CPU µs a task"], lines)}


def dataflow(table: Table) -> dict[str, str]:
    """Return the same of mcphoton as a dataflow."""
    return {"dataflow": measured(table)["hosts"]}


def efficiency(row: Row) -> str:
    """Return the efficiency, and how busy the holder is."""
    return f"{row.number('efficiency'):.3f} ({row.number('holder_busy'):.2f})"


def simulated(table: Table) -> dict[str, str]:
    """Return a table for each length of tasks: the efficiency by workers and parts."""
    return {f"simulated-{length}": drawn for length, drawn in by_length(table)}


def simulated_dataflow(table: Table) -> dict[str, str]:
    """Return the same of mcphoton as a dataflow."""
    return {f"simulated-dataflow-{length}": drawn for length, drawn in by_length(table)}


def by_length(table: Table) -> Iterator[tuple[str, str]]:
    """Return each length of tasks with the efficiency by workers and parts."""
    parts = [number for (number,) in table.distinct("parts")]
    for length in lengths(table):
        own = table.where(task_ms=length)
        lines = []
        for number in workers(own):
            cells = [style.thousands(float(number))]
            for part in parts:
                rows = own.where(workers=number, parts=part).rows
                cells += [efficiency(row) for row in rows] or ["—"]
            lines.append(cells)
        heads = ["workers", *("1 part" if part == "1" else f"{part} parts" for part in parts)]
        yield length, markdown(heads, lines)


def by_parts(table: Table) -> Figure:
    """Draw a line for each length of tasks and number of parts."""
    drawn = style.blank(6.0, 3.2)
    axes = drawn.subplots()
    parts = [number for (number,) in table.distinct("parts")]
    for length, colour in zip(lengths(table), COLOURS, strict=True):
        for part, marker in zip(parts, "osD^", strict=False):
            own = table.where(task_ms=length, parts=part)
            each = own.numbers("workers"), own.numbers("efficiency")
            label = f"{name(length)}, {'1 part' if part == '1' else f'{part} parts'}"
            axes.plot(*each, marker=marker, markersize=4, color=colour, label=label)
    style.log_ticks(axes, x=[float(number) for number in workers(table)])
    axes.set_ylim(0.0, 1.05)
    axes.axhline(1.0, color=style.GREY, linewidth=0.8)
    axes.set_xlabel("workers, each with as many tasks")
    axes.set_ylabel("time without a runtime / time")
    axes.legend(loc="lower left", fontsize=7)
    return drawn


MEASURED = (*COLUMNS, "repeat", "holder_us")
SIMULATED = (*COLUMNS, "parts", "holder_busy")
DRAWN = (
    Drawn("hosts.csv", MEASURED, figure=figure, tables=measured),
    Drawn("simulated.csv", SIMULATED, figure=by_parts, tables=simulated),
    Drawn("dataflow.csv", MEASURED, tables=dataflow),
    Drawn("simulated-dataflow.csv", SIMULATED, tables=simulated_dataflow),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
