"""Shapes of networks: how many nodes they have, and how many links lie between the farthest two.

Sources of the routes that are counted here: SimGrid 3.32's TorusZone, FatTreeZone and
DragonflyZone. A torus goes the shorter way round, dimension by dimension; a fat tree up to the
switch that both have above them; a dragonfly within a group over a green link (routers of a
chassis) and a black one (chassis of a group), between groups over a blue one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

MOST_NODES = 65_536
# Longest ring, most ports on each side of a switch, and what a router of Cray's Aries has.
LONGEST_RING = 16
LONGEST_RING_OF_THREE = 40
MOST_PORTS = 64
NODES_A_ROUTER, MOST_ROUTERS, MOST_CHASSIS = 4, 16, 6


class ShapeError(Exception):
    """No network of this topology has this shape or number of nodes."""


@dataclass(frozen=True)
class Shape:
    """A network as SimGrid's ``<cluster>`` takes it."""

    topology: str  # SimGrid's name
    parameters: str
    nodes: int
    worst_hops: int


def torus(dimensions: list[int]) -> Shape:
    """Return a torus of rings of these lengths."""
    if not dimensions or min(dimensions) < 1:
        raise ShapeError("a torus needs lengths of 1 and more, such as --shape 8,4,4,4,2")
    # A ring of one node is no ring; SimGrid would link it to itself.
    rings = [length for length in dimensions if length > 1] or [1]
    hops = sum(length // 2 for length in rings)
    return Shape("TORUS", ",".join(map(str, rings)), _bounded(math.prod(rings)), hops)


def torus_of(nodes: int) -> Shape:
    """Return the five-dimensional torus that BlueGene/Q would give so many nodes.

    Its fifth dimension has two nodes always; the other four are as alike as the number allows.
    """
    fifth = 2 if nodes % 2 == 0 else 1
    rings = [1, 1, 1, 1]
    for prime in sorted(_primes(nodes // fifth), reverse=True):
        rings[rings.index(min(rings))] *= prime
    rings.sort(reverse=True)
    if rings[0] > LONGEST_RING:
        raise ShapeError(
            f"{nodes} nodes make no torus without a ring of {rings[0]}, more than {LONGEST_RING}: "
            "take a number such as 16, 512 or 1024, or say --shape"
        )
    return torus([*rings, fifth])


def torus_3d_of(nodes: int) -> Shape:
    """Return the torus of three dimensions, as alike as the number allows."""
    rings = [1, 1, 1]
    for prime in sorted(_primes(nodes), reverse=True):
        rings[rings.index(min(rings))] *= prime
    rings.sort(reverse=True)
    if rings[0] > LONGEST_RING_OF_THREE:
        raise ShapeError(
            f"{nodes} nodes make no torus of three dimensions without a ring of {rings[0]}, more "
            f"than {LONGEST_RING_OF_THREE}: take a number such as 64, 512 or 1024, or say --shape"
        )
    return torus(rings)


def fat_tree(levels: list[int]) -> Shape:
    """Return a fat tree with so many ports downwards at each level, and as many upwards."""
    if not levels or min(levels) < 1:
        raise ShapeError("a fat tree needs ports of 1 and more, such as --shape 32,32")
    if max(levels) > MOST_PORTS:
        raise ShapeError(f"a switch has at most {MOST_PORTS} ports down: add a level to --shape")
    upwards = [1, *levels[:-1]]
    single = [1] * len(levels)
    lists = (levels, upwards, single)
    parameters = ";".join([str(len(levels)), *(",".join(map(str, counts)) for counts in lists)])
    return Shape("FAT_TREE", parameters, _bounded(math.prod(levels)), 2 * len(levels))


def fat_tree_of(nodes: int) -> Shape:
    """Return the fat tree of two levels whose switches are most alike."""
    leaf = next(size for size in range(math.isqrt(nodes - 1) + 1, nodes + 1) if nodes % size == 0)
    if leaf > MOST_PORTS:
        raise ShapeError(
            f"{nodes} nodes make no fat tree of two levels with at most {MOST_PORTS} ports down: "
            "take a number such as 16, 512 or 1024, or say --shape"
        )
    return fat_tree([leaf, nodes // leaf] if leaf < nodes else [leaf])


def dragonfly(counts: list[int]) -> Shape:
    """Return a dragonfly of groups, chassis a group, routers a chassis and nodes a router."""
    if len(counts) != 4 or min(counts) < 1:
        raise ShapeError(
            "a dragonfly needs four numbers: groups, chassis a group, routers a chassis, nodes a "
            "router, such as --shape 8,4,8,4"
        )
    groups, chassis, routers, nodes = counts
    if groups > routers:
        # SimGrid ties the blue links of a group to the routers of its first chassis.
        raise ShapeError(f"{groups} groups need as many routers a chassis, and there are {routers}")
    within = (chassis > 1) + (routers > 1)
    hops = 2 + (1 + 2 * within if groups > 1 else within)
    # Aries: three links between two routers of neighbouring chassis, some more between groups.
    parameters = f"{groups},4;{chassis},3;{routers},1;{nodes}"
    return Shape("DRAGONFLY", parameters, _bounded(math.prod(counts)), hops)


def dragonfly_of(nodes: int) -> Shape:
    """Return the dragonfly of routers with four nodes whose parts are most alike."""
    fitting = list(_parts(nodes // NODES_A_ROUTER)) if nodes % NODES_A_ROUTER == 0 else []
    if not fitting:
        raise ShapeError(
            f"{nodes} nodes make no dragonfly with {NODES_A_ROUTER} nodes a router, at most "
            f"{MOST_ROUTERS} routers a chassis and {MOST_CHASSIS} chassis a group: take a number "
            "such as 16, 512 or 1024, or say --shape"
        )
    return dragonfly([*min(fitting, key=lambda parts: (sum(parts), -parts[0])), NODES_A_ROUTER])


def _parts(routers: int) -> Iterator[tuple[int, int, int]]:
    for chassis, a_chassis in product(range(1, MOST_CHASSIS + 1), range(1, MOST_ROUTERS + 1)):
        groups, rest = divmod(routers, chassis * a_chassis)
        if rest == 0 and 1 <= groups <= a_chassis:
            yield groups, chassis, a_chassis


def _bounded(nodes: int) -> int:
    if not 2 <= nodes <= MOST_NODES:
        raise ShapeError(f"{nodes} nodes: a platform has 2 to {MOST_NODES:,}")
    return nodes


def _primes(number: int) -> list[int]:
    primes, prime = [], 2
    while number > 1:
        while number % prime == 0:
            primes.append(prime)
            number //= prime
        prime += 1
    return primes
