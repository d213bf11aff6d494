"""Pools of threads beside each other: processor time in that of the work in order, and times."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pools import COLUMNS, CPP, RUST, WORKS
from ratios import Spread, against, medians, spread

# The threads of each pool.
THREADS = 2

TITLES = {"fib": "fib(30)", "queens": "12 queens", "tree": "UTS T1"}


def in_order(system: str) -> str:
    """Return the same work without a pool, in the language of a system."""
    return "in order, Rust" if system in RUST else "in order, C++"


def systems(table: Table, work: str) -> list[str]:
    """Return the systems that have this work, those in Rust first."""
    here = {name for (name,) in table.where(work=work).distinct("system")}
    return [name for name in (*RUST, *CPP) if name in here]


def number(value: float) -> str:
    """Return a number with three digits that count, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.{1 if value >= 10 else 2}f}"


def shown(value: Spread) -> str:
    """Return a median with its quartiles."""
    low, middle, high = map(number, value)
    return f"{middle} [{low}, {high}]"


def lines(table: Table, work: str) -> str:
    """Return what the page says of a work."""
    made = []
    for system in systems(table, work):
        spent = spread(medians(table, work, system, "processors_ms"))
        pair = system, in_order(system)
        cost = spread(against(table, work, pair, "processors_ms"))
        wall = spread(medians(table, work, system, "wall_ms"))
        used = spread(
            [
                ratio / THREADS
                for ratio in against(table, work, (in_order(system), system), "wall_ms")
            ]
        )
        cells = [shown(spent), shown(cost), shown(wall)]
        made.append([system, *cells, "" if system == in_order(system) else shown(used)])
    heads = ["system", "processor ms", "÷ in order", "wall ms", "efficiency"]
    return markdown(heads, made)


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the page."""
    return {work: lines(table, work) for work in WORKS}


def panel(axes: Axes, table: Table, work: str) -> None:
    """Draw the processor times of a work, in those of the work in order."""
    names = [name for name in systems(table, work) if not name.startswith("in order")]
    for place, system in enumerate(reversed(names)):
        pair = system, in_order(system)
        low, middle, high = spread(against(table, work, pair, "processors_ms"))
        colour = style.BLUE if system.startswith("Tidings") else style.VERMILION
        axes.plot([low, high], [place, place], "-", color=colour)
        axes.plot([middle], [place], "o" if system.startswith("Tidings") else "s", color=colour)
        axes.annotate(number(middle), (middle, place), (0, 6), textcoords="offset points",
                      ha="center", fontsize=8)  # fmt: skip
    axes.axvline(1, color=style.GREY, linestyle=":")
    axes.set_yticks(range(len(names)), reversed(names))
    axes.set_ylim(-0.5, len(names) - 0.3)
    axes.set_title(TITLES[work])
    axes.grid(visible=False, axis="y")


def figure(table: Table) -> Figure:
    """Draw the processor times of all works."""
    drawn = style.blank(9.0, 2.9)
    panels = drawn.subplots(1, len(WORKS))
    ticks = {"fib": (1, 10, 100, 1_000), "queens": (0.5, 1, 2, 5, 10), "tree": (1, 2, 4)}
    for axes, work in zip(panels, WORKS, strict=True):
        panel(axes, table, work)
        style.log_ticks(axes, x=ticks[work])
        axes.set_xlim(ticks[work][0] * 0.8, ticks[work][-1] * 1.2)
    panels[1].set_xlabel("processor time of two threads ÷ that of the work in order (log scale)")
    return drawn


DRAWN = (Drawn("threads.csv", COLUMNS, figure=figure, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
