#!/usr/bin/env python3
"""Platform files for SimGrid: tori as BlueGene/Q's and BlueGene/P's, a fat tree, a dragonfly.

    mpi/platforms/make.py torus --nodes 1024 --output torus.xml --hosts hosts --ranks-per-node 2
    smpirun -n 2048 -platform torus.xml -hostfile hosts PROGRAM

Nodes are called n0, n1, ...; each link carries --link-gb-s each way, and the farthest two nodes are
--worst-latency-us apart. The file sets what SMPI would else add by measurements on Ethernet:
factors on bandwidth and latency, a bound by TCP's window, and traffic on the way back.

Exit status: 0 written, 1 a file cannot be written, 2 a network that cannot be.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import shapes
from shapes import Shape, ShapeError


@dataclass(frozen=True)
class Kind:
    """A topology, and the figures of the machine that it stands for."""

    machine: str
    of_nodes: Callable[[int], Shape]
    of_shape: Callable[[list[int]], Shape]
    link_gb_s: float
    worst_latency_us: float | None  # none: it follows from hop_us
    cores: int
    core_gflops: float
    hop_us: float = 0.0  # of every link, however many there are
    receive_us: float = 0.0  # what a message costs the rank that receives it
    engine_links: float = 0.0  # what a node sends and receives at most, in links; 0: no bound
    networks: str = ""  # zones beside it, for collectives of all ranks


# BlueGene/P's networks for barriers and broadcasts of all ranks (mpi/machine/networks.h): 1.3 µs
# for a barrier of 72 Ki nodes; 5.1 GB/s over three links both ways, so 0.85 GB/s a link each way.
# What a broadcast takes at least is not in the paper: 5 µs are what IBM states for MPI over the
# tree, as far as remembered. A message crosses the link of either end, hence half of each latency.
NETWORK = """
    <cluster id="{name}" prefix="{name}" suffix="" radical="0-1" speed="1Gf" bw="{bandwidth}"
             lat="{half_latency}"/>"""
BLUEGENE_P_NETWORKS = "".join(
    (
        NETWORK.format(name="interrupt", bandwidth="1GBps", half_latency="0.65us"),
        NETWORK.format(name="collective", bandwidth="0.85GBps", half_latency="2.5us"),
    )
)

# The torus has the paper's figures (Levy et al., ROSS'14, section 4.1): 2 GB/s a link each way, ten
# links a node, 2.6 µs. The others are rounded from what the vendors state, cores and speeds as in
# table 1 of Shudler et al. (ICS'15): 4 flops a cycle and core; 8 on BlueGene/Q and Sandy Bridge.
#
# BlueGene/P's are those of Balaji et al. (2009): 425 MB/s a link each way, one DMA engine a node as
# fast as its six links, also for messages inside the node, 2.8 µs to a neighbour, and 2.6 µs more
# to the farthest of 131,072 cores, 48 hops away on a torus of 32 by 32 by 32 nodes.
KINDS = {
    "bluegene-p": Kind(
        "BlueGene/P",
        shapes.torus_3d_of,
        shapes.torus,
        0.425,
        None,
        4,
        3.4,
        hop_us=2.6 / 47,
        receive_us=2.8 - 2.6 / 47,
        engine_links=6.0,
        networks=BLUEGENE_P_NETWORKS,
    ),
    "torus": Kind("BlueGene/Q", shapes.torus_of, shapes.torus, 2.0, 2.6, 16, 12.8),
    "fat-tree": Kind("QDR InfiniBand", shapes.fat_tree_of, shapes.fat_tree, 4.0, 2.0, 8, 11.7),
    "dragonfly": Kind("Cray Aries", shapes.dragonfly_of, shapes.dragonfly, 5.0, 2.5, 8, 20.8),
}

# A message from a node to itself does not meet the network.
LOOPBACK = 'loopback_bw="20GBps" loopback_lat="0.1us"'
# Where it passes the engine that also drives the links, which bounds what leaves and enters a node.
ENGINE = 'loopback_bw="{engine:g}GBps" loopback_lat="{hop_ns:.6f}ns" limiter_link="{engine:g}GBps"'
RECEIVE = '\n    <prop id="smpi/or" value="0:{seconds:g}:0"/>'

PLATFORM = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- {comment} -->
<platform version="4.1">
  <config>
    <prop id="smpi/bw-factor" value="0:1"/>
    <prop id="smpi/lat-factor" value="0:1"/>
    <prop id="network/TCP-gamma" value="0"/>
    <prop id="network/crosstraffic" value="no"/>{receive}
  </config>
{cluster}
</platform>
"""

CLUSTER = """\
  <cluster id="machine" prefix="n" suffix="" radical="0-{last}" speed="{gflops:g}Gf" core="{cores}"
           bw="{link:g}GBps" lat="{hop_ns:.6f}ns" {loopback}
           topology="{topology}" topo_parameters="{parameters}" sharing_policy="SPLITDUPLEX"/>"""

# Zones beside each other have no way from one to another: ranks stay on the machine.
ZONE = """\
  <zone id="networks" routing="Full">
  {cluster}{networks}
  </zone>"""


def platform(shape: Shape, options: argparse.Namespace) -> str:
    """Return the platform file."""
    kind = KINDS[options.topology]
    if options.worst_latency_us is None:
        options.worst_latency_us = kind.hop_us * shape.worst_hops + kind.receive_us
    hop_ns = 1e3 * (options.worst_latency_us - kind.receive_us) / shape.worst_hops
    engine = options.link_gb_s * kind.engine_links
    comment = (
        f"{shape.nodes} nodes, {options.topology} {shape.parameters}: {options.link_gb_s:g} GB/s a "
        f"link each way, {options.worst_latency_us:g} µs between the farthest two. Made by "
        "mpi/platforms/make.py."
    )
    cluster = CLUSTER.format(
        last=shape.nodes - 1,
        gflops=options.core_gflops,
        cores=options.cores,
        link=options.link_gb_s,
        hop_ns=hop_ns,
        loopback=ENGINE.format(engine=engine, hop_ns=hop_ns) if engine else LOOPBACK,
        topology=shape.topology,
        parameters=shape.parameters,
    )
    if kind.networks:
        cluster = ZONE.format(cluster=cluster, networks=kind.networks)
    receive = RECEIVE.format(seconds=1e-6 * kind.receive_us) if kind.receive_us else ""
    return PLATFORM.format(comment=comment, receive=receive, cluster=cluster)


def hosts(nodes: int, ranks_per_node: int) -> str:
    """Return a line for each rank: the ranks of a node follow each other."""
    return "".join(f"n{node}\n" * ranks_per_node for node in range(nodes))


def numbers(text: str) -> list[int]:
    """Return the numbers of a list such as 8,4,4,4,2."""
    return [int(word) for word in text.split(",")]


def positive(text: str) -> float:
    """Return a number above 0 that a simulation can bear."""
    number = float(text)
    if not 1e-6 <= number <= 1e6:
        raise ValueError
    return number


def count(text: str) -> int:
    """Return a whole number from 1 to a million."""
    number = int(text)
    if not 1 <= number <= 1_000_000:
        raise ValueError
    return number


def arguments() -> argparse.Namespace:
    """Return the command line, its gaps filled from the topology's machine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("topology", choices=sorted(KINDS))
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--nodes", type=count, help="how many; the shape follows")
    size.add_argument(
        "--shape",
        type=numbers,
        help="rings of a torus; ports down of a fat tree's levels; groups, chassis, routers and "
        "nodes of a dragonfly",
    )
    parser.add_argument("--link-gb-s", type=positive, help="bandwidth of a link each way")
    parser.add_argument("--worst-latency-us", type=positive, help="of the farthest two nodes")
    parser.add_argument("--cores", type=count, help="of a node")
    parser.add_argument("--core-gflops", type=positive, help="speed of a core")
    parser.add_argument("--output", type=Path, help="the platform file (default: printed)")
    parser.add_argument("--hosts", type=Path, help="a file for smpirun's -hostfile")
    parser.add_argument("--ranks-per-node", type=count, default=1, help="in --hosts (default 1)")
    options = parser.parse_args()
    kind = KINDS[options.topology]
    for name in ("link_gb_s", "worst_latency_us", "cores", "core_gflops"):
        if getattr(options, name) is None:
            setattr(options, name, getattr(kind, name))
    return options


def main() -> int:
    """Write the files that were asked for."""
    options = arguments()
    kind = KINDS[options.topology]
    try:
        shape = kind.of_shape(options.shape) if options.shape else kind.of_nodes(options.nodes)
        text = platform(shape, options)
        if options.output:
            options.output.write_text(text, encoding="utf-8")
        else:
            print(text, end="")
        if options.hosts:
            options.hosts.write_text(hosts(shape.nodes, options.ranks_per_node), encoding="utf-8")
    except ShapeError as error:
        print(f"make.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"make.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
