"""Counters at one line and at a line a core: what two cores do, and what the model says of 64."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from matplotlib.figure import Figure

COLUMNS = ("source", "transfer_ns", "keeps", "cores", "counted", "sums_per_s", "adds_per_us")
HOW = ("apart", "together")


def rate(table: Table, **cells: object) -> float:
    """Return additions a microsecond of the one row that has these cells."""
    (row,) = table.where(**cells).rows
    return row.number("adds_per_us")


def number(value: float) -> str:
    """Return a ratio with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def measured(table: Table) -> str:
    """Return what one and two cores do."""
    own = table.where(source="measured")
    lines = []
    for (cores,) in own.distinct("cores"):
        rates = [rate(own, cores=cores, counted=one) for one in ("together", "apart")]
        lines.append([cores, *(f"{one:,.0f}" for one in rates), number(rates[1] / rates[0])])
    heads = ["cores", "one atomic: additions/µs", "counter: additions/µs", "ratio"]
    return markdown(heads, lines)


def model(table: Table) -> str:
    """Return the ratios of the model, for each time of a transfer and what the owner does in it."""
    own = table.where(source="model", sums_per_s="0")
    cores = [one for (one,) in own.distinct("cores")]
    lines = []
    for transfer, keeps in own.distinct("transfer_ns", "keeps"):
        case = own.where(transfer_ns=transfer, keeps=keeps)
        pairs = [[rate(case, cores=one, counted=how) for how in HOW] for one in cores]
        gains = [number(apart / together) for apart, together in pairs]
        lines.append([f"{float(transfer):.0f}", f"{float(keeps):.2f}", *gains])
    return markdown(["transfer ns", "owner goes on", *(f"c = {one}" for one in cores)], lines)


def tables(table: Table) -> dict[str, str]:
    """Return the tables of the page."""
    return {"measured": measured(table), "model": model(table)}


def figure(table: Table) -> Figure:
    """Draw additions a microsecond against cores, measured and of the model."""
    drawn = style.blank(6.0, 3.2)
    axes = drawn.subplots()
    model = table.where(source="model", sums_per_s="0")
    transfers = model.distinct("transfer_ns", "keeps")
    for counted, colour, label, cases in (
        ("apart", style.BLUE, "counter, a line a core", transfers[:1]),
        ("together", style.VERMILION, "one atomic, the owner goes on or not", transfers[:2]),
    ):
        for (transfer, keeps), line in zip(cases, ("-", "--"), strict=False):
            own = model.where(transfer_ns=transfer, keeps=keeps, counted=counted)
            axes.plot(own.numbers("cores"), own.numbers("adds_per_us"), line, color=colour)
        points = table.where(source="measured", counted=counted)
        shown = points.numbers("cores"), points.numbers("adds_per_us")
        axes.plot(*shown, "o", color=colour, label=label)
    style.log_ticks(axes, x=(1, 2, 4, 8, 16, 32, 64), y=(10, 100, 1_000, 10_000, 100_000))
    axes.set_xlabel("cores (points: measured, lines: the model)")
    axes.set_ylabel("additions a microsecond")
    axes.legend(loc="upper left")
    return drawn


DRAWN = (Drawn("counters.csv", COLUMNS, figure=figure, tables=tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
