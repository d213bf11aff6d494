"""The slides' age table: ages in seconds against the interval, beside what the slides say."""

from __future__ import annotations

import math
import sys

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, rounded
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = ("nodes", "interval_ms", "age_avg_s", "age_p99_s", "age_max_s", "age_avg_said_s")
FIGURES = (
    ("age_max_s", "oldest entry of a node", style.VERMILION, "^"),
    ("age_p99_s", "99 % of all ages", style.ORANGE, "s"),
    ("age_avg_s", "average", style.BLUE, "o"),
)


def figure(table: Table) -> Figure:
    """Draw each figure as a band from the smallest to the largest cluster."""
    drawn = style.blank(6.4, 4.4)
    axes = drawn.add_subplot()
    sizes = [nodes for (nodes,) in table.distinct("nodes")]
    few, many = table.where(nodes=sizes[0]), table.where(nodes=sizes[-1])
    intervals = few.numbers("interval_ms")
    style.log_ticks(axes, x=intervals, y=[0.01, 0.1, 1, 10])
    ends = []
    for column, name, colour, marker in FIGURES:
        low, high = few.numbers(column), many.numbers(column)
        axes.fill_between(intervals, low, high, color=colour, alpha=0.35, linewidth=0)
        axes.plot(intervals, high, color=colour, marker=marker)
        axes.plot(intervals, low, color=colour, linewidth=0.8)
        middle = math.sqrt(low[-1] * high[-1])
        ends.append((intervals[-1], middle, name, colour))
    _draw_slides(few, axes)
    axes.set_xlabel("interval (the unit of time), ms")
    axes.set_ylabel("age, s")
    first, last = (style.thousands(float(nodes)) for nodes in (sizes[0], sizes[-1]))
    axes.set_title(f"Ages at a window of 20 %, {first} nodes (lower edge) to {last} (upper)")
    axes.legend(loc="upper left")
    style.label_ends(axes, ends, gap=10)
    return drawn


def _draw_slides(table: Table, axes: Axes) -> None:
    said = [row for row in table if row.text("age_avg_said_s")]
    x, y, below, above = [], [], [], []
    for row in said:
        bounds = [float(bound) for bound in row.text("age_avg_said_s").split("-")]
        x.append(row.number("interval_ms"))
        y.append(sum(bounds) / len(bounds))
        below.append(y[-1] - bounds[0])
        above.append(bounds[-1] - y[-1])
    if x:
        axes.errorbar(
            x,
            y,
            yerr=[below, above],
            fmt="D",
            color="black",
            markersize=5,
            markerfacecolor="white",
            capsize=4,
            zorder=5,
            label="the slides on the average",
        )


def tables(table: Table) -> dict[str, str]:
    """Return the slides' intervals in full, and the averages at all intervals."""
    slides = [
        [
            f"{row.text('interval_ms')} ms",
            row.text("nodes"),
            f"{rounded(row.number('age_avg_s'), 2)} s",
            f"{row.text('age_avg_said_s').replace('-', ' to ')} s",
            f"{rounded(row.number('age_p99_s'), 1)} s",
            f"{rounded(row.number('age_max_s'), 1)} s",
        ]
        for (interval,) in table.distinct("interval_ms")
        for row in table.where(interval_ms=interval)
        if row.text("age_avg_said_s")
    ]
    averages = [
        [nodes, *(f"{1e3 * age:,.0f}" for age in table.where(nodes=nodes).numbers("age_avg_s"))]
        for (nodes,) in table.distinct("nodes")
    ]
    intervals = [f"{interval} ms" for (interval,) in table.distinct("interval_ms")]
    names = ["interval", "nodes", "average", "the slides", "99 % of all", "oldest of a node"]
    return {
        "ages": markdown(names, slides),
        "ages-averages": markdown(["nodes", *intervals], averages),
    }


DRAWN = (Drawn("ages.csv", COLUMNS, figure, tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
