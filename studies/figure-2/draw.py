"""Figure 2 of Levy et al. (ROSS'14): average age against window, by number of nodes."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, rounded
from matplotlib.figure import Figure

COLUMNS = ("nodes", "window_percent", "age_avg_units", "age_avg_expected_units")


def figure(table: Table) -> Figure:
    """Draw the measured lines, and rings where an independent simulation gave a value."""
    drawn = style.blank(6.4, 4.4)
    axes = drawn.add_subplot()
    sizes = [nodes for (nodes,) in table.distinct("nodes")]
    colours = style.ordered_colours(len(sizes))
    ends = []
    for at, (nodes, colour) in enumerate(zip(sizes, colours, strict=True)):
        points = table.where(nodes=nodes)
        x, y = points.numbers("window_percent"), points.numbers("age_avg_units")
        axes.plot(x, y, color=colour, marker=style.MARKERS[at % len(style.MARKERS)], markersize=4)
        ends.append((x[-1], y[-1], f"{style.thousands(float(nodes))} nodes", colour))
    x, y = table.numbers("window_percent"), table.numbers("age_avg_expected_units")
    axes.scatter(
        x,
        y,
        s=62,
        facecolors="none",
        edgecolors=style.VERMILION,
        linewidths=1.2,
        zorder=5,
        label="independent simulation",
    )
    axes.set_xlabel("window, % of the nodes")
    axes.set_ylabel("average age, units of time")
    axes.set_title("Average age against window")
    axes.set_xticks(range(10, 101, 10))
    axes.set_xlim(5, 102)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper right")
    style.label_ends(axes, ends, gap=9)
    return drawn


def tables(table: Table) -> dict[str, str]:
    """Return the ages by nodes and window, and those beside an independent simulation."""
    windows = [window for (window,) in table.distinct("window_percent")]
    grid = [
        [nodes, *(rounded(age, 2) for age in table.where(nodes=nodes).numbers("age_avg_units"))]
        for (nodes,) in table.distinct("nodes")
    ]
    beside = [
        [
            row.text("nodes"),
            f"{row.text('window_percent')} %",
            rounded(row.number("age_avg_units"), 2),
            f"{row.number('age_avg_expected_units'):g}",
            f"{row.number('deviation_percent'):+.2f} %",
            rounded(row.number("age_max_units"), 1),
            rounded(row.number("age_max_expected_units"), 1),
            rounded(row.number("age_p99_units"), 1),
        ]
        for row in table
        if row.text("age_avg_expected_units")
    ]
    names = ["nodes", "window", "average", "expected", "deviation", "oldest", "expected", "99 %"]
    return {
        "figure2": markdown(["nodes", *(f"{window} %" for window in windows)], grid),
        "figure2-beside": markdown(names, beside),
    }


DRAWN = (Drawn("figure2.csv", COLUMNS, figure, tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
