"""Figure 6's question: the busy share of a gossip process, against interval and number of nodes."""

from __future__ import annotations

import sys

from drawing import style
from drawing.csv_table import Row, Table
from drawing.drawn import Drawn, main
from drawing.pages import markdown, rounded
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = ("nodes", "entry_bytes", "datagram_bytes", "interval_ms", "busy_share")
# The paper could not run 8,192 nodes below this, with entries of 1 KiB and a window one message.
PAPER_LIMIT_MS = 4
PAPER_ENTRY_BYTES = "1024"


def figure(table: Table) -> Figure:
    """Draw a panel for each size of entries and datagrams, a line for each number of nodes."""
    entries = [entry for (entry,) in table.distinct("entry_bytes")]
    datagrams = [datagram for (datagram,) in table.distinct("datagram_bytes")]
    drawn = style.blank(4.0 * len(entries), 3.4 * len(datagrams))
    panels = drawn.subplots(len(datagrams), len(entries), sharex=True, sharey=True, squeeze=False)
    for row, datagram in zip(panels, datagrams, strict=True):
        for axes, entry in zip(row, entries, strict=True):
            _draw(axes, table.where(entry_bytes=entry, datagram_bytes=datagram))
            sizes = [style.thousands(float(bytes_)) for bytes_ in (entry, datagram)]
            axes.set_title(f"Entries of {sizes[0]} B, datagrams up to {sizes[1]} B")
        row[0].set_ylabel("busy share of one core, %")
    for axes in panels[-1]:
        axes.set_xlabel("interval (the unit of time), ms")
    if PAPER_ENTRY_BYTES in entries:
        _recall_paper(panels[-1][entries.index(PAPER_ENTRY_BYTES)])
    return drawn


def _draw(axes: Axes, table: Table) -> None:
    sizes = [nodes for (nodes,) in table.distinct("nodes")]
    intervals = [float(interval) for (interval,) in table.distinct("interval_ms")]
    style.log_ticks(axes, x=intervals, y=[0.001, 0.01, 0.1, 1, 10, 100])
    axes.set_ylim(0.001, 1000)
    axes.set_xlim(intervals[0] / 1.3, intervals[-1] * 9)
    axes.axhspan(100, 1000, color=style.GREY, alpha=0.18, linewidth=0)
    axes.text(intervals[-1] * 8, 300, "cannot keep up", ha="right", va="center", fontsize=8)
    ends = []
    colours = style.ordered_colours(len(sizes))
    for at, (nodes, colour) in enumerate(zip(sizes, colours, strict=True)):
        shares = [100 * share for share in table.where(nodes=nodes).numbers("busy_share")]
        axes.plot(intervals, shares, color=colour, marker=style.MARKERS[at % len(style.MARKERS)])
        name = style.thousands(float(nodes)) + (" nodes" if at == len(sizes) - 1 else "")
        ends.append((intervals[-1], shares[-1], name, colour))
    style.label_ends(axes, ends, gap=9)


def _recall_paper(axes: Axes) -> None:
    """Mark the interval below which the paper could not run its largest cluster."""
    axes.axvline(PAPER_LIMIT_MS, color=style.VERMILION, linestyle="--", linewidth=1)
    axes.text(
        PAPER_LIMIT_MS * 1.15,
        0.0016,
        f"the paper: 8,192 nodes\nnot below {PAPER_LIMIT_MS} ms",
        color=style.VERMILION,
        fontsize=8,
        va="bottom",
    )


def tables(table: Table) -> dict[str, str]:
    """Return the cost of a unit and its share at each interval, one table."""
    intervals = [interval for (interval,) in table.distinct("interval_ms")]
    settings = table.distinct("entry_bytes", "datagram_bytes", "nodes")
    lines = []
    for entry, datagram, nodes in settings:
        rows = table.where(entry_bytes=entry, datagram_bytes=datagram, nodes=nodes)
        first = rows.rows[0]
        costs = [rounded(first.number(column), 0) for column in ("send_us", "receive_us")]
        lines.append([entry, datagram, nodes, *costs, *(_share_text(row) for row in rows)])
    names = ["entry, B", "datagram, B", "nodes", "out, µs", "in, µs"]
    return {"busy": markdown([*names, *(f"{interval} ms" for interval in intervals)], lines)}


def _share_text(row: Row) -> str:
    share = 100 * row.number("busy_share")
    text = f"{share:.2g} %" if share < 10 else f"{share:.0f} %"
    return text if row.text("possible") == "yes" else f"**{text}**"


DRAWN = (Drawn("busy.csv", COLUMNS, figure, tables),)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
