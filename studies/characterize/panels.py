"""Panels of the study's figures: a test's points over sizes or counts, a line for each kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from drawing import style
from drawing.csv_table import Row, Table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from points import values

MB_S = 8e-6
"""Mb/s in bytes a second."""
MICROSECONDS = 1e6
WIDE = 500.0
"""A range from which on only powers of ten are written."""
DASHES = ("-", "--", "-.", ":")
KINDS = (style.BLUE, style.VERMILION, style.GREEN, style.ORANGE, style.GREY)


@dataclass(frozen=True)
class Panel:
    """What a panel shows: rows of a test, along a column, a line for each value of another."""

    title: str
    rows: Table
    along: str = "bytes"
    lines: str = "variant"
    of: str = "seconds"
    names: dict[str, str] = field(default_factory=dict)  # of lines, in the legend
    only: Sequence[str] = ()  # lines that are drawn; all if none are named
    head: str = "bytes of a message"  # what is along the axis
    floor: float = 0.0  # where the other axis begins, if not at its least point

    def label(self) -> str:
        """Return what is along the other axis."""
        return "µs" if self.of == "seconds" else "Mb/s"

    def scaled(self, row: Row) -> float:
        """Return the height of a point."""
        return row.number(self.of) * (MICROSECONDS if self.of == "seconds" else MB_S)


def ordered(keys: Iterable[str]) -> list[str]:
    """Return names of lines, numbers by their size."""
    listed = list(keys)
    return sorted(listed, key=int) if all(key.isdigit() for key in listed) else listed


def draw(axes: Axes, panel: Panel) -> None:
    """Draw a panel."""
    found = ordered(key for (key,) in panel.rows.distinct(panel.lines))
    keys = [key for key in panel.only or found if key in found]
    is_number = all(key.isdigit() for key in keys)
    colours = style.ordered_colours(len(keys)) if is_number else KINDS
    for at, key in enumerate(keys):
        own = panel.rows.where(**{panel.lines: key})
        points = sorted((row.number(panel.along), panel.scaled(row)) for row in own)
        axes.plot(
            [max(x, 0.5) for x, _ in points],
            [y for _, y in points],
            color=colours[at % len(colours)],
            linestyle=DASHES[at % len(DASHES)] if not is_number else "-",
            marker=style.MARKERS[at % len(style.MARKERS)],
            label=panel.names.get(key, key),
        )
    axes.set_xscale("log", base=2 if panel.along != "bytes" else 10)
    if panel.along != "bytes":
        ticks = values(panel.rows, panel.along)
        step = math.ceil(len(ticks) / 8)
        style.log_ticks(axes, x=ticks[::-step][::-1])
    axes.set_yscale("log")
    if panel.floor:
        axes.set_ylim(bottom=panel.floor)
    plain_heights(axes)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.head)
    axes.set_ylabel(panel.label())
    axes.legend(fontsize=7)


def plain_heights(axes: Axes) -> None:
    """Write plain numbers beside a logarithmic axis, fewer where it is long."""
    low, high = axes.get_ylim()
    subs = (1.0, 2.0, 5.0) if high < WIDE * low else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def figure(panels: Sequence[Panel], columns: int) -> Figure:
    """Draw panels side by side and below each other."""
    lines = math.ceil(len(panels) / columns)
    drawn = style.blank(3.6 * columns, 2.9 * lines)
    grid = drawn.subplots(lines, columns, squeeze=False)
    for at, axes in enumerate(grid.flat):
        if at < len(panels):
            draw(axes, panels[at])
        else:
            axes.set_axis_off()
    return drawn
