"""How a product is cut into units of work: rectangles of blocks, large ones first.

A large unit is multiplied at a higher rate than a block, and takes as many tuples; small ones at
the end let all ranks end together, however fast each is. So units get smaller as what is left does
(factoring). Each rank has units of all sizes in its own rows; it begins there with the columns that
it has too, so that ranks read different panels at a time, as in Cannon's algorithm.

Source: S. Flynn Hummel, E. Schonberg, L. E. Flynn, Factoring: a method for scheduling parallel
loops, Communications of the ACM 35 (8), 1992.
"""

from __future__ import annotations

from typing import NamedTuple

SHARE = 2
"""A unit is at most one part in so many of what is left of a rank's rows."""


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
            return [Unit(row, column, half, columns), Unit(row + half, column, half, columns)]
        half = columns // 2
        return [Unit(row, column, rows, half), Unit(row, column + half, rows, half)]


def units_of(rank: int, blocks: int, panel: int) -> list[Unit]:
    """Cut the rows of a rank in a product of so many blocks a side, into no more than panels."""
    side = panel & -panel
    rows = range(rank * panel, (rank + 1) * panel, side)
    columns = [(rank * panel + at) % blocks for at in range(0, blocks, side)]
    waiting = [Unit(row, column, side, side) for column in columns for row in rows][::-1]
    left, made = blocks * panel, []
    while waiting:
        one = waiting.pop()
        if one.blocks > 1 and one.blocks * SHARE > left:
            waiting += one.halves()[::-1]
        else:
            made.append(one)
            left -= one.blocks
    return made
