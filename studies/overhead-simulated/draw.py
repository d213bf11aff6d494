"""What gossip costs on a simulated torus, against interval and window, beside ROSS'14."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from statistics import median

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from paper import TABLE1, WINDOWS, recalled

COLUMNS = ("application", "nodes", "interval_ms", "window_percent", "slowdown_percent", "mpi_share")
INTERVALS = (1, 2, 4, 8, 16, 32, 64, 256, 1024)
# What is slower by less is drawn at the foot.
LEAST_PERCENT = 0.01


def figure(table: Table) -> Figure:
    """Draw the FFT by windows, and the two other applications at 20 %."""
    drawn = style.blank(8.4, 3.8)
    left, right = drawn.subplots(1, 2, sharex=True, sharey=True)
    colours = style.ordered_colours(len(WINDOWS))
    for place, (window, colour) in enumerate(zip(WINDOWS, colours, strict=True)):
        cells = {at: seen(table, "fft", at, window) for at in INTERVALS}
        _line(left, cells, colour, style.MARKERS[place], f"{window} %")
        paper = {at: row[place] for at, row in TABLE1.items() if place < len(row)}
        left.plot(*_points(paper), color=colour, linestyle=":", linewidth=1)
    left.set_title("MPI-FFT, by window (dotted: the paper)")
    kinds = (("ptrans", "PTRANS", style.BLUE, "o"), ("proxy", "proxy", style.VERMILION, "s"))
    for application, name, colour, marker in kinds:
        cells = {at: seen(table, application, at, 20) for at in INTERVALS}
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


def seen(table: Table, application: str, interval: int, window: int) -> float | None:
    """Return the median slowdown of a cell over its seeds; none if it was not run.

    Now and then gossip resolves how an application's messages meet on the links, and a run gets
    faster: one such run of three would decide a mean.
    """
    rows = [
        row.number("slowdown_percent")
        for row in table
        if row.text("application") == application
        and row.number("interval_ms") == interval
        and row.number("window_percent") == window
    ]
    return median(rows) if rows else None


def tables(table: Table) -> dict[str, str]:
    """Return Table 1's grid, equal bytes along its diagonals, and the others against interval."""
    return {
        "table1": markdown(["interval", *(f"{w} %" for w in WINDOWS)], _grid(table)),
        "equal-bytes": markdown(
            ["bytes as of", *(f"{w} % window" for w in WINDOWS)], _diagonals(table)
        ),
        "against-interval": markdown(
            ["interval", "PTRANS", "the paper", "proxy", "the paper (COSMO-SPECS+FD4)"],
            _intervals(table),
        ),
    }


def _percent(number: float | None, digits: int = 2) -> str:
    return "-" if number is None else f"{number:.{digits}f} %"


def _grid(table: Table) -> Iterable[list[str]]:
    for interval in (256, *TABLE1):
        said = dict(zip(WINDOWS, TABLE1.get(interval, ()), strict=False))
        cells = []
        for window in WINDOWS:
            here = _percent(seen(table, "fft", interval, window))
            cells.append(f"{here} ({_percent(said.get(window), 1)})")
        yield [f"{interval} ms", *cells]


def _diagonals(table: Table) -> Iterable[list[str]]:
    """Yield cells of equal bytes a second: each halving of the interval halves the window."""
    for interval in (64, 32, 16, 8):
        cells = []
        for place, window in enumerate(WINDOWS):
            other = interval // 2 ** (len(WINDOWS) - 1 - place)
            cells.append(f"{_percent(seen(table, 'fft', other, window))} at {other} ms")
        yield [f"80 % at {interval} ms", *cells]


def _intervals(table: Table) -> Iterable[list[str]]:
    for interval in (1024, 256, 64, 16, 8, 4, 2, 1):
        cells = []
        for application in ("ptrans", "proxy"):
            cells.append(_percent(seen(table, application, interval, 20)))
            cells.append(_percent(recalled(application, interval), 1))
        yield [f"{interval} ms", *cells]


DRAWN = (Drawn("overhead.csv", COLUMNS, figure, tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
