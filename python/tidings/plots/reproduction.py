"""What gossip costs on a simulated torus, against interval and window, beside ROSS'14."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tidings import reproduction
from tidings.csv_table import Table
from tidings.plots import style

COLUMNS = reproduction.COLUMNS
INTERVALS = (1, 2, 4, 8, 16, 32, 64, 256, 1024)
# What is slower by less is drawn at the foot.
LEAST_PERCENT = 0.01


def figure(table: Table) -> Figure:
    """Draw the FFT by windows, and the two other applications at 20 %."""
    drawn = style.blank(8.4, 3.8)
    left, right = drawn.subplots(1, 2, sharex=True, sharey=True)
    colours = style.ordered_colours(len(reproduction.WINDOWS))
    for place, (window, colour) in enumerate(zip(reproduction.WINDOWS, colours, strict=True)):
        cells = {at: reproduction.seen(table, "fft", at, window) for at in INTERVALS}
        _line(left, cells, colour, style.MARKERS[place], f"{window} %")
        paper = {at: row[place] for at, row in reproduction.TABLE1.items() if place < len(row)}
        left.plot(*_points(paper), color=colour, linestyle=":", linewidth=1)
    left.set_title("MPI-FFT, by window (dotted: the paper)")
    kinds = (("ptrans", "PTRANS", style.BLUE, "o"), ("proxy", "proxy", style.VERMILION, "s"))
    for application, name, colour, marker in kinds:
        cells = {at: reproduction.seen(table, application, at, 20) for at in INTERVALS}
        _line(right, cells, colour, marker, name)
    right.set_title("The others, 20 %")
    for axes in (left, right):
        style.log_ticks(axes, x=list(INTERVALS), y=[0.01, 0.1, 1, 10, 100])
        axes.set_xlabel("interval, ms")
        axes.set_ylim(LEAST_PERCENT, 100)
        axes.legend(fontsize=8)
    left.set_ylabel("slowdown, %")
    return drawn


def _points(cells: dict[int, float]) -> tuple[list[int], list[float]]:
    known = sorted(cells.items())
    return [at for at, _ in known], [max(value, LEAST_PERCENT) for _, value in known]


def _line(
    axes: Axes, cells: dict[int, float | None], colour: style.Colour, marker: str, name: str
) -> None:
    known = {at: value for at, value in cells.items() if value is not None}
    axes.plot(*_points(known), color=colour, marker=marker, label=name)
