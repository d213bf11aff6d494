"""Our characterisation beside IMB and NetPIPE, and congestion beside canaries."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Sequence

from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown
from drawing.style import BLUE, GREY, ORANGE, blank
from matplotlib.figure import Figure

PEERS = ("mpi", "quantity", "peer", "how", "bytes", "rounds", "ours", "ratio", "agrees")
ROUNDS = ("block", "rounds", "moved", "busy", "elsewhere", "kept", "gauge_ns")
CONGESTION = ("case", "ours_is", "bytes", "rounds", "ours", "ours_low", "canary", "canary_low")
COMPARISON = ("mpi", "quantity", "peer", "how")
WITHIN, INSIDE, NO = "within 5 %", "inside both intervals", "no"


def size(row: Row) -> str:
    """Return a size as the pages have it."""
    count = row.whole("bytes")
    for unit, bytes_ in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= bytes_:
            return f"{count // bytes_} {unit}"
    return f"{count} B"


def off(ratio: float) -> str:
    """Return how far a ratio is from one."""
    return f"{100 * (ratio - 1):+.1f} %"


def of_rounds(table: Table) -> dict[str, str]:
    """Return how many blocks count."""
    lines = [[row.text(name) for name in ROUNDS] for row in table]
    heading = ["block", "rounds", "processors moved", "busy", "elsewhere than most", "count"]
    return {"rounds": markdown([*heading, "gauge, ns"], lines)}


def compared(rows: Iterable[Row]) -> list[Row]:
    """Return the lines of sizes that both have."""
    return [row for row in rows if row.whole("rounds") > 0]


def lacking(rows: Iterable[Row]) -> str:
    """Return the sizes that one lacks, and which one."""
    found = [row for row in rows if row.whole("rounds") == 0]
    words = {"ours lacks it": "not ours", "peer lacks it": "not the peer's"}
    return ", ".join(f"{size(row)} ({words[row.text('agrees')]})" for row in found) or "-"


def of_agreement(table: Table) -> dict[str, str]:
    """Return a line for each comparison, and for all of them."""
    lines = []
    for key in table.distinct(*COMPARISON):
        own = list(table.where(**dict(zip(COMPARISON, key, strict=True))))
        both = compared(own)
        counts = [sum(row.text("agrees") == one for row in both) for one in (WITHIN, INSIDE, NO)]
        ratios = [row.number("ratio") for row in both]
        spread = f"{off(min(ratios))} to {off(max(ratios))}" if ratios else "-"
        lines.append([*key, str(len(both)), *map(str, counts), spread, lacking(own)])
    heading = ["MPI", "quantity", "peer", "how", "sizes", WITHIN, INSIDE, "does not agree"]
    return {"agreement": markdown([*heading, "ours over peer's", "sizes that one lacks"], lines)}


def cell(row: Row) -> str:
    """Return a ratio with its interval; bold where it does not agree."""
    if row.whole("rounds") == 0:
        return row.text("agrees")
    low, high = (off(row.number(name)) for name in ("ratio_low", "ratio_high"))
    value = off(row.number("ratio"))
    return (
        f"**{value}** ({low} to {high})"
        if row.text("agrees") == NO
        else f"{value} ({low} to {high})"
    )


def of_quantity(table: Table, quantity: str) -> str:
    """Return a table with a line for each size and a column for each comparison."""
    own = table.where(quantity=quantity)
    keys = own.distinct("mpi", "peer", "how")
    sizes = sorted({row.whole("bytes") for row in own})
    lines = []
    for count in sizes:
        here = list(own.where(bytes=count))
        line = [size(here[0]), *(took(here, mpi) for (mpi,) in own.distinct("mpi"))]
        for mpi, peer, how in keys:
            found = [
                r
                for r in here
                if (r.text("mpi"), r.text("peer"), r.text("how")) == (mpi, peer, how)
            ]
            line.append(cell(found[0]) if found else "-")
        lines.append(line)
    heading = ["size", *(f"ours, {mpi}, µs" for (mpi,) in own.distinct("mpi"))]
    heading += [
        f"{peer}, {mpi}" + ("" if how == "as reported" else f", {how}") for mpi, peer, how in keys
    ]
    return markdown(heading, lines)


def took(rows: Sequence[Row], mpi: str) -> str:
    """Return what ours reports, in microseconds."""
    found = [
        row for row in compared(rows) if row.text("mpi") == mpi and row.text("how") == "as reported"
    ]
    return f"{1e6 * found[0].number('ours'):.3f}" if found else "-"


def of_peers(table: Table) -> dict[str, str]:
    """Return the tables of the session."""
    quantities = ("latency", "bandwidth", "allreduce")
    return of_agreement(table) | {one: of_quantity(table, one) for one in quantities}


def figure(table: Table) -> Figure:
    """Draw the ratios over sizes: ours over the peer's."""
    made = blank(9.0, 3.4)
    quantities = [one for (one,) in table.distinct("quantity")]
    several = made.subplots(1, len(quantities), sharey=True, squeeze=False)
    for axes, quantity in zip(several.flat, quantities, strict=True):
        own = table.where(quantity=quantity)
        axes.axhspan(0.95, 1.05, color=GREY, alpha=0.3)
        for number, (mpi, peer, how) in enumerate(own.distinct("mpi", "peer", "how")):
            rows = compared(own.where(mpi=mpi, peer=peer, how=how))
            label = f"{peer}, {mpi}" + ("" if how == "as reported" else f", {how}")
            axes.plot(
                [max(row.whole("bytes"), 0.5) for row in rows],
                [row.number("ratio") for row in rows],
                marker="o",
                markersize=3,
                color=(BLUE, ORANGE, GREY)[number % 3],
                linestyle=("-", "--")[mpi == "Open MPI"],
                label=label,
            )
        axes.set(xscale="log", xlabel="bytes", title=quantity)
        axes.legend(fontsize=6)
    made.axes[0].set_ylabel("ours over the peer's")
    return made


def sign(row: Row, of: str) -> int:
    """Return whether a factor is above one (1), below (-1), or neither for sure (0)."""
    return (row.number(f"{of}_low") > 1) - (row.number(f"{of}_high") < 1)


def same_sign(row: Row) -> str:
    """Return whether both factors are on the same side of one; a third word if one is on none."""
    both = {sign(row, "ours"), sign(row, "canary")}
    return "not sure" if 0 in both else "yes" if len(both) == 1 else "no"


def order(first: Row, second: Row, of: str) -> int:
    """Return which of two factors is greater for sure: that of the first (1) or second (-1)."""
    above = first.number(f"{of}_low") > second.number(f"{of}_high")
    return above - (second.number(f"{of}_low") > first.number(f"{of}_high"))


def interval(row: Row, of: str) -> str:
    """Return a factor with its interval."""
    low, high = row.number(f"{of}_low"), row.number(f"{of}_high")
    return f"{row.number(of):.2f} ({low:.2f} to {high:.2f})"


def of_congestion(table: Table) -> dict[str, str]:
    """Return a line for each case, and how pairs of cases are ordered."""
    lines = [
        [
            row.text("case"),
            row.text("ours_is"),
            row.text("rounds"),
            interval(row, "ours"),
            interval(row, "canary"),
            same_sign(row),
        ]
        for row in table
    ]
    heading = ["case", "our test", "rounds", "ours, factor", "canary, factor", "same sign"]
    pairs = [
        (order(first, second, "ours"), order(first, second, "canary"))
        for first, second in itertools.combinations(table, 2)
    ]
    both = [pair for pair in pairs if 0 not in pair]
    same = sum(ours == canary for ours, canary in both)
    counts = [len(pairs), len(pairs) - len(both), same, len(both) - same]
    columns = ["pairs of cases", "not told apart by one of them", "same order", "opposite order"]
    return {
        "congestion": markdown(heading, lines),
        "order": markdown(columns, [list(map(str, counts))]),
    }


DRAWN = (
    Drawn("peers.csv", PEERS, figure=figure, tables=of_peers),
    Drawn("rounds.csv", ROUNDS, tables=of_rounds),
    Drawn("congestion.csv", CONGESTION, tables=of_congestion),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
