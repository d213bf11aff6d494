"""Table 1 and Figures 3 and 5 of Levy et al. (ROSS'14), simulated, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from tidings.csv_table import Table

COLUMNS = ("application", "nodes", "interval_ms", "window_percent", "slowdown_percent", "mpi_share")

WINDOWS = (10, 20, 40, 80)
# Table 1 of the paper: slowdown of MPI-FFT in per cent, on 1,024 nodes.
TABLE1 = {
    64: (0.2, 0.3, 0.6, 1.5),
    32: (0.3, 0.4, 0.9, 2.6),
    16: (0.3, 0.7, 1.8, 4.5),
    8: (0.7, 1.4, 3.2, 8.7),
    4: (1.1, 2.6, 6.3, 17.2),
    2: (1.8, 4.7),
    1: (3.8,),
}
# Figures 3 and 5 at 1,024 nodes: PTRANS in GB/s, COSMO-SPECS+FD4 in seconds; 0: without gossip.
PTRANS_GB_S = {0: 994, 1024: 990, 256: 993, 64: 980, 16: 990, 8: 984, 4: 971, 2: 973}
COSMO_S = {
    0: 40.6, 1024: 40.6, 256: 40.6, 64: 40.6, 16: 40.6, 8: 40.6, 4: 40.7, 2: 40.8, 1: 41.1,
}  # fmt: skip


def seen(table: Table, application: str, interval: int, window: int) -> float | None:
    """Return the median slowdown of a cell over its seeds; none if it was not run.

    Now and then gossip resolves how an application's messages meet on the links, and a run gets
    faster: one such run of three would decide a mean.
    """
    rows = [
        row.number("slowdown_percent")
        for row in table
        if row.text("application") == application
        and row.number("interval_ms") == interval
        and row.number("window_percent") == window
    ]
    return median(rows) if rows else None


def recalled(application: str, interval: int) -> float | None:
    """Return the paper's slowdown at 20 %, in per cent; none if it has no number."""
    if application == "ptrans" and interval in PTRANS_GB_S:
        return 100 * (PTRANS_GB_S[0] / PTRANS_GB_S[interval] - 1)
    if application == "proxy" and interval in COSMO_S:
        return 100 * (COSMO_S[interval] / COSMO_S[0] - 1)
    return None


def tables(table: Table) -> dict[str, str]:
    """Return Table 1's grid, equal bytes along its diagonals, and the others against interval."""
    return {
        "table1": _markdown(["interval", *(f"{w} %" for w in WINDOWS)], _grid(table)),
        "equal-bytes": _markdown(
            ["bytes as of", *(f"{w} % window" for w in WINDOWS)], _diagonals(table)
        ),
        "against-interval": _markdown(
            ["interval", "PTRANS", "the paper", "proxy", "the paper (COSMO-SPECS+FD4)"],
            _intervals(table),
        ),
    }


def _markdown(heading: list[str], lines: Iterable[list[str]]) -> str:
    rows = [heading, ["---"] * len(heading), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _percent(number: float | None, digits: int = 2) -> str:
    return "-" if number is None else f"{number:.{digits}f} %"


def _grid(table: Table) -> Iterable[list[str]]:
    for interval in (256, *TABLE1):
        said = dict(zip(WINDOWS, TABLE1.get(interval, ()), strict=False))
        cells = []
        for window in WINDOWS:
            here = _percent(seen(table, "fft", interval, window))
            cells.append(f"{here} ({_percent(said.get(window), 1)})")
        yield [f"{interval} ms", *cells]


def _diagonals(table: Table) -> Iterable[list[str]]:
    """Yield cells of equal bytes a second: each halving of the interval halves the window."""
    for interval in (64, 32, 16, 8):
        cells = []
        for place, window in enumerate(WINDOWS):
            other = interval // 2 ** (len(WINDOWS) - 1 - place)
            cells.append(f"{_percent(seen(table, 'fft', other, window))} at {other} ms")
        yield [f"80 % at {interval} ms", *cells]


def _intervals(table: Table) -> Iterable[list[str]]:
    for interval in (1024, 256, 64, 16, 8, 4, 2, 1):
        cells = []
        for application in ("ptrans", "proxy"):
            cells.append(_percent(seen(table, application, interval, 20)))
            cells.append(_percent(recalled(application, interval), 1))
        yield [f"{interval} ms", *cells]
