"""Ages under loss and dead nodes, and the time until a dead node is noticed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, rounded
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = (
    "strategy",
    "nodes",
    "loss_percent",
    "crashed_percent",
    "age_avg_units",
    "age_p99_units",
    "age_max_units",
    "fresh_share",
    "threshold_units",
    "noticed_avg_units",
    "noticed_everywhere_avg_units",
    "noticed_everywhere_max_units",
)
# More lines than these many clusters have would hide each other: the oldest entries are left out.
CLUSTERS_WITH_OLDEST = 2
AGES = (("age_max_units", "^", ":"), ("age_p99_units", "s", "--"), ("age_avg_units", "o", "-"))
NOTICED = (("noticed_everywhere_max_units", "s", "--"), ("noticed_avg_units", "o", "-"))


def figure(table: Table) -> Figure:
    """Draw ages and freshness against loss, ages and times to notice against dead nodes."""
    drawn = style.blank(7.6, 6.2)
    panels = drawn.subplots(2, 2)
    loss, crash = ("loss_percent", "messages lost, %"), ("crashed_percent", "nodes that crashed, %")
    lost = Table(tuple(row for row in table if row.number("crashed_percent") == 0))
    dead = Table(tuple(row for row in table if row.number("loss_percent") == 0))
    gone = Table(tuple(row for row in dead if row.number("crashed_percent") > 0))
    crowded = len(table.distinct("strategy", "nodes")) > CLUSTERS_WITH_OLDEST
    ages = AGES[1:] if crowded else AGES
    for axes, rows, x, lines, y in (
        (panels[0][0], lost, loss, ages, "age, units of time"),
        (panels[0][1], lost, loss, (("fresh_share", "o", "-"),), "share of all pairs"),
        (panels[1][0], dead, crash, ages, "age, units of time"),
        (panels[1][1], gone, crash, NOTICED, "time after the crash, units"),
    ):
        _draw(axes, rows, x, lines)
        axes.set_ylabel(y)
        axes.set_ylim(0, 1.06 * axes.dataLim.ymax)
    panels[0][0].set_title("Ages under loss")
    panels[0][1].set_title("Pairs younger than 20 units")
    panels[0][1].set_ylim(0, 1.03)
    panels[1][0].set_title("Ages among the living, for 100 units")
    panels[1][1].set_title("Until a dead node is noticed")
    _explain(drawn, panels[0][0], table)
    return drawn


def _draw(axes: Axes, table: Table, x: tuple[str, str], lines: Sequence[Sequence[str]]) -> None:
    column, name = x
    steps = [step for (step,) in table.distinct(column)]
    series = table.distinct("strategy", "nodes")
    for (strategy, nodes), colour in zip(series, _colours(len(series)), strict=True):
        rows = table.where(strategy=strategy, nodes=nodes)
        for figure_column, marker, dashes in lines:
            y = rows.numbers(figure_column)
            axes.plot(range(len(steps)), y, marker=marker, linestyle=dashes, color=colour)
    axes.set_xticks(range(len(steps)), steps)
    axes.set_xlim(-0.2, len(steps) - 0.8)
    axes.set_xlabel(name)


def _colours(count: int) -> list[str]:
    palette = [style.BLUE, style.ORANGE, style.GREEN, style.VERMILION, style.GREY, "black"]
    return [palette[at % len(palette)] for at in range(count)]


def _explain(drawn: Figure, axes: Axes, table: Table) -> None:
    """Put one legend under all panels: colours are clusters, dashes are figures."""
    series = table.distinct("strategy", "nodes")
    handles = []
    for (strategy, nodes), colour in zip(series, _colours(len(series)), strict=True):
        name = f"{strategy}, {style.thousands(float(nodes))} nodes"
        handles += axes.plot([], [], color=colour, linewidth=4, label=name)
    for name, marker, dashes in (
        ("average (of a pair)", "o", "-"),
        ("99 % of all ages; longest time everywhere", "s", "--"),
        ("oldest entry of a node", "^", ":"),
    ):
        if marker == "^" and len(series) > CLUSTERS_WITH_OLDEST:
            continue
        handles += axes.plot([], [], marker=marker, linestyle=dashes, color="black", label=name)
    drawn.legend(handles=handles, loc="outside lower center", ncols=2)


def tables(table: Table) -> dict[str, str]:
    """Return what loss does, and what dead nodes do."""
    lost = [row for row in table if row.number("crashed_percent") == 0]
    dead = [row for row in table if row.number("crashed_percent") > 0]
    common = ["strategy", "nodes"]
    figures = ["average", "99 %", "oldest", "heard of", "younger than 20"]
    whole = [*common, "lost", *figures, "older than the threshold"]
    times = ["threshold", "noticed, mean of pairs", "everywhere, mean", "everywhere, longest"]
    loss = [
        [*_cells(row, "loss_percent"), f"{row.number('older_share'):.1e}".replace("nan", "-")]
        for row in lost
    ]
    crash = [
        [
            *_cells(row, "crashed_percent"),
            *(
                rounded(row.number(column), 1)
                for column in (
                    "threshold_units",
                    "noticed_avg_units",
                    "noticed_everywhere_avg_units",
                    "noticed_everywhere_max_units",
                )
            ),
        ]
        for row in dead
    ]
    return {
        "failures-loss": markdown(whole, loss),
        "failures-crash": markdown([*common, "crashed", *figures, *times], crash),
    }


def _cells(row: Row, fault: str) -> list[str]:
    return [
        row.text("strategy"),
        row.text("nodes"),
        f"{row.text(fault)} %",
        rounded(row.number("age_avg_units"), 2),
        rounded(row.number("age_p99_units"), 1),
        rounded(row.number("age_max_units"), 1),
        rounded(100 * row.number("heard_share"), 3, " %"),
        rounded(100 * row.number("fresh_share"), 1, " %"),
    ]


DRAWN = (Drawn("failures.csv", COLUMNS, figure, tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
