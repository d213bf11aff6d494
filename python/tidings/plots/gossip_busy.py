"""Figure 6 of the paper, as a campaign measured it: how busy gossip beside an application is."""

from __future__ import annotations

from matplotlib.figure import Figure

from tidings.csv_table import Table, TableError
from tidings.plots import style

COLUMNS = ("application", "nodes", "arm", "interval_ms", "window", "entry_bytes", "busy_share")


def figure(table: Table) -> Figure:
    """Draw a line for each number of nodes and window, over all applications' panels."""
    gossip = Table(tuple(row for row in table.where(arm="gossip") if row.text("busy_share")))
    if not gossip.rows:
        raise TableError("no line of the table has a busy share: did gossip report?")
    applications = [name for (name,) in gossip.distinct("application")]
    drawn = style.blank(0.6 + 4.2 * len(applications), 3.4)
    panels = drawn.subplots(1, len(applications), sharey=True, squeeze=False)[0]
    intervals = sorted({row.number("interval_ms") for row in gossip})
    keys = gossip.distinct("nodes", "window", "entry_bytes")
    for axes, name in zip(panels, applications, strict=True):
        style.log_ticks(axes, x=intervals, y=[0.01, 0.1, 1, 10, 100])
        ends = []
        for at, (colour, (nodes, window, entry)) in enumerate(
            zip(style.ordered_colours(len(keys)), keys, strict=True)
        ):
            own = gossip.where(application=name, nodes=nodes, window=window, entry_bytes=entry)
            points = sorted(
                (row.number("interval_ms"), 100 * row.number("busy_share")) for row in own
            )
            if not points:
                continue
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=colour, marker=style.MARKERS[at % len(style.MARKERS)])
            ends.append((x[-1], y[-1], f"{style.thousands(float(nodes))} nodes, {window}", colour))
        axes.set_ylim(0.01, 100)
        axes.set_xlim(intervals[0] / 1.4, intervals[-1] * 8)
        style.label_ends(axes, ends, gap=9)
        axes.set_title(name)
        axes.set_xlabel("interval (the unit of time), ms")
    panels[0].set_ylabel("busy, % of the time")
    return drawn
