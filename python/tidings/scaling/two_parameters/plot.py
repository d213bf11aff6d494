"""Plots of growth in two parameters: a curve over the first for each value of the second.

Points, model and 95 % band of a curve have one colour, and the value of the second parameter stands
at its end. Of many values some are drawn, from the smallest to the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.reports import plot
from tidings.scaling.two_parameters.engine import TwoModel
from tidings.scaling.two_parameters.points import PointsMeasurement

if TYPE_CHECKING:
    from tidings.scaling.checking import Checked

Floats = NDArray[np.float64]

MOST_CURVES = 6
COLORS = ("#1f5fa8", "#b06000", "#1a7f37", "#8250df", "#cf222e", "#57606a")
_STEPS = 24


@dataclass(frozen=True)
class Curve:
    """One curve: the second parameter's value; logarithms of points, and of model and band."""

    fixed: float
    sizes: Floats
    values: Floats
    grid: Floats
    bands: Floats


def curves(measured: PointsMeasurement, model: TwoModel) -> list[Curve]:
    """Compute what a plot shows."""
    points, columns = measured.points, measured.rows.columns
    at = points[columns.sizes.astype(int) - 1]
    values = np.unique(points[:, 1])
    chosen = np.unique(np.linspace(0, len(values) - 1, MOST_CURVES).round().astype(int))
    low, high = np.log(points[:, 0].min()), np.log(points[:, 0].max())
    grid = np.linspace(low, high, _STEPS)
    made = []
    for fixed in values[chosen].tolist():
        own = at[:, 1] == fixed
        bands = [_band(model, (math.exp(x), fixed)) for x in grid.tolist()]
        sizes, shown = np.log(at[own, 0]), np.log(columns.values[own])
        made.append(Curve(fixed, sizes, shown, grid, np.array(bands)))
    return made


def _band(model: TwoModel, point: tuple[float, float]) -> tuple[float, float, float]:
    low, high = model.log_interval(point)
    return (low, model.log_interval(point, 0.0)[0], high)


def value_range(drawn: list[Curve]) -> tuple[float, float]:
    """Return the range of values: that of points and models."""
    every = np.concatenate([np.append(one.values, one.bands[:, 1]) for one in drawn])
    spare = max(0.08 * float(np.ptp(every)), 0.2)
    return float(every.min()) - spare, float(every.max()) + spare


def svg(one: Checked, measured: PointsMeasurement, model: TwoModel, mark: str = "") -> str:
    """Return the plot of one expectation; `mark` is its own where a page has several."""
    drawn = curves(measured, model)
    grid = drawn[0].grid
    axes = plot.Axes((float(grid[0]), (low := value_range(drawn))[0]), (float(grid[-1]), low[1]))
    first, second = measured.parameters
    legend = f"lines: model at each {second}, bands: 95 %"
    parts = [plot.frame(one, axes, first, legend), plot.clip(mark)]
    for curve, color in zip(drawn, COLORS):
        parts.append(plot.polygon(axes, grid, curve.bands[:, 0], curve.bands[:, 2], color))
        parts.append(plot.line(axes, grid, curve.bands[:, 1], color, ""))
    parts.append("</g>")
    for curve, color in zip(drawn, COLORS):
        pairs = zip(curve.sizes.tolist(), curve.values.tolist())
        parts += [plot.point(axes, x, y, color) for x, y in pairs]
        x, y = axes.at(float(grid[-1]), float(curve.bands[-1, 1]))
        parts.append(
            f'<text x="{x + 4:.1f}" y="{y + 4:.1f}" font-size="11" fill="{color}">'
            f"{plot.label(curve.fixed)}</text>"
        )
    return plot.document(parts)
