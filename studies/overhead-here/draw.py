"""Figures 3 to 5 of the paper: an application's time without gossip and beside it, a bar each.

The green bar is the baseline, the blue ones below it gossip at ever shorter intervals, controls are
grey; the red part inside is the time in MPI. Behind each bar stands what may be said of it: the
slowdown where it lies beyond the noise, else its sign that it does not.
"""

from __future__ import annotations

import math
import sys

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, seconds
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = (
    "application",
    "nodes",
    "arm",
    "interval_ms",
    "window",
    "entry_bytes",
    "pairs",
    "contaminated",
    "seconds",
    "slowdown",
    "slowdown_low",
    "slowdown_high",
    "floor",
    "verdict",
    "mpi_share",
    "busy_share",
    "age_avg_ms",
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


def tables(table: Table) -> dict[str, str]:
    """Return a line for each arm of a campaign, and Table 1's grid for each application."""
    lines = [
        [
            row.text("application"),
            row.text("nodes"),
            _arm(row),
            f"{row.text('pairs')} ({row.text('contaminated')})",
            f"{row.number('seconds'):.4g} s",
            _slowdown(row),
            f"{_percent(row.number('slowdown_low'))} to {_percent(row.number('slowdown_high'))} %",
            _percent(row.number("mpi_share"), 1),
            _percent(row.number("busy_share")),
            "" if math.isnan(age := row.number("age_avg_ms")) else seconds(age),
        ]
        for row in table
    ]
    names = ["application", "nodes", "arm", "pairs (dropped)", "time", "slowdown", "95 % interval"]
    return {
        "overhead": markdown([*names, "MPI, %", "busy, %", "age"], lines),
        "slowdown-grid": "\n\n".join(_grid(table, *key) for key in _grids(table)),
    }


def _grids(table: Table) -> list[tuple[str, ...]]:
    return table.where(arm="gossip").distinct("application", "nodes", "entry_bytes")


def _grid(table: Table, application: str, nodes: str, entry: str) -> str:
    """Return slowdowns in the form of the paper's Table 1: a row an interval, a column a window."""
    own = table.where(application=application, nodes=nodes, entry_bytes=entry, arm="gossip")
    windows = [window for (window,) in own.distinct("window")]
    intervals = sorted({row.number("interval_ms") for row in own}, reverse=True)
    cells = {(row.number("interval_ms"), row.text("window")): row for row in own}
    lines = [
        [
            f"{interval:g} ms",
            *(
                _slowdown(cells[interval, window]) if (interval, window) in cells else "—"
                for window in windows
            ),
        ]
        for interval in intervals
    ]
    heading = f"{application}, {nodes} nodes, entries of {entry} B"
    return markdown([heading, *windows], lines)


def _arm(row: Row) -> str:
    name = row.text("arm")
    if name == "gossip":
        window = f"{row.text('window')} of {row.text('entry_bytes')} B"
        name = f"gossip, {row.number('interval_ms'):g} ms, {window}"
    return f"{name} (baseline)" if row.text("verdict") == "baseline" else name


def _slowdown(row: Row) -> str:
    """Return the slowdown where it can be reported, else how large it can be."""
    verdict = row.text("verdict")
    if verdict == "baseline":
        return "A/A pairs"
    if verdict in ("slower", "faster"):
        return f"**{_percent(row.number('slowdown'))} %**"
    if verdict == "too few pairs":
        return verdict
    return f"≤ {_percent(max(row.number('slowdown_high'), row.number('floor')))} %"


def _percent(share: float, digits: int = 2) -> str:
    return "" if math.isnan(share) else f"{100 * share:.{digits}f}"


DRAWN = tuple(
    Drawn(f"{name}.csv", COLUMNS, figure, tables, f"{name}.md")
    for name in ("local", "applications", "ranks", "mpich")
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
