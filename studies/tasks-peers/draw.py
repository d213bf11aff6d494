"""Durable tasks beside peers: rates and costs without a failure, losses with one."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tally import Spread, spread

Number = Callable[[float], str]

FAILURES = (
    ("worker killed", "lost", "o", style.BLUE),
    ("coordinator killed", "pause", "s", style.VERMILION),
    ("worker frozen", "elsewhere", "^", style.GREEN),
)


def plain(number: float) -> str:
    """Return a number with three digits that count, or all before the point."""
    if number and abs(number) < 100:
        return f"{number:.{max(0, 2 - math.floor(math.log10(abs(number))))}f}"
    return f"{number:,.0f}"


def seconds(number: float) -> str:
    """Return seconds with two decimals."""
    return f"{number:.2f}"


def whole(number: float) -> str:
    """Return how many tasks; a median may lie between two numbers."""
    return f"{number:g}"


def found(table: Table, work: str, system: str, figure: str) -> tuple[Spread | None, bool]:
    """Return the spread of a figure, and whether a value of it is at least so large."""
    own = table.where(work=work, system=system, figure=figure)
    if not own.rows:
        return None, False
    return spread(own.numbers("value")), any(row.text("at_least") == "yes" for row in own)


def cell(table: Table, work: str, system: str, figure: str, number: Number = plain) -> str:
    """Return the median of a figure with its range; a dash where it was not measured."""
    value, is_least = found(table, work, system, figure)
    if value is None:
        return "-"
    if is_least:
        return f"> {number(value.least)}"
    middle, least, most = (number(one) for one in value)
    return middle if least == most else f"{middle} ({least} to {most})"


def ordered(table: Table, works: tuple[str, ...]) -> list[str]:
    """Return the systems that were measured with some works, by their names."""
    rows = [row for work in works for row in table.where(work=work)]
    return sorted({row.text("system") for row in rows}, key=rank)


def rank(system: str) -> tuple[int, str]:
    """Put the limit first, then Tidings, then the others."""
    return (
        0 if system == "ProcessPoolExecutor" else 1 + (not system.startswith("Tidings")),
        system,
    )


def tables(table: Table) -> dict[str, str]:
    """Return what the page shows of it."""
    steady = [
        [
            system,
            cell(table, "no-op", system, "rate"),
            cell(table, "no-op", system, "cpu"),
            cell(table, "1 ms", system, "efficiency_wall", seconds),
            cell(table, "1 ms", system, "efficiency_cpu", seconds),
            cell(table, "single", system, "p50"),
            cell(table, "single", system, "p99"),
        ]
        for system in ordered(table, ("no-op",))
    ]
    names = ["system", "no-op tasks/s", "CPU µs a task", "1 ms: by wall", "by CPU"]
    names += ["one at a time: p50 ms", "p99 ms"]
    return {"steady": markdown(names, steady), **hurt(table)}


def graphs(table: Table) -> dict[str, str]:
    """Return the table of graphs."""
    figures = ("rate", "cpu", "coordinator_cpu")
    lines = [
        [system, *(cell(table, "graph", system, figure) for figure in figures)]
        for system in ordered(table, ("graph",))
    ]
    heading = ["system", "tasks/s", "CPU µs a task", "of the coordinator"]
    return {"graph": markdown(heading, lines)}


def hurt(table: Table) -> dict[str, str]:
    """Return the tables of the failures."""
    columns = {
        "worker killed": {"makespan": seconds, "lost": seconds},
        "coordinator killed": {"pause": seconds},
        "worker frozen": {"elsewhere": seconds},
    }
    names = {
        "makespan": "makespan s",
        "lost": "lost s",
        "pause": "longest pause s",
        "elsewhere": "seconds until it begins elsewhere",
        "again": "tasks run again",
        "again_after_end": "of them finished ones",
        "missing": "results missing",
    }
    made = {}
    for work, timed in columns.items():
        counted = () if work == "worker frozen" else ("again", "again_after_end", "missing")
        lines = [
            [
                system,
                *(cell(table, work, system, figure, number) for figure, number in timed.items()),
                *(cell(table, work, system, figure, whole) for figure in counted),
            ]
            for system in ordered(table, (work,))
        ]
        heading = ["system", *(names[figure] for figure in (*timed, *counted))]
        made[work.replace(" ", "-")] = markdown(heading, lines)
    return made


def figure(table: Table) -> Figure:
    """Draw the rates, and the seconds that failures cost."""
    drawn = style.blank(8.0, 4.2)
    rates, losses = drawn.subplots(1, 2)
    draw_rates(rates, table)
    draw_losses(losses, table)
    return drawn


def draw_rates(axes: Axes, table: Table) -> None:
    """Draw calls that do nothing a second, each system on its own line."""
    systems = ordered(table, ("no-op",))[::-1]
    for at, system in enumerate(systems):
        value, _ = found(table, "no-op", system, "rate")
        assert value is not None
        colour = style.BLUE if system.startswith("Tidings") else style.GREY
        axes.plot([value.least, value.most], [at, at], color=colour)
        axes.plot([value.median], [at], "o", color=colour)
    axes.set_yticks(range(len(systems)), systems)
    style.log_ticks(axes, x=(100, 1_000, 10_000, 100_000))
    axes.set_title("no-op tasks a second")


def draw_losses(axes: Axes, table: Table) -> None:
    """Draw the seconds that each failure costs; an arrow to the right says more than that."""
    systems = ordered(table, tuple(work for work, *_ in FAILURES))[::-1]
    for at, system in enumerate(systems):
        for work, measured, marker, colour in FAILURES:
            value, is_least = found(table, work, system, measured)
            if value is None:
                continue
            shown = max(value.median, 0.01)
            axes.plot([shown], [at], marker, color=colour, fillstyle="none" if is_least else "full")
    for work, measured, marker, colour in FAILURES:
        axes.plot([], [], marker, color=colour, label=f"{work}: {measured}")
    axes.set_yticks(range(len(systems)), systems)
    style.log_ticks(axes, x=(0.01, 0.1, 1, 10))
    axes.set_title("seconds lost (hollow: more)")
    drawn = axes.get_figure(root=True)
    assert isinstance(drawn, Figure)
    drawn.legend(loc="outside lower center", ncols=3, fontsize=8)


COLUMNS = ("work", "system", "repetition", "figure", "value", "unit", "at_least", "busy_before")
DRAWN = (
    Drawn("tasks.csv", COLUMNS, figure=figure, tables=tables),
    Drawn("graphs.csv", COLUMNS, tables=graphs),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
