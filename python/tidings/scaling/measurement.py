"""Measurements: the values of one function by one metric, at several sizes.

A row is one value at one size; rows of one run (one job, one start of a process) share a run's
name, because everything accidental about a run, its nodes, its neighbours, its memory layout,
affects all its rows. Rows that are the same in size, run, repetition and value count once. Order
and units do not matter: rows are sorted, and engines see values only as ratios.

Invariants: sizes and values are finite and positive, sizes are at least three different ones;
anything else is rejected with its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FEWEST_SIZES = 3
"""Below this many sizes nothing is fitted; below five every verdict is undecided."""


class MeasurementError(ValueError):
    """Measurements cannot be used. The message names the place and the remedy."""


@dataclass(frozen=True, order=True)
class Row:
    """One measured value at one size; `run` and `repetition` may be empty."""

    size: float
    run: str = ""
    repetition: str = ""
    value: float = math.nan
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Measurement:
    """All rows of one function and metric, sorted and without duplicates."""

    function: str
    metric: str
    parameter: str
    rows: tuple[Row, ...]
    unit: str = ""

    @classmethod
    def of(
        cls,
        rows: Iterable[Row],
        function: str = "",
        metric: str = "",
        parameter: str = "x",
        unit: str = "",
    ) -> Measurement:
        """Check rows and sort them, or raise MeasurementError."""
        kept = sorted({_checked(row, function, metric) for row in rows})
        sizes = {row.size for row in kept}
        name = _name(function, metric)
        if not kept:
            raise MeasurementError(f"{name}: there is no measurement")
        if len(sizes) < FEWEST_SIZES:
            some = ", ".join(f"{size:g}" for size in sorted(sizes))
            raise MeasurementError(
                f"{name}: {len(sizes)} size{'s' if len(sizes) > 1 else ''} ({some}), which says "
                f"nothing about growth: measure at five or more"
            )
        return cls(function, metric, parameter, tuple(kept), unit)

    @classmethod
    def of_values(
        cls,
        sizes: Sequence[float],
        values: Sequence[float] | Sequence[Sequence[float]],
        runs: Mapping[int, str] | None = None,
        **names: str,
    ) -> Measurement:
        """Make a measurement of a value, or a list of repetitions, for each size.

        `runs` names the run of the n-th repetition of every size.
        """
        if len(sizes) != len(values):
            raise MeasurementError(f"{len(sizes)} sizes but {len(values)} values: give one each")
        rows = []
        for size, at_size in zip(sizes, values):
            listed = np.atleast_1d(np.asarray(at_size, dtype=float)).tolist()
            for index, value in enumerate(listed):
                run = runs.get(index, "") if runs else ""
                rows.append(Row(float(size), run, "", value))
        return cls.of(rows, **names)

    @property
    def name(self) -> str:
        """Function and metric, for messages and tables."""
        return _name(self.function, self.metric)

    def sizes(self) -> NDArray[np.float64]:
        """Return the different sizes, ascending."""
        return np.unique(np.array([row.size for row in self.rows]))

    def at(self, size: float) -> list[Row]:
        """Return the rows of one size."""
        return [row for row in self.rows if row.size == size]

    def has_runs(self) -> bool:
        """Whether rows name more than one run."""
        return len({row.run for row in self.rows}) > 1

    def quantile(self, share: float) -> NDArray[np.float64]:
        """Return this quantile of the values at each size; 0.25 is the paper's first quartile."""
        values = [[row.value for row in self.at(size)] for size in self.sizes()]
        return np.array([np.quantile(np.array(at_size), share) for at_size in values])


def _checked(row: Row, function: str, metric: str) -> Row:
    where = row.place or _name(function, metric)
    if not (math.isfinite(row.size) and row.size > 0):
        raise MeasurementError(f"{where}: the size is {row.size:g}; sizes must be positive")
    if math.isnan(row.value):
        raise MeasurementError(f"{where}: the value at size {row.size:g} is missing")
    if not (math.isfinite(row.value) and row.value > 0):
        raise MeasurementError(
            f"{where}: the value at size {row.size:g} is {row.value:g}; only positive values can "
            "grow by a factor: omit it, or subtract less"
        )
    return row


def _name(function: str, metric: str) -> str:
    return (
        " ".join(part for part in (function, f"({metric})" if metric else "") if part) or "values"
    )
