"""Points of a characterisation, as the study reads them: times and rates by what they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from drawing.csv_table import Row, Table, TableError

COLUMNS = ("machine", "ranks", "test", "variant", "bytes", "count", "seconds", "bytes_per_s")

TORUS = "torus 16x8x8"
FARTHEST = "farthest of "
TWO_NODES = 8
"""The cores of a machine whose farthest nodes are neighbours."""
WITHOUT_LAST = "WORLD without the last rank"
PLAIN = "isend and irecv"

LARGE = 1 << 20
"""The size at which rates are taken."""


def only(table: Table, **cells: object) -> Row:
    """Return the one line whose cells are these."""
    rows = table.where(**cells).rows
    if len(rows) != 1:
        raise TableError(f"{len(rows)} lines have {cells}, and it should be one")
    return rows[0]


def seconds(table: Table, **cells: object) -> float:
    """Return the time of a message."""
    return only(table, **cells).number("seconds")


def rate(table: Table, **cells: object) -> float:
    """Return bytes a second of messages of 1 MiB."""
    return only(table, bytes=LARGE, **cells).number("bytes_per_s")


def kept(table: Table, test: str, shared: str, alone: str) -> float:
    """Return the share of its rate that a flow keeps beside another one."""
    return rate(table, test=test, variant=shared) / rate(table, test=test, variant=alone)


def beside(table: Table, flow: str, other: str) -> float:
    """Return what a flow of the test of overlaps keeps."""
    return kept(table, "overlap", f"{flow}, with {other}", f"{flow}, no overlap")


def most(table: Table, test: str) -> float:
    """Return the highest rate of a test, in bytes a second."""
    return max(table.where(test=test).numbers("bytes_per_s"))


def values(table: Table, column: str) -> list[int]:
    """Return the different whole numbers of a column, ascending."""
    return sorted({row.whole(column) for row in table})


def largest(table: Table) -> Table:
    """Return the lines of the run with most ranks."""
    return table.where(ranks=values(table, "ranks")[-1])


def slope(points: Iterable[tuple[float, float]], ratio: Callable[[float], float]) -> float:
    """Return the exponent between the first and the last point."""
    (x, y), *_, (last_x, last_y) = sorted(points)
    return ratio(last_y / y) / ratio(last_x / x)


def farthest(table: Table) -> Table:
    """Return latencies between the farthest two nodes, with the cores of their machine as count.

    The smallest machine has two nodes, which are neighbours.
    """
    rows = [
        Row(row.place, row.cells | {"count": row.text("machine").removeprefix(FARTHEST)})
        for row in table.where(test="latency")
        if row.text("machine").startswith(FARTHEST)
    ]
    near = table.where(machine=TORUS, test="latency")
    rows += [Row(row.place, row.cells | {"count": str(TWO_NODES)}) for row in near]
    return Table(tuple(rows))


def chosen(table: Table, column: str, wanted: Iterable[int]) -> Table:
    """Return the lines in which a number is one of these."""
    numbers = set(wanted)
    return Table(tuple(row for row in table if row.whole(column) in numbers))


def flows(own: Table, first: str, second: str) -> Table:
    """Return the lines of two flows, each alone and beside the other."""
    pair = (first, second)
    return Table(tuple(row for row in own.where(test="overlap") if row.text("variant")[:5] in pair))


def plain(table: Table, ranks: int) -> Table:
    """Return the lines by isend and irecv, with the order of ranks as variant."""
    rows = [
        Row(row.place, row.cells | {"variant": row.text("variant").split(", ")[0]})
        for row in table.where(test="halo", ranks=ranks)
        if row.text("variant").endswith(PLAIN)
    ]
    return Table(tuple(rows))


def by_protocol(table: Table, ranks: int, order: str) -> Table:
    """Return the lines of an order of ranks, with the protocol as variant."""
    named = [
        Row(row.place, row.cells | {"variant": protocol})
        for row in table.where(test="halo", ranks=ranks)
        for name, protocol in [row.text("variant").split(", ")]
        if name == order
    ]
    return Table(tuple(named))
