"""Matrix multiplication by tuples beside MPI's: the tables and the figure of the page."""

from __future__ import annotations

import sys
from statistics import median

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure

COLUMNS = ("repetition", "case", "system", "round", "rank", "figure", "value")

LOOKS = {"mpi": ("MPI", "s", style.VERMILION), "tuples": ("tuples", "o", style.BLUE)}


def counted(table: Table) -> Table:
    """Return the figures of rounds that count: the first one of a run does not."""
    return Table(tuple(row for row in table if row.text("round") not in ("", "0")))


def repetitions(table: Table, case: str) -> list[Table]:
    """Return the rows of a case, of each repetition."""
    own = counted(table.where(case=case))
    return [own.where(repetition=number) for (number,) in own.distinct("repetition")]


def ideal_s(one: Table) -> float:
    """Return the seconds if all ranks were busy to the end, each at its own speed when alone.

    Each alone does as many products as it would have to if all were equally fast.
    """
    alone = one.where(system="alone", figure="seconds")
    ranks = [rank for (rank,) in alone.distinct("rank")]
    each = [median(alone.where(rank=rank).numbers("value")) for rank in ranks]
    return len(ranks) / sum(1 / seconds for seconds in each)


def taken_s(one: Table, system: str) -> float:
    """Return the seconds of a product."""
    return median(one.where(system=system, figure="seconds").numbers("value"))


def spread(values: list[float], digits: int = 2) -> str:
    """Return the median with its range."""
    middle, least, most = median(values), min(values), max(values)
    return f"{middle:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def cases(table: Table) -> list[str]:
    """Return the names of the cases."""
    return [case for (case,) in table.distinct("case")]


def times(table: Table) -> str:
    """Return a line for each case: seconds, and ratios within a repetition."""
    lines = []
    for case in cases(table):
        each = repetitions(table, case)
        ideal = [ideal_s(one) for one in each]
        mpi, tuples = ([taken_s(one, system) for one in each] for system in LOOKS)
        pairs = ((mpi, ideal), (tuples, ideal), (tuples, mpi))
        ratios = [[a / b for a, b in zip(*pair, strict=True)] for pair in pairs]
        seconds = [f"{median(values):.2f}" for values in (ideal, mpi, tuples)]
        lines.append([case, *seconds, *map(spread, ratios)])
    heads = ["", "ideal s", "MPI s", "tuples s", "MPI / ideal", "tuples / ideal", "tuples / MPI"]
    return markdown(heads, lines)


def cpu_s(one: Table, system: str, name: str) -> float:
    """Return the processor time for something, of all ranks in a round."""
    own = one.where(system=system, figure=name)
    return sum(own.numbers("value")) / len(own.distinct("round"))


def spent(one: Table, rounds: int) -> list[float]:
    """Return the processor times for a product, as shares of that of `alone`."""
    names = ("multiply_cpu_s", "put_cpu_s", "claim_cpu_s", "cpu_s")
    *parts, whole = (cpu_s(counted(one), "tuples", name) for name in names)
    (held,) = one.where(figure="holder_cpu_s").numbers("value")
    alone = cpu_s(counted(one), "alone", "cpu_s")
    return [value / alone for value in (*parts, whole - sum(parts), held / rounds)]


def work(table: Table) -> str:
    """Return a line for each case: who did how much, and for what processors were used."""
    rounds = len(table.where(system="tuples", figure="seconds").distinct("round"))
    lines = []
    for case in cases(table):
        own = table.where(case=case)
        tuples = counted(own).where(system="tuples")
        blocks = tuples.where(figure="blocks")
        each = [median(blocks.where(rank=r).numbers("value")) for (r,) in blocks.distinct("rank")]
        repeats = [own.where(repetition=number) for (number,) in own.distinct("repetition")]
        each_spent = [spent(one, rounds) for one in repeats]
        shares = [median(values) for values in zip(*each_spent, strict=True)]
        units = tuples.where(figure="units").rows[0].text("value")
        parts = [f"{100 * share:.1f} %" for share in shares]
        lines.append([case, units, ", ".join(f"{number:g}" for number in each), *parts])
    heads = ["", "units", "blocks of each rank", "products", "putting C", "claims and mapping"]
    return markdown([*heads, "other", "holder"], lines)


def figure(table: Table) -> Figure:
    """Draw the time over the ideal of each repetition."""
    drawn = style.blank(6.0, 2.4)
    axes = drawn.subplots()
    names = cases(table)
    for row, case in enumerate(names):
        for at, (system, (label, marker, colour)) in enumerate(LOOKS.items()):
            values = [taken_s(one, system) / ideal_s(one) for one in repetitions(table, case)]
            places = [row + 0.2 * (at - 0.5)] * len(values)
            shown = label if row == 0 else None
            axes.plot(values, places, marker, color=colour, label=shown, alpha=0.6)
    axes.axvline(1.0, color=style.GREY, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("time / ideal time for the speeds of the ranks")
    axes.grid(visible=False, axis="y")
    axes.legend(loc="upper right")
    return drawn


DRAWN = (
    Drawn(
        "matmul.csv",
        COLUMNS,
        figure=figure,
        tables=lambda table: {"times": times(table), "work": work(table)},
    ),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
