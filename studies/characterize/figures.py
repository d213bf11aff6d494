"""Figures 2 to 12 of Balaji et al. (2009), of the simulated torus."""

from __future__ import annotations

import balaji
import points
from drawing.csv_table import Table
from matplotlib.figure import Figure
from panels import Panel, figure
from points import TORUS, WITHOUT_LAST, by_protocol, chosen, farthest, flows, plain

COMMUNICATORS = ("WORLD", "duplicate of WORLD", WITHOUT_LAST)


def point_to_point(table: Table) -> Figure:
    """Draw figures 2 to 7."""
    own = table.where(machine=TORUS)
    of = "bytes_per_s"
    sizes = (0, 64, 1024, 65536)
    panels = [
        Panel("2a  latency to a neighbour", own.where(test="latency")),
        Panel("2b  bandwidth to a neighbour", own.where(test="bandwidth"), of=of),
        Panel("3a  latency inside a node", own.where(test="core-latency")),
        Panel("3b  bandwidth inside a node", own.where(test="core-bandwidth"), of=of),
        Panel(
            "4  the farthest two nodes",
            chosen(farthest(table), "bytes", sizes),
            along="count",
            lines="bytes",
            head="cores of the machine",
        ),
        Panel(
            "4  hops on 16 by 8 by 8 nodes",
            chosen(own.where(test="hops-latency"), "bytes", sizes),
            along="count",
            lines="bytes",
            head="hops",
        ),
        Panel("5a  P0-P3 and P1-P2", flows(own, "P0-P3", "P1-P2"), of=of, floor=400),
        Panel("5b  P0-P2 and P1-P3", flows(own, "P0-P2", "P1-P3"), of=of, floor=400),
        Panel("6a  streams between two nodes", own.where(test="streams"), lines="count", of=of),
        Panel(
            "6b  hot spot, by workers", table.where(test="hotspot"), along="count", lines="bytes"
        ),
        Panel("7a  fan-in, by neighbours", own.where(test="fan-in"), lines="count", of=of),
        Panel("7b  fan-out, by neighbours", own.where(test="fan-out"), lines="count", of=of),
    ]
    return figure(panels, 4)


def collectives(table: Table) -> Figure:
    """Draw figures 8 to 11."""

    def by_ranks(title: str, rows: Table) -> Panel:
        return Panel(title, rows, along="ranks", only=COMMUNICATORS, head="ranks")

    def together(title: str, rows: Table) -> Panel:
        return Panel(title, rows, along="ranks", lines="count", head="ranks")

    def at_once(test: str, size: int) -> Table:
        return table.where(test=f"parallel-{test}", bytes=size)

    def by_communicator(test: str, size: int) -> Table:
        return table.where(test=test, bytes=size)

    panels = [
        by_ranks("8a  barrier", by_communicator("barrier", 0)),
        together("8b  barriers at once", at_once("barrier", 0)),
        by_ranks("9  broadcast of 4 B", by_communicator("bcast", 4)),
        by_ranks("9  broadcast of 16 KiB", by_communicator("bcast", 16384)),
        together("10a  broadcasts of 4 B at once", at_once("bcast", 4)),
        together("10b  broadcasts of 16 KiB at once", at_once("bcast", 16384)),
        together("11a  allreduces of 16 KiB at once", at_once("allreduce", 16384)),
        together("11b  allgathers of 4 B at once", at_once("allgather", 4)),
    ]
    return figure(panels, 4)


def halo(table: Table) -> Figure:
    """Draw figure 12."""
    sizes = points.values(table, "ranks")
    orders = (*balaji.ORDERS, "Hilbert")
    panels = [
        Panel(f"12  HALO, {ranks:,} ranks", plain(table, ranks), "count", only=orders, head="N")
        for ranks in sizes
    ]
    ranks = sizes[0]
    protocols = by_protocol(table, ranks, balaji.ORDERS[0])
    panels.append(Panel(f"HALO by protocol, {ranks:,} ranks", protocols, "count", head="N"))
    return figure(panels, len(panels))
