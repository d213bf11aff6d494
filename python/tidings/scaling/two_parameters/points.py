"""Points: values of one function by one metric, measured at pairs of two parameters.

A grid has every pair of some values of both; a cross has one line along each. Either has three
values or more of each parameter with the other one fixed. Rows are kept in the same columns as
those of one parameter, with a number for each point, so that spikes, runs and repeated rows are
treated alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.columns import Collector, Columns, MeasurementError, Place, place_text
from tidings.scaling.measurement import FEWEST_SIZES, Measurement
from tidings.scaling.two_parameters.products import SEPARATOR

Floats = NDArray[np.float64]
Point = tuple[float, float]

MOST_POINTS = 1024
"""More points than this are refused: a grid of 32 by 32 shows any growth."""


@dataclass(frozen=True, eq=False)
class PointsMeasurement:
    """All rows of one function and metric in two parameters.

    `points` are the different pairs, sorted; `rows` has the rows, in which a point is its number,
    from 1.
    """

    parameters: tuple[str, str]
    points: Floats
    rows: Measurement

    @property
    def function(self) -> str:
        """The function's name."""
        return self.rows.function

    @property
    def metric(self) -> str:
        """The metric's name."""
        return self.rows.metric

    @property
    def unit(self) -> str:
        """The values' unit."""
        return self.rows.unit

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the rows."""
        return self.rows.warnings

    @property
    def name(self) -> str:
        """Function and metric."""
        return self.rows.name

    @property
    def parameter(self) -> str:
        """Both parameters' names as one text."""
        return SEPARATOR.join(self.parameters)

    @cached_property
    def has_corner(self) -> bool:
        """Whether sum and product of terms can be told apart."""
        return has_corner(self.points)

    @cached_property
    def lines(self) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
        """The points along which the first parameter grows alone, and those of the second."""
        return lines(self.points, 0), lines(self.points, 1)


def has_corner(points: Floats) -> bool:
    """Whether two values of each parameter are there in all four combinations.

    Without that, as on a cross, sum and product of two terms fit alike.
    """
    first, second = (np.unique(points[:, axis], return_inverse=True)[1] for axis in (0, 1))
    present = np.zeros((first.max() + 1, second.max() + 1))
    present[first, second] = 1
    shared = present @ present.T
    return bool((shared - np.diag(np.diag(shared)) >= 2).any())


def lines(points: Floats, axis: int) -> list[NDArray[np.intp]]:
    """Return the points of each line on which one parameter has enough values."""
    fixed = points[:, 1 - axis]
    found = [np.flatnonzero(fixed == value) for value in np.unique(fixed)]
    return [line for line in found if len(line) >= FEWEST_SIZES]


class PointCollector:
    """Rows at points as they come; `problem` says what is wrong with the first wrong one."""

    def __init__(self, name: str) -> None:
        """Begin with none."""
        self._inner = Collector(name)
        self._name = name
        self._numbers: dict[Point, int] = {}

    @property
    def problem(self) -> str:
        """What is wrong with the first wrong row."""
        return self._inner.problem

    @problem.setter
    def problem(self, said: str) -> None:
        self._inner.problem = said

    def add(
        self, point: Point, run: str, repetition: int | str, value: float, place: Place
    ) -> None:
        """Keep a row, or remember what is wrong with it."""
        if not all(0.0 < at < math.inf for at in point):
            where = place_text(place) or self._name
            self.problem = self.problem or (
                f"{where}: the point is {point[0]:g}, {point[1]:g}; sizes must be positive"
            )
            return
        number = self._numbers.setdefault(point, len(self._numbers) + 1)
        self._inner.add(float(number), run, repetition, value, place)

    def measurement(
        self, function: str, metric: str, parameters: tuple[str, str], unit: str
    ) -> Measurement | PointsMeasurement:
        """Make a measurement of all; of one parameter if the other one never changes."""
        if self.problem:
            raise MeasurementError(self.problem)
        columns, warnings = self._inner.columns()
        points = np.array(list(self._numbers), dtype=float).reshape(-1, 2)
        changing = [axis for axis in (0, 1) if len(np.unique(points[:, axis])) > 1]
        if len(changing) < len(parameters):
            axis = changing[0] if changing else 0
            sizes = points[columns.sizes.astype(int) - 1, axis]
            other = f"{parameters[1 - axis]} is {points[0, 1 - axis]:g} everywhere"
            return Measurement.of_columns(
                replace(columns, sizes=sizes), (*warnings, other), function, metric,
                parameters[axis], unit,
            )  # fmt: skip
        columns, points = _ordered(columns, points)
        whole = Measurement(function, metric, SEPARATOR.join(parameters), columns, unit, warnings)
        made = PointsMeasurement(parameters, points, whole)
        _require_lines(made)
        return made


def of_points(
    parameters: tuple[str, str],
    points: list[Point],
    values: list[list[float]],
    function: str = "",
    metric: str = "",
    unit: str = "",
) -> PointsMeasurement:
    """Make a measurement of a list of repetitions for each point."""
    if len(points) != len(values):
        raise MeasurementError(f"{len(points)} points but {len(values)} values: give one each")
    collector = PointCollector(function or "values")
    for point, at_point in zip(points, values):
        for value in at_point:
            collector.add(point, "", "", value, ("", 0))
    made = collector.measurement(function, metric, parameters, unit)
    if isinstance(made, Measurement):
        raise MeasurementError(f"{made.name}: {made.warnings[-1]}, so there is one parameter")
    return made


def _ordered(columns: Columns, points: Floats) -> tuple[Columns, Floats]:
    """Give points numbers in their own order, whatever the order of rows."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    number = np.empty(len(points))
    number[order] = np.arange(1, len(points) + 1)
    return replace(columns, sizes=number[columns.sizes.astype(int) - 1]), points[order]


def _require_lines(measured: PointsMeasurement) -> None:
    if len(measured.points) > MOST_POINTS:
        raise MeasurementError(
            f"{measured.name}: {len(measured.points)} points; at most {MOST_POINTS} are compared: "
            "leave out values that are close to others"
        )
    for name, found in zip(measured.parameters, measured.lines):
        if not found:
            raise MeasurementError(
                f"{measured.name}: there is no line of {FEWEST_SIZES} values or more of {name} "
                "with the other parameter fixed: measure a grid, or a cross of two such lines"
            )
