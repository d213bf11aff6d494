"""Bytes of traces against the number of workers: of a worker, and of a steal."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure
from overhead import COLUMNS as LAPS
from overhead import middle
from replay import COLUMNS as PAIRS
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


def ratios(table: Table, numerator: str, denominator: str) -> str:
    """Return the median of a ratio within pairs, with its interval."""
    pairs = zip(table.numbers(numerator), table.numbers(denominator), strict=True)
    return "{:.4f} ({:.4f} to {:.4f})".format(*middle(one / other for one, other in pairs))


def cost(table: Table) -> dict[str, str]:
    """Return the table of runs with a trace beside runs without."""
    lines = []
    for (tree,) in table.distinct("tree"):
        own = table.where(tree=tree)
        ways = (f"{what}_ms" for what in ("processors", "wall"))
        found = [ratios(own, f"traced_{way}", f"plain_{way}") for way in ways]
        lines.append([tree, str(len(own.rows)), *found])
    heads = ["tree", "pairs", "traced / plain, of the processors", "by wall"]
    return {"cost": markdown(heads, lines)}


def again(table: Table) -> dict[str, str]:
    """Return the table of phases that were done again."""
    lines = []
    for (program,) in table.distinct("program"):
        own = table.where(program=program)
        lines.append([program, str(len(own.rows)), ratios(own, "replayed_s", "traced_s")])
    return {"again": markdown(["program", "pairs", "replayed / traced"], lines)}


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


DRAWN = (
    Drawn("traces.csv", COLUMNS, figure=figure, tables=tables),
    Drawn("overhead.csv", LAPS, tables=cost),
    Drawn("replay.csv", PAIRS, tables=again),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
