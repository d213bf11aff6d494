"""What a check for races costs, and how many nodes are climbed, with each way to ancestors."""

from __future__ import annotations

import statistics
import sys

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure
from races import COLUMNS, THREADS

PROGRAMS = ("fib", "nqueens", "cholesky", "scf")
WAYS = {
    "Nodes": "nodes",
    "Phases": "steals",
    "Jumps": "jumps",
    "PhasesAndJumps": "steals and jumps",
    "Labels": "labels",
}


def middle(table: Table, column: str) -> float:
    """Return the median of a column."""
    return statistics.median(table.numbers(column))


def climbed(table: Table) -> float:
    """Return how many nodes are climbed for a pair."""
    pairs = zip(table.numbers("climbed"), table.numbers("pairs"), strict=True)
    return statistics.median(nodes / count for nodes, count in pairs)


def steps(table: Table) -> str:
    """Return the nodes climbed for a pair in each way, and the share that each way leaves."""
    lines = []
    for program in PROGRAMS:
        for threads in THREADS:
            rows = table.where(program=program, threads=threads)
            each = {way: climbed(rows.where(way=way)) for way in WAYS}
            cells = [f"{each['Nodes']:.2f}"]
            cells += [f"{each[way]:.2f} ({each[way] / each['Nodes']:.2f})" for way in WAYS][1:]
            counts = [f"{middle(rows, column):,.0f}" for column in ("pairs", "nodes", "phases")]
            lines.append([program, str(threads), *counts, *cells])
    return markdown(["program", "threads", "pairs", "nodes", "phases", *WAYS.values()], lines)


def ratios(table: Table, kind: str) -> str:
    """Return the median of checked over plain runs, with its quartiles."""
    pairs = zip(table.numbers(f"checked_{kind}"), table.numbers(f"plain_{kind}"), strict=True)
    low, half, high = statistics.quantiles([one / other for one, other in pairs], n=4)
    return f"{half:.2f} [{low:.2f}, {high:.2f}]"


def cost(table: Table) -> str:
    """Return what checked runs take, in plain runs, on as many threads as processors."""
    lines = []
    for program in PROGRAMS:
        rows = table.where(program=program, threads=THREADS[0])
        by_nodes, labels = rows.where(way="Nodes"), rows.where(way="Labels")
        plain = f"{middle(rows, 'plain_processors_ms'):,.1f}"
        kinds = ("processors_ms", "ms")
        cells = [ratios(part, kind) for part in (labels, by_nodes) for kind in kinds]
        lines.append([program, plain, *cells])
    heads = ["program", "plain, processor ms", "labels, processor time", "labels, wall time"]
    return markdown([*heads, "nodes, processor time", "nodes, wall time"], lines)


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the page."""
    return {"steps": steps(table), "cost": cost(table)}


def figure(table: Table) -> Figure:
    """Draw the nodes climbed for a pair in each way, on two threads."""
    drawn = style.blank(7.0, 2.8)
    axes = drawn.subplots()
    colours = (style.GREY, style.VERMILION, style.ORANGE, style.GREEN, style.BLUE)
    width = 0.8 / len(WAYS)
    for at, ((way, name), colour) in enumerate(zip(WAYS.items(), colours, strict=True)):
        rows = [table.where(program=one, threads=THREADS[0], way=way) for one in PROGRAMS]
        places = [place + (at - 2) * width for place in range(len(PROGRAMS))]
        axes.bar(places, [climbed(row) for row in rows], width, color=colour, label=name)
    axes.set_xticks(range(len(PROGRAMS)), PROGRAMS)
    axes.set_ylabel("nodes climbed for a pair")
    axes.legend()
    axes.grid(visible=False, axis="x")
    return drawn


DRAWN = (Drawn("races.csv", COLUMNS, figure=figure, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
