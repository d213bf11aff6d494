"""The news of a node's readings: bits a unit, by recording and by reading, beside 76 bytes."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, rounded
from matplotlib.figure import Figure

COLUMNS = (
    "recording",
    "tolerances",
    "reading",
    "units",
    "missed",
    "leaving",
    "first_order_bits",
    "conditional_bits",
)
AGGREGATES = (
    "nodes",
    "units_apart",
    "aggregates",
    "bytes_whole",
    "bytes_told",
    "bytes_changed",
    "ages_bytes",
    "sums_bytes",
    "ends_bytes",
    "bins_bytes",
)
IN_NODES = (
    "readings",
    "payload_bytes",
    "wire_version",
    "lost_percent",
    "window_entries",
    "budget_bytes_unit",
    "bytes_unit",
    "entries_unit",
    "bytes_an_entry",
    "bases_percent",
    "passed_over_percent",
    "known_percent",
    "age_avg_units",
    "age_p50_units",
    "age_p99_units",
    "age_oldest_node_units",
)
# The stamp, the age and the payload of 64 bytes that an entry takes on the wire.
ENTRY_BYTES = 76
SERIES = (
    ("exact", "first_order_bits", "exact, first order", style.ORANGE),
    ("exact", "conditional_bits", "exact, after the past", style.VERMILION),
    ("usual", "first_order_bits", "documented tolerances, first order", style.GREEN),
    ("usual", "conditional_bits", "documented tolerances, after the past", style.BLUE),
)


def figure(table: Table) -> Figure:
    """Draw bytes a unit of each recording, beside those of a whole entry."""
    drawn = style.blank(7.2, 4.2)
    axes = drawn.add_subplot()
    names = [name for (name,) in table.distinct("recording")]
    width = 0.8 / len(SERIES)
    for place, (tolerances, column, label, colour) in enumerate(SERIES):
        nodes = table.where(tolerances=tolerances, reading="node")
        heights = [bits / 8 for bits in nodes.numbers(column)]
        left = [at + (place - 1.5) * width for at in range(len(names))]
        axes.bar(left, heights, width, color=colour, label=label)
    axes.axhline(ENTRY_BYTES, color="black", linewidth=1, label=f"a whole entry: {ENTRY_BYTES}")
    axes.set_yscale("log")
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("bytes a unit and node")
    axes.set_title("What a receiver has to learn of a node in a unit of 256 ms")
    axes.set_ylim(0.1, 2_000)
    axes.legend(loc="upper left", ncols=2)
    return drawn


def tables(table: Table) -> dict[str, str]:
    """Return the sums of recordings, and all readings of all recordings together."""
    sums = []
    for (name,) in table.distinct("recording"):
        usual = next(iter(table.where(recording=name, tolerances="usual", reading="node")))
        exact = next(iter(table.where(recording=name, tolerances="exact", reading="node")))
        bits = usual.number("first_order_bits")
        sums.append(
            [
                name,
                usual.text("units"),
                rounded(100 * usual.number("leaving"), 1, " %"),
                rounded(bits, 2),
                rounded(bits / 8, 2),
                rounded(8 * ENTRY_BYTES / bits if bits else float("nan"), 0),
                rounded(usual.number("conditional_bits"), 2),
                rounded(exact.number("first_order_bits"), 1),
            ]
        )
    names = [name for (name,) in table.distinct("recording") if name != "generated"]
    readings = []
    for row in table.where(recording="all", tolerances="usual"):
        reading = row.text("reading")
        alone = [
            next(iter(table.where(recording=name, tolerances="usual", reading=reading)))
            for name in names
        ]
        readings.append(
            [
                reading,
                rounded(100 * row.number("leaving"), 1, " %"),
                rounded(row.number("first_order_bits"), 2),
                *(rounded(one.number("conditional_bits"), 2) for one in alone),
            ]
        )
    heading = ["recording", "units", "units with news", "bits, first order"]
    heading += ["bytes", "whole entry: times", "bits, after the past", "exact: first order"]
    return {
        "nodes": markdown(heading, sums),
        "readings": markdown(
            ["reading", "leaves, all", "first order, all", *(f"`{name}`" for name in names)],
            readings,
        ),
    }


def aggregates(table: Table) -> dict[str, str]:
    """Return bytes of aggregates, whole and as changes, by colony and units apart."""
    rows = []
    for row in table:
        whole, told, least = (row.number(f"bytes_{name}") for name in ("whole", "told", "changed"))
        parts = ("ages_bytes", "sums_bytes", "ends_bytes", "bins_bytes")
        cells = [rounded(whole, 0), rounded(told, 0), rounded(told / whole, 2), rounded(least, 0)]
        cells += [rounded(row.number(part), 1) for part in parts]
        rows.append([f"{int(row.text('nodes')):,}", row.text("units_apart"), *cells])
    heads = ["nodes", "units apart", "bytes, whole", "as a change", "ratio", "at least"]
    return {"aggregates": markdown([*heads, "ages", "sums", "ends", "bins"], rows)}


def in_nodes(table: Table) -> dict[str, str]:
    """Return ages and bytes among nodes of the core, by what they say and the version."""
    rows = []
    for row in table:
        cells = [row.text(name) for name in ("readings", "payload_bytes", "wire_version")]
        cells += [f"{row.text('lost_percent')} %", f"{row.whole('bytes_unit'):,}"]
        cells += [row.text("bytes_an_entry"), f"{row.text('passed_over_percent')} %"]
        cells += [row.text("age_avg_units"), row.text("age_p99_units")]
        rows.append([*cells, row.text("age_oldest_node_units")])
    heads = ["readings", "payload, B", "version", "lost", "bytes a unit", "bytes an entry"]
    heads += ["passed over", "age, average", "99 %", "at the worst node"]
    return {"in-nodes": markdown(heads, rows)}


DRAWN = (
    Drawn("information.csv", COLUMNS, figure, tables),
    Drawn("aggregates.csv", AGGREGATES, tables=aggregates),
    Drawn("nodes.csv", IN_NODES, tables=in_nodes),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
