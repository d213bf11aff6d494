"""What hosts made here do beside what was asked and modelled."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence

import days
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, rounded
from drawing.style import BLUE, GREY, ORANGE, blank
from matplotlib.figure import Figure

LINKS = ("machine", "from", "to", "asked_mbit", "mbit", "asked_round_us", "round_us", "counted")
OVERLAP = ("flow", "beside", "runs", "mbit", "mbit_low", "mbit_high")
MAPPINGS = ("order", "hops", "messages", "links_s", "model_s", "seconds", "low", "high", "place")
HILBERT = "Hilbert"


def percent(share: float) -> str:
    """Return a share in per cent, with its sign."""
    return f"{100 * share:+.1f} %"


def farthest(rows: Sequence[Row], measured: str, asked: str) -> str:
    """Return how far the farthest is from what was asked; a dash where nothing was."""
    off = [row.number(measured) / row.number(asked) - 1 for row in rows if row.number(asked) > 0]
    return percent(max(off, key=abs)) if off else "-"


def listed(rows: Sequence[Row], asked: str, per: float = 1.0) -> str:
    """Return the different values that were asked, the largest first; a dash for those of 0."""
    values = sorted({row.number(asked) for row in rows}, reverse=True)
    return " / ".join(f"{value / per:g}" if value > 0 else "-" for value in values)


def of_links(table: Table) -> dict[str, str]:
    """Return a line for each machine."""
    lines = []
    for (machine,) in table.distinct("machine"):
        own = list(table.where(machine=machine))
        counted = sum(row.text("counted") == "true" for row in own)
        lines.append(
            [
                machine,
                str(len(own)),
                listed(own, "asked_mbit"),
                farthest(own, "mbit", "asked_mbit"),
                listed(own, "asked_round_us", per=1000),
                farthest(own, "round_us", "asked_round_us"),
                f"{counted} of {len(own)}",
            ]
        )
    heading = ["machine", "directions of links", "asked, Mbit/s", "rate, farthest off"]
    heading += ["asked, ms there and back", "round trip, farthest off", "counted right"]
    return {"links": markdown(heading, lines)}


def of_overlap(table: Table) -> dict[str, str]:
    """Return a line for each flow beside the other."""
    lines = []
    for row in table:
        if row.text("beside") == "no overlap":
            continue
        (alone,) = table.where(flow=row.text("flow"), beside="no overlap")
        share = row.number("mbit") / alone.number("mbit")
        lines.append(
            [
                row.text("flow"),
                row.text("beside"),
                f"{alone.number('mbit'):.1f}",
                f"{row.number('mbit'):.1f}",
                f"{row.number('mbit_low'):.1f} to {row.number('mbit_high'):.1f}",
                f"{100 * share:.0f} %",
            ]
        )
    heading = ["flow", "beside", "alone, Mbit/s", "beside it", "95 %", "kept"]
    return {"overlap": markdown(heading, lines)}


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, the mean rank where values are equal to a millionth."""
    close = [float(f"{value:.6g}") for value in values]
    return [
        sum(other < own for other in close) + (1 + sum(other == own for other in close)) / 2
        for own in close
    ]


def orders(table: Table) -> list[Row]:
    """Return the 24 orders of X, Y, Z and T, without Hilbert's."""
    return [row for row in table if row.text("order") != HILBERT]


def agreement(table: Table, predicted: str) -> list[str]:
    """Return how well a prediction ranks the orders: the correlation, the best and its place."""
    own = orders(table)
    measured = [row.number("seconds") for row in own]
    best = min(own, key=lambda row: (float(f"{row.number(predicted):.6g}"), row.text("order")))
    place = 1 + sum(value < best.number("seconds") for value in measured)
    rho = statistics.correlation(ranks([row.number(predicted) for row in own]), ranks(measured))
    return [f"{rho:.3f}", best.text("order"), f"{place} of {len(own)}"]


def of_mappings(table: Table) -> dict[str, str]:
    """Return how well orders were predicted, and each of them."""
    by = [
        ["model of flows", *agreement(table, "model_s")],
        ["busiest link", *agreement(table, "links_s")],
        ["hops a message", *agreement(table, "hops")],
    ]
    heading = ["predicted by", "rank correlation", "predicted best", "its place as measured"]
    lines = [
        [
            row.text("order"),
            f"{row.number('hops'):.2f}",
            row.text("messages"),
            f"{row.number('links_s'):.3f}",
            f"{row.number('model_s'):.3f}",
            f"{row.number('seconds'):.3f}",
            f"{row.number('low'):.3f} to {row.number('high'):.3f}",
            row.text("place"),
        ]
        for row in table
    ]
    columns = ["order", "hops a message", "messages of the busiest link", "its time, s"]
    columns += ["model, s", "measured, s", "95 %", "place"]
    return {"agreement": markdown(heading, by), "mappings": markdown(columns, lines)}


def kind_of_days(kind: str, own: Sequence[Row]) -> list[str]:
    """Return what comparisons of a kind found."""
    compared = [row for row in own if row.text("lines")]
    count = len(compared)
    verdicts = sum(row.whole("lines") for row in compared)
    differ = sum(row.whole("differ") for row in compared)
    others = sum(row.whole("differ") - row.whole("named") for row in compared)
    named = sum(row.whole("named") > 0 for row in compared)
    both = sum(row.whole("named") == row.whole("of_link") for row in compared)
    least = min((row.number("least_p") for row in compared), default=math.nan)
    return [
        kind,
        f"{count} of {len(own)}",
        f"{differ} of {verdicts}",
        f"{named} of {count}",
        f"{both} of {count}",
        str(others),
        rounded(least, 4),
    ]


def of_days(table: Table) -> dict[str, str]:
    """Return a line for each kind of comparison."""
    lines = [kind_of_days(kind, list(table.where(kind=kind))) for (kind,) in table.distinct("kind")]
    heading = ["second session", "compared", "verdicts that differ", "link found"]
    heading += ["by both flows", "other lines", "least p"]
    return {"days": markdown(heading, lines)}


def mappings(table: Table) -> Figure:
    """Draw each order as measured against the model."""
    made = blank(5.5, 4.2)
    axes = made.subplots()
    most = 1.05 * max(row.number("seconds") for row in table)
    axes.plot([0, most], [0, most], color=GREY)
    for row in table:
        x, y = row.number("model_s"), row.number("seconds")
        error = [[max(0.0, y - row.number("low"))], [max(0.0, row.number("high") - y)]]
        colour = ORANGE if row.text("order") == HILBERT else BLUE
        axes.errorbar([x], [y], yerr=error, fmt="o", color=colour, markersize=4)
    axes.set(xlabel="model, s", ylabel="measured, s", title="HALO on 27 hosts by order of ranks")
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    return made


DRAWN = (
    Drawn("links.csv", LINKS, tables=of_links),
    Drawn("overlap.csv", OVERLAP, tables=of_overlap),
    Drawn("days.csv", days.COLUMNS, tables=of_days),
    Drawn("mappings.csv", MAPPINGS, figure=mappings, tables=of_mappings),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
