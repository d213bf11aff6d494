"""What Balaji et al. (2009) say in numbers of BlueGene/P: the paper's own, here alone.

Source: Toward Message Passing for a Million Processes: Characterizing MPI on a Massive Scale Blue
Gene/P. Figures are drawn there without tables: what is listed is what its text says.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """A number of the paper, with the figure that shows it."""

    figure: str
    what: str
    text: str


NEIGHBOUR_US = Said("2a", "latency to a neighbour, small messages", "2.8 µs")
LINK = Said("2b", "bandwidth to a neighbour", "3 Gb/s")
INSIDE_US = Said("3a", "latency inside a node", "2.8 µs")
INSIDE = Said("3b", "bandwidth inside a node, of that to a neighbour", "6-fold")
FARTHEST = Said(
    "4", "latency of 0 B: farthest of 131,072 cores against neighbours", "close to +100 %"
)
FARTHEST_1K = Said("4", "the same of 1 KiB", "+40 %")
HOPS = Said("4", "bandwidth: farthest against nearest", "less than 3 % lost")
THROUGH = Said("4", "flow inside a node, while others pass through it", "no effect")
THROUGH_LINK = Said("4", "flow over another link of that node", "no effect")
FAR_FLOW = Said("5a", "P0-P3 beside P1-P2, of P0-P3 alone", "all")
NEAR_FLOW = Said("5a", "P1-P2 beside P0-P3, of P1-P2 alone", "throttled")
FIRST_FLOW = Said("5b", "P0-P2 beside P1-P3, of P0-P2 alone", "all")
SECOND_FLOW = Said("5b", "P1-P3 beside P0-P2, of P1-P3 alone", "throttled")
STREAMS = Said("6a", "four streams against one, medium sizes", "close to 2-fold")
HOTSPOT = Said("6b", "hot spot: growth of latency with workers", "straight, log-log")
FAN_OUT = Said("7b", "fan-out to six neighbours", "18,000 Mb/s")
FAN_IN = Said("7a", "fan-in from six neighbours", "13,000 Mb/s")
WORLD = Said("8a", "barrier: WORLD and its duplicate", "identical")
BARRIER = Said("8a", "barrier: WORLD without the last rank, of WORLD", "significantly worse")
BARRIERS = Said("8b", "barrier: four communicators at once, of one", "75 % less at 131,072")
BCAST = Said("9", "broadcast: WORLD without the last rank, of WORLD", "close to 10-fold")
BCASTS_4 = Said("10a", "broadcast of 4 B: four at once, of one", "less")
BCASTS_16K = Said("10b", "broadcast of 16 KiB: four at once, of one", "3-fold at 16 Ki ranks")
ALLREDUCES = Said("11a", "allreduce of 16 KiB: four at once, of one", "no change")
ALLGATHERS = Said("11b", "allgather of 4 B: four at once, of one", "more, growing with size")
HALO_16K = Said("12a", "HALO: worst of four orders, of the best", "up to 2-fold at 16 Ki")
HALO_128K = Said("12b", "HALO: worst of four orders, of the best", "up to 3-fold at 128 Ki")

ORDERS = ("XYZT", "TXYZ", "ZYXT", "TZYX")
"""The orders of ranks of Figure 12."""
