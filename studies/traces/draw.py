"""Bytes of traces against the number of workers: of a worker, and of a steal."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure
from traces import COLUMNS, ORDERS, PROGRAMS


def each(row: Row) -> float:
    """Return the mean bytes of a worker."""
    return row.number("trace_bytes") / row.number("workers")


def line(row: Row) -> list[str]:
    """Return the cells of a run."""
    workers = row.number("workers")
    small = 1 - row.number("traces_above_1024") / workers
    steal = row.number("trace_bytes") / max(1, row.number("steals"))
    counts = [f"{row.number(name):,.0f}" for name in ("workers", "executed", "steals")]
    sizes = [f"{row.number(name):,.0f}" for name in ("trace_bytes_median", "trace_bytes_most")]
    heads = [row.text("program"), row.text("order"), row.text("policy"), *counts]
    return [*heads, f"{steal:.1f}", f"{each(row):,.0f}", *sizes, f"{100 * small:.1f} %"]


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the page."""
    heads = ["program", "order", "victims", "workers", "tasks", "steals", "bytes a steal"]
    heads += ["bytes a worker, mean", "median", "most", "at most 1 KiB"]
    return {"traces": markdown(heads, (line(row) for row in table))}


def figure(table: Table) -> Figure:
    """Draw the bytes of a worker against the number of workers."""
    drawn = style.blank(7.0, 3.0)
    panels = drawn.subplots(1, len(PROGRAMS), sharey=True)
    colours = (style.BLUE, style.VERMILION, style.GREEN)
    for axes, program in zip(panels, PROGRAMS, strict=True):
        for order, colour, marker in zip(ORDERS, colours, style.MARKERS, strict=False):
            rows = table.where(program=program, order=order, policy="lifelines")
            look = {"marker": marker, "color": colour, "label": order}
            axes.plot(rows.numbers("workers"), [each(row) for row in rows], **look)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axhline(1024, color=style.GREY, linestyle=":")
        axes.set_title(program)
        axes.set_xlabel("workers")
    panels[0].set_ylabel("bytes a worker, mean")
    panels[0].legend()
    return drawn


DRAWN = (Drawn("traces.csv", COLUMNS, figure=figure, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
