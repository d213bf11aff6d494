"""All strategies beside each other, at equal bytes."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tidings.csv_table import Row, Table
from tidings.plots import style

COLUMNS = (
    "strategy",
    "nodes",
    "window_percent",
    "loss",
    "dead_percent",
    "clock_error_ms",
    "age_avg_units",
    "age_p99_units",
    "age_max_units",
)
COLOURS = (style.GREY, style.ORANGE, style.VERMILION, style.GREEN, style.BLUE)
BASE = {
    "nodes": 1024.0,
    "window_percent": 20.0,
    "loss": 0.0,
    "dead_percent": 0.0,
    "clock_error_ms": 0.0,
}
UNSYNCHRONISED_MS = 60_000.0


def along(table: Table, axis: str) -> Table:
    """Return the cases in which nothing but ``axis`` differs from the base."""
    rest = {name: value for name, value in BASE.items() if name != axis}
    rows = (
        row for row in table if all(row.number(name) == value for name, value in rest.items())
    )
    return Table(tuple(sorted(rows, key=lambda row: row.number(axis))))


def clock_error(row: Row) -> str:
    """Return how far clocks are off, in words."""
    error = row.number("clock_error_ms")
    return "not set" if error > UNSYNCHRONISED_MS else f"{error:g}"


def figure(table: Table) -> Figure:
    """Draw the averages against each axis, and the tail against the number of nodes."""
    drawn = style.blank(7.6, 8.4)
    panels = drawn.subplots(3, 2)
    axes: tuple[tuple[Axes, str, str, str, str, Callable[[Row], str]], ...] = (
        (panels[0][0], "nodes", "age_avg_units", "Average", "nodes", _plain("nodes")),
        (panels[0][1], "nodes", "age_p99_units", "99 % of all ages", "nodes", _plain("nodes")),
        (
            panels[1][0],
            "window_percent",
            "age_avg_units",
            "Average by window, 1,024 nodes",
            "window, % of the nodes",
            _plain("window_percent"),
        ),
        (
            panels[1][1],
            "loss",
            "age_avg_units",
            "Average by loss",
            "messages lost, %",
            lambda row: f"{100 * row.number('loss'):g}",
        ),
        (
            panels[2][0],
            "dead_percent",
            "age_avg_units",
            "Average by dead nodes",
            "nodes that died, %",
            _plain("dead_percent"),
        ),
        (
            panels[2][1],
            "clock_error_ms",
            "age_avg_units",
            "Average by clocks",
            "largest error of a clock, ms",
            clock_error,
        ),
    )
    for panel, axis, figure_column, title, name, label in axes:
        _draw(panel, along(table, axis), figure_column, label)
        panel.set_title(title)
        panel.set_xlabel(name)
        panel.set_ylabel("age, units of time")
    handles, labels = panels[0][0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=5)
    return drawn


def _plain(column: str) -> Callable[[Row], str]:
    return lambda row: f"{row.number(column):g}"


def _draw(axes: Axes, table: Table, column: str, label: Callable[[Row], str]) -> None:
    steps = list(dict.fromkeys(label(row) for row in table))
    for at, (strategy,) in enumerate(table.distinct("strategy")):
        rows = table.where(strategy=strategy)
        places = [steps.index(label(row)) for row in rows]
        colour = COLOURS[at % len(COLOURS)]
        marker = style.MARKERS[at % len(style.MARKERS)]
        axes.plot(places, rows.numbers(column), color=colour, marker=marker, label=strategy)
    axes.set_xticks(range(len(steps)), steps)
    axes.set_ylim(0, 1.06 * axes.dataLim.ymax)
