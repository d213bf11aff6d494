"""The strategies beside each other at equal bytes: ages as one thing at a time is changed."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, rounded
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# The point from which one thing at a time is changed, as `tidings sim strategies` has it.
BASE = {
    "nodes": 1024.0,
    "window_percent": 20.0,
    "loss": 0.0,
    "dead_percent": 0.0,
    "clock_error_ms": 0.0,
}
COLUMNS = ("strategy", *BASE, "age_avg_units", "age_p99_units")
NAMES = {
    "nodes": "nodes",
    "window_percent": "window, % of the nodes",
    "loss": "messages lost, %",
    "dead_percent": "nodes that died, %",
    "clock_error_ms": "error of the clocks, ms",
}
UNSYNCHRONISED_MS = 3_600_000.0
COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.VERMILION, style.GREY, "black")


def figure(table: Table) -> Figure:
    """Draw a panel for each thing that is changed, and the names in the sixth place."""
    drawn = style.blank(8.6, 5.6)
    panels = drawn.subplots(2, 3, sharey=True)
    places = panels.flatten().tolist()
    strategies = [strategy for (strategy,) in table.distinct("strategy")]
    for axes, varied in zip(places, BASE, strict=False):
        _draw(axes, table, varied, strategies)
    for row in panels:
        row[0].set_ylabel("age, units of time")
    _explain(places[-1], strategies)
    return drawn


def _draw(axes: Axes, table: Table, varied: str, strategies: list[str]) -> None:
    rows = [row for row in table if _differs_in(row, varied)]
    steps = sorted({row.number(varied) for row in rows})
    style.log_ticks(axes, y=[2, 5, 10, 20, 50, 100])
    for at, strategy in enumerate(strategies):
        own = {row.number(varied): row for row in rows if row.text("strategy") == strategy}
        x = [place for place, step in enumerate(steps) if step in own]
        shape = {"color": COLOURS[at % len(COLOURS)], "marker": style.MARKERS[at]}
        for column, dashes in (("age_p99_units", ":"), ("age_avg_units", "-")):
            y = [own[step].number(column) for step in steps if step in own]
            axes.plot(x, y, linestyle=dashes, color=shape["color"], marker=shape["marker"])
    axes.set_xticks(range(len(steps)), [_step(varied, step) for step in steps])
    axes.set_xlim(-0.3, len(steps) - 0.7)
    axes.set_xlabel(NAMES[varied])


def _differs_in(row: Row, varied: str) -> bool:
    """Whether nothing but one column differs from the base."""
    return all(row.number(column) == BASE[column] for column in BASE if column != varied)


def _step(column: str, value: float) -> str:
    if column == "loss":
        value *= 100
    if column == "clock_error_ms" and value >= UNSYNCHRONISED_MS:
        return "any"
    return f"{value:g}"


def _explain(axes: Axes, strategies: list[str]) -> None:
    """Put the names where no panel is: colours and markers are strategies, dashes figures."""
    axes.set_axis_off()
    handles = []
    for at, strategy in enumerate(strategies):
        colour, marker = COLOURS[at % len(COLOURS)], style.MARKERS[at]
        handles += axes.plot([], [], color=colour, marker=marker, label=strategy)
    handles += axes.plot([], [], color="black", label="average")
    handles += axes.plot([], [], color="black", linestyle=":", label="99 % of all ages")
    axes.legend(handles=handles, loc="center")


def tables(table: Table) -> dict[str, str]:
    """Return a line for each case, with average, 99 % and oldest of each strategy."""
    names = [strategy for (strategy,) in table.distinct("strategy")]
    case = ("nodes", "window_percent", "loss", "dead_percent", "clock_error_ms")
    lines = []
    for cells in table.distinct(*case):
        nodes, window, loss, dead, clock = cells
        rows = table.where(**dict(zip(case, cells, strict=True)))
        found = {row.text("strategy"): row for row in rows}
        hour = float(clock) >= 3_600_000
        lines.append(
            [
                nodes,
                f"{window} %",
                f"{100 * float(loss):g} %",
                f"{dead} %",
                "any" if hour else f"{clock} ms",
                *(_ages(found[name]) if name in found else "-" for name in names),
            ]
        )
    heading = ["nodes", "window", "lost", "dead", "clocks", *names]
    return {"strategies": markdown(heading, lines)}


def _ages(row: Row) -> str:
    columns = (("age_avg_units", 2), ("age_p99_units", 1), ("age_max_units", 1))
    return " / ".join(rounded(row.number(column), digits) for column, digits in columns)


DRAWN = (Drawn("strategies.csv", COLUMNS, figure, tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
