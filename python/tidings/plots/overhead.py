"""Figures 3 to 5 of the paper: an application's time without gossip and beside it, a bar each.

The green bar is the baseline, the blue ones below it gossip at ever shorter intervals, controls are
grey; the red part inside is the time in MPI. Behind each bar stands what may be said of it: the
slowdown where it lies beyond the noise, else its sign that it does not.
"""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tidings.csv_table import Row, Table
from tidings.plots import style

COLUMNS = (
    "application",
    "nodes",
    "arm",
    "interval_ms",
    "window",
    "entry_bytes",
    "seconds",
    "slowdown",
    "verdict",
    "mpi_share",
)
CONTROLS = {"none": "none hidden", "asleep": "asleep", "busy": "hidden and busy"}


def figure(table: Table) -> Figure:
    """Draw a panel for each application (rows) and number of nodes (columns)."""
    applications = [name for (name,) in table.distinct("application")]
    sizes = [nodes for (nodes,) in table.distinct("nodes")]
    bars = max(
        len(_bars(table.where(application=name, nodes=nodes)))
        for name in applications
        for nodes in sizes
    )
    width, height = 2.0 + 3.6 * len(sizes), len(applications) * (0.9 + 0.24 * bars)
    drawn = style.blank(width, height)
    panels = drawn.subplots(len(applications), len(sizes), squeeze=False)
    for row, name in zip(panels, applications, strict=True):
        for axes, nodes in zip(row, sizes, strict=True):
            own = _bars(table.where(application=name, nodes=nodes))
            _draw(axes, own, labelled=axes is row[0])
            axes.set_title(f"{name}, {style.thousands(float(nodes))} nodes")
    for axes in panels[-1]:
        axes.set_xlabel("time, s (lower is better); red: in MPI")
    return drawn


def _bars(table: Table) -> list[Row]:
    """Return the baseline, the controls and gossip from long intervals to short ones."""

    def place(row: Row) -> tuple[int, float]:
        if row.text("verdict") == "baseline":
            return 0, 0.0
        interval = row.number("interval_ms")
        return (1, 0.0) if math.isnan(interval) else (2, -interval)

    return sorted(table, key=place)


def _draw(axes: Axes, bars: list[Row], *, labelled: bool) -> None:
    longest = max((row.number("seconds") for row in bars), default=1.0)
    several = len({(row.text("window"), row.text("entry_bytes")) for row in bars}) > 2
    for at, row in enumerate(bars):
        seconds, share = row.number("seconds"), row.number("mpi_share")
        axes.barh(at, seconds, height=0.72, color=_colour(row))
        if not math.isnan(share):
            axes.barh(at, seconds * share, height=0.36, color=style.VERMILION)
        axes.text(
            seconds + 0.02 * longest, at, f"{seconds:.4g} s  {_said(row)}", va="center", fontsize=7
        )
    axes.set_yticks(
        range(len(bars)), [_name(row, several=several) for row in bars] if labelled else []
    )
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.55 * longest)
    axes.grid(visible=False, axis="y")


def _colour(row: Row) -> str:
    if row.text("verdict") == "baseline":
        return style.GREEN
    return style.BLUE if row.text("arm") == "gossip" else style.GREY


def _name(row: Row, *, several: bool) -> str:
    if row.text("arm") != "gossip":
        return CONTROLS[row.text("arm")]
    window = f", {row.text('window')} of {row.text('entry_bytes')} B" if several else ""
    return f"interval {row.number('interval_ms'):g} ms{window}"


def _said(row: Row) -> str:
    verdict = row.text("verdict")
    if verdict in ("slower", "faster"):
        return f"{100 * row.number('slowdown'):+.2f} %"
    return "" if verdict == "baseline" else verdict
