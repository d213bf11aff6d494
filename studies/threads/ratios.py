"""Ratios of what was measured, made within each repetition, and their spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from drawing.csv_table import Table

Spread = tuple[float, float, float]
"""A median between two quartiles."""


def spread(values: Sequence[float]) -> Spread:
    """Return the median of some values between their quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def medians(table: Table, work: str, system: str, column: str) -> list[float]:
    """Return the median of the runs of each repetition."""
    own = table.where(work=work, system=system)
    return [
        statistics.median(own.where(repetition=repetition).numbers(column))
        for (repetition,) in own.distinct("repetition")
    ]


def against(table: Table, work: str, pair: tuple[str, str], column: str) -> list[float]:
    """Return the ratios of two systems in each repetition."""
    one, other = (medians(table, work, system, column) for system in pair)
    return [a / b for a, b in zip(one, other, strict=True)]
