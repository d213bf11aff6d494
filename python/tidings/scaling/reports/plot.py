"""Plots as SVG, without a library: points, model, 95 % band and limits, on logarithmic axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.checking import Checked
from tidings.scaling.measurement import Measurement

Floats = NDArray[np.float64]

_WIDTH, _HEIGHT = 640, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 36, 44, 52
_STEPS = 48
_SPARE = 0.08
_MOST_POINTS = 2000


class _Axes:
    """The position of a size and a value in the picture, both by their logarithms."""

    def __init__(self, low: tuple[float, float], high: tuple[float, float]) -> None:
        self.low = low
        self.high = high

    def at(self, log_size: float, log_value: float) -> tuple[float, float]:
        x = (log_size - self.low[0]) / (self.high[0] - self.low[0])
        y = (log_value - self.low[1]) / (self.high[1] - self.low[1])
        y = min(max(y, -0.5), 1.5)
        return (
            _LEFT + x * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - y * (_HEIGHT - _TOP - _BOTTOM),
        )

    def path(self, sizes: Floats, values: Floats) -> str:
        points = [self.at(float(x), float(y)) for x, y in zip(sizes, values)]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _band(one: Checked, size: float) -> tuple[float, float, float]:
    """Return ln of the interval's lower bound, of the median and of the upper bound at a size."""
    low, high = one.model.log_interval(size)
    return (low, one.model.log_interval(size, 0.0)[0], high)


@dataclass(frozen=True)
class Curves:
    """What a plot shows, all as logarithms: points, and over a grid model, 95 % band and limits."""

    sizes: Floats
    values: Floats
    grid: Floats
    bands: Floats
    limits: list[Floats]


def points(measurement: Measurement) -> tuple[Floats, Floats]:
    """Return logarithms of sizes and values to draw: of many, evenly spaced ones of each size."""
    at_sizes = measurement.by_size()
    each = max(_MOST_POINTS // len(at_sizes), 1)
    kept = at_sizes
    if sum(map(len, at_sizes)) > _MOST_POINTS:
        kept = [v[np.linspace(0, len(v) - 1, min(each, len(v))).astype(int)] for v in at_sizes]
    step = max(len(kept) // _MOST_POINTS, 1)
    sizes = np.repeat(measurement.sizes(), [len(values) for values in kept])
    return np.log(sizes)[::step], np.log(np.concatenate(kept))[::step]


def curves(one: Checked) -> Curves:
    """Compute what a plot of an expectation shows."""
    sizes, values = points(one.measurement)
    last = min(one.target, 64 * math.exp(sizes.max()))
    grid = np.linspace(sizes.min(), math.log(max(last, math.exp(sizes.max()))), _STEPS)
    bands = np.array([_band(one, math.exp(x)) for x in grid])
    limits = [
        _through(one, term, grid)
        for term in (one.evaluation.limits.lower, one.evaluation.limits.upper)
    ]
    return Curves(sizes, values, grid, bands, limits)


def title(one: Checked) -> str:
    """Return the title of a plot."""
    return (
        f"{one.stated.name}: expected {one.expectation}, found "
        f"{one.evaluation.growth.big_o(one.expectation.variable)}, {one.evaluation.outcome.value}"
    )


def svg(one: Checked) -> str:
    """Return the plot of one expectation."""
    drawn = curves(one)
    low, high = value_range(drawn)
    axes = _Axes((float(drawn.grid[0]), low), (float(drawn.grid[-1]) + 1e-9, high))
    parts = [
        _frame(one, axes),
        _polygon(axes, drawn.grid, drawn.bands[:, 0], drawn.bands[:, 2]),
        *(_line(axes, drawn.grid, limit, "#b06000", "6 4") for limit in drawn.limits),
        _line(axes, drawn.grid, drawn.bands[:, 1], "#1f5fa8", ""),
        *(_point(axes, float(x), float(y)) for x, y in zip(drawn.sizes, drawn.values)),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="13" role="img">'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def value_range(drawn: Curves) -> tuple[float, float]:
    """Return the range of values: that of points and model; bands and limits may exceed it."""
    low = min(drawn.values.min(), float(np.min(drawn.bands[:, 1])))
    high = max(drawn.values.max(), float(np.max(drawn.bands[:, 1])))
    spare = max(_SPARE * (high - low), 0.2)
    return low - spare, high + spare


def _through(one: Checked, term: object, grid: Floats) -> Floats:
    """Return a limit's curve through the model at the first size."""
    logs = term.log_value(np.exp(grid))  # type: ignore[attr-defined]
    finite = np.flatnonzero(np.isfinite(logs))
    first = int(finite[0]) if len(finite) else 0
    start = one.model.posterior.quantiles(float(np.exp(grid[first])), np.array([0.5]))[0]
    return np.asarray(np.where(np.isfinite(logs), logs - logs[first] + start, start))


def _frame(one: Checked, axes: _Axes) -> str:
    named = escape(title(one))
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [
        f"<title>{named}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-weight="bold">{named}</text>',
        f'<path d="M{_LEFT},{_TOP}V{bottom}H{right}" fill="none" stroke="#444"/>',
    ]
    for value in _ticks(axes.low[0], axes.high[0], 2.0):
        x, _ = axes.at(value, axes.low[1])
        label = f"{math.exp(value):.6g}"
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
    for value in _ticks(axes.low[1], axes.high[1], 10.0):
        _, y = axes.at(axes.low[0], value)
        label = f"{math.exp(value):.3g}"
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    variable = escape(one.expectation.variable)
    middle = (_LEFT + right) / 2
    unit = escape(one.measurement.unit or one.measurement.metric)
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">{variable}</text>')
    parts.append(f'<text x="8" y="{_TOP - 6}">{unit}</text>')
    legend = "line: model, band: 95 %, dashes: limits"
    parts.append(f'<text x="{right}" y="{_TOP - 6}" text-anchor="end">{legend}</text>')
    return "\n".join(parts)


def _ticks(low: float, high: float, base: float) -> list[float]:
    """Return logarithms of powers of a base, seven at most; ends where no power lies between."""
    step = math.log(base)
    first, last = math.ceil(low / step), math.floor(high / step)
    stride = max(1, math.ceil((last - first + 1) / 7))
    ticks = [index * step for index in range(first, last + 1, stride)]
    return ticks if len(ticks) > 1 else [low, high]


def _polygon(axes: _Axes, grid: Floats, low: Floats, high: Floats) -> str:
    around = f"{axes.path(grid, low)} {axes.path(grid[::-1], high[::-1])}"
    return f'<g clip-path="inset(0)"><polygon points="{around}" fill="#1f5fa8" opacity="0.18"/></g>'


def _line(axes: _Axes, grid: Floats, values: Floats, color: str, dashes: str) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    path = axes.path(grid, values)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"{dashed}/>'


def _point(axes: _Axes, size: float, value: float) -> str:
    x, y = axes.at(size, value)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#222"/>'
