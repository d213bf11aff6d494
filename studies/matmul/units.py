"""How a product is cut into units of work, and for which rank each is meant.

A large unit is multiplied at a higher rate than a block, and takes as many tuples; small ones at
the end let all ranks end together. How fast the ranks are is measured: each says how long a block
has taken it in the product before. So most of each rank's share is cut into few large units, first
of its own rows, beginning with the columns that it has, too, so that ranks read different panels at
a time, as in Cannon's algorithm. What is left becomes smaller as it gets less (factoring). Each
small unit is meant for the rank that would end it first (list scheduling). Nothing depends on that:
a rank that has no unit left takes one that is meant for another.

Invariant: the units cover the product once, and the rows of each are in one panel.

Sources: S. Flynn Hummel, E. Schonberg, L. E. Flynn, Factoring: a method for scheduling parallel
loops, Communications of the ACM 35 (8), 1992. R. L. Graham, Bounds on multiprocessing timing
anomalies, SIAM Journal on Applied Mathematics 17 (2), 1969.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

KEPT = 0.94
"""Of a rank's share, what is cut into large units once its speed is known."""

KEPT_AT_FIRST = 0.4
"""The same, as long as all are believed to be equally fast: one that has half the speed has it."""

LARGEST = 32
"""The most blocks of a unit."""


class Unit(NamedTuple):
    """A part of the product: its first row and column of blocks, and how many it has of each."""

    row: int
    column: int
    rows: int
    columns: int

    @property
    def blocks(self) -> int:
        """How many blocks of the product it has."""
        return self.rows * self.columns

    def halves(self) -> list[Unit]:
        """Return the two units in it, neither much longer than wide."""
        row, column, rows, columns = self
        if rows > columns:
            half = rows // 2
            return [
                Unit(row, column, half, columns),
                Unit(row + half, column, rows - half, columns),
            ]
        half = columns // 2
        return [
            Unit(row, column, rows, half),
            Unit(row, column + half, rows, columns - half),
        ]


class Meant(NamedTuple):
    """A unit, and the rank for which it is meant."""

    rank: int
    unit: Unit


class Grid(NamedTuple):
    """So many blocks a side; each rank has the rows, and the columns, of one panel."""

    blocks: int
    panel: int

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return self.blocks // self.panel

    def columns_of(self, rank: int) -> list[int]:
        """Return all columns of blocks, a rank's own first."""
        return [(rank * self.panel + at) % self.blocks for at in range(self.blocks)]

    def rectangles(self, rank: int, columns: Sequence[int]) -> Iterator[Unit]:
        """Yield units of a rank's rows and these columns, as wide as they may be."""
        widest = max(LARGEST // self.panel, 1)
        first = 0
        for at in range(1, len(columns) + 1):
            is_on = at < len(columns) and columns[at] == columns[at - 1] + 1
            if not is_on or at - first == widest:
                yield Unit(rank * self.panel, columns[first], self.panel, at - first)
                first = at


def cut(seconds: Sequence[float], grid: Grid) -> list[Meant]:
    """Cut a product for ranks that take so long for a block; 0 where that is not known.

    Large units come first, in turn of their ranks.
    """
    is_known = min(seconds) > 0
    rates = [1 / one for one in seconds] if is_known else [1.0] * grid.ranks
    kept = KEPT if is_known else KEPT_AT_FIRST
    share = kept * grid.blocks**2 / sum(rates)
    wanted = [int(share * rate / grid.panel) for rate in rates]
    free = [grid.columns_of(rank) for rank in range(grid.ranks)]
    large: list[list[Unit]] = [[] for _ in rates]
    for rank, count in enumerate(wanted):
        large[rank] += _taken(grid, free, rank, min(count, grid.blocks))
    for rank, count in enumerate(wanted):
        left = count - grid.blocks
        while left > 0:
            of = max(range(grid.ranks), key=lambda one: len(free[one]))
            some = min(left, len(free[of]))
            large[rank] += _taken(grid, free, of, some)
            left -= some
    turns = max(map(len, large))
    made = [
        Meant(rank, units[turn])
        for turn in range(turns)
        for rank, units in enumerate(large)
        if turn < len(units)
    ]
    return _each_has_one(grid, made + _rest(grid, free, rates, made, is_known))


def _each_has_one(grid: Grid, made: list[Meant]) -> list[Meant]:
    """Let also the slowest rank have a unit, the last of another one that has several."""
    for rank in range(grid.ranks):
        of_ranks = [one.rank for one in made]
        if rank not in of_ranks:
            several = [at for at, of in enumerate(of_ranks) if of_ranks.count(of) > 1]
            made[several[-1]] = Meant(rank, made[several[-1]].unit)
    return made


def _taken(grid: Grid, free: list[list[int]], rank: int, count: int) -> list[Unit]:
    """Take the first free columns of a rank's rows."""
    taken, free[rank] = free[rank][:count], free[rank][count:]
    return list(grid.rectangles(rank, taken))


def _rest(
    grid: Grid,
    free: list[list[int]],
    rates: list[float],
    made: list[Meant],
    is_known: bool,
) -> list[Meant]:
    """Cut what is left: each unit for the rank that ends it first."""
    waiting = [unit for rank in range(grid.ranks) for unit in grid.rectangles(rank, free[rank])]
    left = sum(unit.blocks for unit in waiting)
    share = grid.ranks if is_known else 2 * grid.ranks
    busy = [0.0] * grid.ranks
    for rank, unit in made:
        busy[rank] += unit.blocks / rates[rank]
    small = []
    while waiting:
        waiting.sort(key=lambda unit: unit.blocks)
        one = waiting.pop()
        if one.blocks > 1 and one.blocks * share > left:
            waiting += one.halves()
            continue
        left -= one.blocks
        # As if one block later: the slower a rank, the longer it may keep others waiting.
        rank = min(range(grid.ranks), key=lambda at: busy[at] + (one.blocks + 1) / rates[at])
        busy[rank] += one.blocks / rates[rank]
        small.append(Meant(rank, one))
    return small
