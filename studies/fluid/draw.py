"""What grows from 64 to 131,072 processes, and how far the model is from SMPI."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from drawing.style import (
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    VERMILION,
    blank,
    label_ends,
    thousands,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure

GROWTH = ("processes", "test", "variant", "bytes", "count", "seconds", "hops", "busiest_link")
BESIDE = ("machine", "nodes", "test", "variant", "bytes", "count", "smpi_s", "model_s")
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, GREY)
ORDERS = ("TXYZ", "TZYX", "XYZT", "ZYXT")
PAPER_NEAR_US, PAPER_FARTHER_US = 2.8, 2.6
"""Balaji et al.: to a neighbour, and so much more to the farthest of 131,072 cores."""
FAR = 0.05
"""A model that is farther away from SMPI is wrong."""
SETTLED = 63
"""Workers from which on the order in which a master asks hardly changes their mean."""


def chosen(table: Table, test: str, count: int | None = None, size: int | None = None) -> list[Row]:
    """Return the lines of a test with this count and size, if any."""
    return [
        row
        for row in table
        if row.text("test") == test
        and (count is None or row.whole("count") == count)
        and (size is None or row.whole("bytes") == size)
    ]


def sizes(table: Table) -> list[int]:
    """Return the numbers of processes."""
    return sorted({row.whole("processes") for row in table})


def ends(table: Table, processes: int) -> tuple[Row, Row]:
    """Return the nearest and the farthest node's latency of an empty message."""
    own = [
        row for row in chosen(table, "hops-latency", size=0) if row.whole("processes") == processes
    ]
    own.sort(key=lambda row: row.whole("count"))
    return own[0], own[-1]


def halo(table: Table, side: int) -> dict[tuple[str, int], Row]:
    """Return HALO's lines with a side, by order and processes."""
    rows = chosen(table, "halo", count=side)
    return {(row.text("variant").partition(",")[0], row.whole("processes")): row for row in rows}


def lines_of(axes: Axes, lines: Sequence[tuple[str, list[float], list[float]]]) -> None:
    """Draw lines with labels at their ends."""
    last = []
    for (name, x, y), colour, marker in zip(lines, COLOURS, MARKERS, strict=False):
        axes.plot(x, y, color=colour, marker=marker)
        last.append((x[-1], y[-1], name, colour))
    label_ends(axes, last, 9)


def latency(axes: Axes, table: Table) -> None:
    """Draw the latency of the nearest and the farthest node."""
    found = [(processes, *ends(table, processes)) for processes in sizes(table)]
    x = [float(processes) for processes, _, _ in found]
    near = [1e6 * row.number("seconds") for _, row, _ in found]
    far = [1e6 * row.number("seconds") for _, _, row in found]
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 6)
    axes.set(title="latency of 0 B (figure 4)", xlabel="processes", ylabel="µs")
    lines_of(axes, [("nearest", x, near), ("farthest", x, far)])
    paper = [PAPER_NEAR_US, PAPER_NEAR_US + PAPER_FARTHER_US]
    axes.plot([x[-1]] * 2, paper, "x", color=VERMILION, markersize=9, label="paper")
    axes.legend(loc="lower left")


def hot_spot(axes: Axes, table: Table) -> None:
    """Draw what a worker of a hot spot sees, on the largest machine."""
    most = sizes(table)[-1]
    lines = []
    for size, name in ((1, "1 B"), (1 << 20, "1 MiB")):
        own = [row for row in chosen(table, "hotspot", size=size) if row.whole("processes") == most]
        x = [row.number("count") for row in own]
        lines.append((name, x, [row.number("seconds") for row in own]))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(title="hot spot, mean of workers (6 b)", xlabel="workers", ylabel="s")
    lines_of(axes, lines)


def mappings(axes: Axes, table: Table) -> None:
    """Draw HALO by order of ranks."""
    found = halo(table, 1024)
    lines = []
    for order in ORDERS:
        x = [float(processes) for processes in sizes(table)]
        y = [1e6 * found[order, processes].number("seconds") for processes in sizes(table)]
        lines.append((order, x, y))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(title="HALO, N = 1,024 (figure 12)", xlabel="processes", ylabel="µs")
    lines_of(axes, lines)


def figure(table: Table) -> Figure:
    """Draw all three."""
    made = blank(11, 3.6)
    first, second, third = made.subplots(1, 3)
    latency(first, table)
    hot_spot(second, table)
    mappings(third, table)
    return made


def share(table: Table, processes: int) -> str:
    """Return what P0 to P3 keeps of its bandwidth beside P1 to P2; no rows on a short ring."""
    rows = [row for row in chosen(table, "overlap") if row.whole("processes") == processes]
    largest = max((row.whole("bytes") for row in rows), default=0)
    by_flow = {
        row.text("variant"): row.number("seconds") for row in rows if row.whole("bytes") == largest
    }
    if not by_flow:
        return "-"
    return f"{100 * by_flow['P0-P3, no overlap'] / by_flow['P0-P3, with P1-P2']:.0f} %"


def size_lines(table: Table) -> str:
    """Return a line for each size."""
    found, small = halo(table, 1024), halo(table, 2)
    lines = []
    for processes in sizes(table):
        near, far = ends(table, processes)
        spot = [row for row in chosen(table, "hotspot") if row.whole("processes") == processes]
        most = max(row.whole("count") for row in spot)
        at = {
            row.whole("bytes"): row.number("seconds") for row in spot if row.whole("count") == most
        }
        least = min(row.number("seconds") for key, row in small.items() if key[1] == processes)
        best = min(row.number("seconds") for key, row in found.items() if key[1] == processes)
        worst = max(row.number("seconds") for key, row in found.items() if key[1] == processes)
        lines.append(
            [
                thousands(processes),
                f"{1e6 * near.number('seconds'):.2f}",
                f"{1e6 * far.number('seconds'):.2f} ({far.whole('count')})",
                f"{1e3 * at[1]:.3f}",
                f"{at[1 << 20]:.3f}",
                share(table, processes),
                f"{1e6 * least:.1f}",
                f"{1e6 * best:.0f}",
                f"{1e6 * worst:.0f}",
                f"{worst / best:.1f}",
            ]
        )
    heading = ["processes", "nearest, µs", "farthest, µs (hops)", "hot spot 1 B, ms"]
    heading += ["1 MiB, s", "a flow beside another keeps", "HALO N = 2, µs"]
    heading += ["N = 1,024, best order, µs", "worst", "ratio"]
    return markdown(heading, lines)


def order_lines(table: Table) -> str:
    """Return a line for each order of the size that has all of them."""
    found = halo(table, 1024)
    counts = {processes: sum(key[1] == processes for key in found) for processes in sizes(table)}
    full = max(counts, key=lambda processes: counts[processes])
    own = sorted(
        (row.number("seconds"), key[0], row) for key, row in found.items() if key[1] == full
    )
    lines = [
        [name, f"{row.number('hops'):.2f}", row.text("busiest_link"), f"{1e6 * seconds:.0f}"]
        for seconds, name, row in own
    ]
    return markdown(["order", "hops a message", "messages of the busiest link", "µs"], lines)


def away(row: Row) -> float:
    """Return how far the model is from SMPI at a point."""
    return row.number("model_s") / row.number("smpi_s") - 1


def far(table: Table) -> str:
    """Return a line for each point at which the model is wrong, whatever its test."""
    lines = [
        [
            row.text("machine"),
            row.text("nodes"),
            row.text("test"),
            thousands(row.whole("bytes")),
            row.text("count"),
            f"{100 * away(row):+.2f} %",
        ]
        for row in table
        if abs(away(row)) > FAR
    ]
    return markdown(["machine", "nodes", "test", "bytes", "workers", "away"], lines)


def beside(table: Table) -> dict[str, str]:
    """Return, for each machine and test, how far the model is from SMPI."""
    groups: dict[tuple[str, int, str], list[float]] = {}
    for row in table:
        if row.text("test") == "hotspot" and row.whole("count") < SETTLED:
            continue
        key = (row.text("machine"), row.whole("nodes"), row.text("test"))
        groups.setdefault(key, []).append(away(row))
    lines = [
        [
            machine,
            thousands(nodes),
            test,
            str(len(found)),
            f"{100 * sum(found) / len(found):+.2f} %",
            f"{100 * max(found, key=abs):+.2f} %",
        ]
        for (machine, nodes, test), found in sorted(groups.items())
    ]
    heading = ["machine", "nodes", "test", "points", "mean", "farthest"]
    return {"validation": markdown(heading, lines), "far": far(table)}


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the growth."""
    return {"sizes": size_lines(table), "orders": order_lines(table)}


DRAWN = (
    Drawn("growth.csv", GROWTH, figure=figure, tables=tables),
    Drawn("validation.csv", BESIDE, tables=beside),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
