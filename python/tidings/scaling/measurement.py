"""Measurements: the values of one function by one metric, at several sizes.

A row is one value at one size; rows of one run (one job, one start of a process) share a run's
name, because everything accidental about a run, its nodes, its neighbours, its memory layout,
affects all its rows. Rows are kept in `columns`; a numbered row that is there twice counts once.
Order and units do not matter: engines see values only as ratios.

Invariants: sizes and values are finite and positive, sizes are at least three different ones;
anything else is rejected with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.columns import Collector, Columns, MeasurementError, Row

__all__ = ["FEWEST_SIZES", "Measurement", "MeasurementError", "Row"]

FEWEST_SIZES = 3
"""Below this many sizes nothing is fitted."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """All rows of one function and metric; `warnings` say what is odd about them.

    `apart` is the relative scatter between sizes that is known to be there, and that repetitions
    at a size do not show.
    """

    function: str
    metric: str
    parameter: str
    columns: Columns
    unit: str = ""
    warnings: tuple[str, ...] = ()
    apart: float = 0.0

    @classmethod
    def of(
        cls,
        rows: Iterable[Row],
        function: str = "",
        metric: str = "",
        parameter: str = "x",
        unit: str = "",
    ) -> Measurement:
        """Check rows, or raise MeasurementError."""
        collector = Collector(_name(function, metric))
        for row in rows:
            collector.add(row.size, row.run, row.repetition, row.value, (row.place, 0))
        return cls.collected(collector, function, metric, parameter, unit)

    @classmethod
    def collected(
        cls,
        collector: Collector,
        function: str = "",
        metric: str = "",
        parameter: str = "x",
        unit: str = "",
    ) -> Measurement:
        """Make a measurement of collected rows, or raise MeasurementError."""
        if collector.problem:
            raise MeasurementError(collector.problem)
        columns, warnings = collector.columns()
        return cls.of_columns(columns, warnings, function, metric, parameter, unit)

    @classmethod
    def of_columns(
        cls,
        columns: Columns,
        warnings: tuple[str, ...] = (),
        function: str = "",
        metric: str = "",
        parameter: str = "x",
        unit: str = "",
    ) -> Measurement:
        """Make a measurement of columns, or raise MeasurementError."""
        sizes = np.unique(columns.sizes)
        name = _name(function, metric)
        if not len(sizes):
            raise MeasurementError(f"{name}: there is no measurement")
        if len(sizes) < FEWEST_SIZES:
            some = ", ".join(f"{size:g}" for size in sizes)
            raise MeasurementError(
                f"{name}: {len(sizes)} size{'s' if len(sizes) > 1 else ''} ({some}), which says "
                f"nothing about growth: measure at five or more"
            )
        return cls(function, metric, parameter, columns, unit, warnings)

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

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All rows as objects, sorted: for a few thousand."""
        return self.columns.rows()

    def sizes(self) -> NDArray[np.float64]:
        """Return the different sizes, ascending."""
        return np.unique(self.columns.sizes)

    def at(self, size: float) -> list[Row]:
        """Return the rows of one size."""
        return [row for row in self.rows if row.size == size]

    def has_runs(self) -> bool:
        """Whether rows name more than one run."""
        return len(self.columns.run_names) > 1

    def by_size(self) -> list[NDArray[np.float64]]:
        """Return the values of each size, ascending."""
        columns = self.columns
        order = np.lexsort((columns.values, columns.sizes))
        _, starts = np.unique(columns.sizes[order], return_index=True)
        return np.split(columns.values[order], starts[1:])

    def quantile(self, share: float) -> NDArray[np.float64]:
        """Return this quantile of the values at each size; 0.25 is the paper's first quartile."""
        return np.array([np.quantile(at_size, share) for at_size in self.by_size()])


def _name(function: str, metric: str) -> str:
    return (
        " ".join(part for part in (function, f"({metric})" if metric else "") if part) or "values"
    )
