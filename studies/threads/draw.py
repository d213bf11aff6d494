"""Pools of threads beside each other: times, and how much of two processors they use."""

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

OWN = "Tidings, forks"
TITLES = {"fib": "fib(30)", "queens": "12 queens", "tree": "UTS T1"}
THREADS = 2


def in_order(system: str) -> str:
    """Return the same work without a pool, in the language of a system."""
    return "in order, Rust" if system in RUST else "in order, C++"


def systems(table: Table, work: str) -> list[str]:
    """Return the systems that have this work, those in Rust first."""
    here = {name for (name,) in table.where(work=work).distinct("system")}
    return [name for name in (*RUST, *CPP) if name in here]


def shown(value: Spread, digits: int) -> str:
    """Return a median with its quartiles."""
    low, middle, high = (f"{one:.{digits}f}" for one in value)
    return f"{middle} [{low}, {high}]"


def lines(table: Table, work: str) -> str:
    """Return what the page says of a work."""
    made = []
    for system in systems(table, work):
        wall = spread(medians(table, work, system, "wall_ms"))
        pair = in_order(system), system
        share = spread(against(table, work, pair, "wall_ms", 1 / THREADS))
        spent = spread(against(table, work, pair, "processors_ms"))
        ratio = spread(against(table, work, (system, OWN), "wall_ms"))
        cells = [shown(wall, 1), shown(share, 2), shown(spent, 2), shown(ratio, 2)]
        if system.startswith("in order"):
            cells[1:] = ["-", "-", shown(ratio, 2)]
        made.append([system, *cells])
    heads = ["system", "ms", "of twice in order", "of its processor time", f"time ÷ {OWN}"]
    return markdown(heads, made)


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the page."""
    return {work: lines(table, work) for work in WORKS}


def panel(axes: Axes, table: Table, work: str) -> None:
    """Draw the times of a work, in those of half the work in order."""
    names = [name for name in systems(table, work) if not name.startswith("in order")]
    for place, system in enumerate(reversed(names)):
        pair = system, in_order(system)
        low, middle, high = spread(against(table, work, pair, "wall_ms", THREADS))
        colour = style.BLUE if system.startswith("Tidings") else style.VERMILION
        axes.plot([low, high], [place, place], "-", color=colour)
        axes.plot([middle], [place], "o" if system.startswith("Tidings") else "s", color=colour)
        axes.annotate(f"{middle:.2f}", (middle, place), (0, 6), textcoords="offset points",
                      ha="center", fontsize=8)  # fmt: skip
    axes.axvline(1, color=style.GREY, linestyle=":")
    axes.set_yticks(range(len(names)), reversed(names))
    axes.set_ylim(-0.5, len(names) - 0.3)
    axes.set_title(TITLES[work])
    axes.grid(visible=False, axis="y")


def figure(table: Table) -> Figure:
    """Draw the times of all works."""
    drawn = style.blank(9.0, 2.9)
    panels = drawn.subplots(1, len(WORKS))
    ticks = {"fib": (1, 10, 100, 1_000), "queens": (1, 3, 10, 30), "tree": (0.5, 1, 2, 4, 8)}
    for axes, work in zip(panels, WORKS, strict=True):
        panel(axes, table, work)
        style.log_ticks(axes, x=ticks[work])
        axes.set_xlim(ticks[work][0] * 0.8, ticks[work][-1] * 1.2)
    panels[1].set_xlabel("time ÷ half the time in order (log scale; 1: two processors in full)")
    return drawn


DRAWN = (Drawn("threads.csv", COLUMNS, figure=figure, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
