"""The 43 rows of Tables 2, 3 and 4 of Shudler et al., ICS 2015: E, G, δ and match, as printed.

Source: doi 10.1145/2751205.2751216. Models of Table 3 have coefficients there; here is
their growing part. Exponents are decimals of two digits, as printed. All else reads them here.
"""

from __future__ import annotations

from typing import NamedTuple


class PrintedRow(NamedTuple):
    """A row: table, function, machine, E, G, δ, the mark, adjusted R² (None: printed -)."""

    table: int
    function: str
    machine: str
    expected: str
    growth: str
    divergence: str
    match: str
    r2: float | None


MACHINES = ("Juqueen", "Juropa", "Piz Daint")

_RUNTIME = {
    ("Barrier", "log p"): (
        ("log p", "1", "✓", 0.99),
        ("p^0.67 log p", "p^0.67", "✗", 0.99),
        ("p^0.33", "p^0.33 / log p", "≈", 0.99),
    ),
    ("Bcast", "log p"): (
        ("log p", "1", "✓", 0.86),
        ("p^0.5", "p^0.5 / log p", "≈", 0.98),
        ("p^0.5", "p^0.5 / log p", "≈", 0.94),
    ),
    ("Reduce", "log p"): (
        ("log p", "1", "✓", 0.93),
        ("p^0.5 log p", "p^0.5", "≈", 0.99),
        ("p^0.5 log p", "p^0.5", "≈", 0.94),
    ),
    ("Allreduce", "log p"): (
        ("log p", "1", "✓", 0.87),
        ("p^0.5", "p^0.5 / log p", "≈", 0.99),
        ("p^0.67 log p", "p^0.67", "✗", 0.99),
    ),
    ("Gather", "p"): (
        ("p", "1", "✓", 0.99),
        ("p", "1", "✓", 0.99),
        ("p", "1", "✓", 0.99),
    ),
    ("Allgather", "p"): (
        ("p", "1", "✓", 0.99),
        ("p", "1", "✓", 0.98),
        ("p^1.25", "p^0.25", "≈", 0.99),
    ),
    ("Alltoall", "p log p"): (
        ("p", "1/log p", "≈", 0.99),
        ("p^1.25", "p^0.25 / log p", "≈", 0.99),
        ("p^1.33", "p^0.33 / log p", "≈", 0.99),
    ),
    ("Bcast (BT)", "log p"): (
        ("log p", "1", "✓", 0.99),
        ("p^1.25 log p", "p^1.25", "✗", 0.99),
        ("p log p", "p", "✗", 0.99),
    ),
}

_MEMORY = {
    ("MPI memory", "log p"): (
        ("log p", "1", "✓", 0.72),
        ("p", "p / log p", "✗", 1.0),
        ("log p", "1", "✓", 0.23),
    ),
    ("Comm_create", "p"): (
        ("p", "1", "✓", 1.0),
        ("p", "1", "✓", 1.0),
        ("p", "1", "✓", 0.99),
    ),
    ("Comm_dup", "1"): (
        ("1", "1", "✓", None),
        ("1", "1", "✓", None),
        ("p", "p", "✗", 0.99),
    ),
    ("Win_create", "p"): (
        ("p", "1", "✓", 1.0),
        ("p", "1", "✓", 1.0),
        ("p", "1", "✓", 0.99),
    ),
    ("Cart_create", "p"): (
        ("p", "1", "✓", 0.99),
        ("p", "1", "✓", 1.0),
        ("p", "1", "✓", 0.99),
    ),
}

_MAFIA = (
    PrintedRow(4, "gen", "Juropa", "k^3 2^k", "k^4 2^k", "k", "≈", None),
    PrintedRow(4, "dedup", "Juropa", "k^4 2^k", "k^4 2^k", "1", "✓", None),
    PrintedRow(4, "pcount", "Juropa", "k 2^k", "k 2^k", "1", "✓", None),
    PrintedRow(4, "unjoin", "Juropa", "k^3 2^k", "k^2 2^k", "1/k", "≈", None),
)


def rows() -> list[PrintedRow]:
    """Return all rows, table by table."""
    listed: list[PrintedRow] = []
    for number, table in ((2, _RUNTIME), (3, _MEMORY)):
        for (function, expected), machines in table.items():
            for machine, printed in zip(MACHINES, machines, strict=True):
                listed.append(PrintedRow(number, function, machine, expected, *printed))
    return [*listed, *_MAFIA]


# Functions whose names here are not the paper's in small letters.
_NAMES = {"Bcast (BT)": "bcast_tree", "MPI memory": "mpi"}


def expected(table: int) -> dict[str, str]:
    """Return E of each function of a table, by the names of the studies."""
    return {_name(row): row.expected for row in rows() if row.table == table}


def printed(table: int) -> dict[str, tuple[str, ...]]:
    """Return G of each function of a table, on the paper's machines in turn."""
    found: dict[str, tuple[str, ...]] = {}
    for row in rows():
        if row.table == table:
            found[_name(row)] = (*found.get(_name(row), ()), row.growth)
    return found


def _name(row: PrintedRow) -> str:
    return _NAMES.get(row.function, row.function.lower())
