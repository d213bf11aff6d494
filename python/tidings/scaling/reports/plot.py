"""Plots as SVG, without a library: points, model, 95 % band and limits, on logarithmic axes.

A limit begins at the model's value at the smallest size, with the model's constant: it is what the
function would take if only its growing part grew as the limit says. The verdict stands above, in
its colour; nothing is drawn over it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.checking import Checked
from tidings.scaling.engines.bayes import BayesModel
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term

Floats = NDArray[np.float64]

_WIDTH, _HEIGHT = 640, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 36, 44, 52
_STEPS = 48
_SPARE = 0.08
_MOST_POINTS = 2000
_FAR = 50.0
_MOST_TICKS = 7
_COLORS = {"holds": "#1a7f37", "violated": "#cf222e", "undecided": "#9a6700", "misfit": "#8250df"}
_BLUE = "#1f5fa8"
_MARKS = {"holds": "✓", "violated": "✗", "undecided": "?", "misfit": "!"}
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}


class Axes:
    """The position of a size and a value in the picture, both by their logarithms."""

    def __init__(self, low: tuple[float, float], high: tuple[float, float]) -> None:
        self.low = low
        self.high = high

    def at(self, log_size: float, log_value: float) -> tuple[float, float]:
        """Return the position of a size and a value, given as logarithms."""
        x = (log_size - self.low[0]) / (self.high[0] - self.low[0])
        y = (log_value - self.low[1]) / (self.high[1] - self.low[1])
        y = min(max(y, -_FAR), 1 + _FAR)
        return (
            _LEFT + x * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - y * (_HEIGHT - _TOP - _BOTTOM),
        )

    def path(self, sizes: Floats, values: Floats) -> str:
        """Return positions as SVG lists them."""
        points = [self.at(float(x), float(y)) for x, y in zip(sizes, values)]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _band(model: BayesModel, size: float) -> tuple[float, float, float]:
    """Return ln of the interval's lower bound, of the median and of the upper bound at a size."""
    low, high = model.log_interval(size)
    return (low, model.log_interval(size, 0.0)[0], high)


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
    """Compute what a plot of an expectation in one parameter shows."""
    model, limits_of = one.model, one.evaluation.limits
    assert isinstance(model, BayesModel), "two parameters have plots of their own"
    assert isinstance(limits_of, Limits), "limits are of one parameter, as the model is"
    assert isinstance(one.measurement, Measurement), "so is the measurement"
    assert not isinstance(one.target, tuple), "and the size that is predicted"
    sizes, values = points(one.measurement)
    last = min(one.target, 64 * math.exp(sizes.max()))
    grid = np.linspace(sizes.min(), math.log(max(last, math.exp(sizes.max()))), _STEPS)
    bands = np.array([_band(model, math.exp(x)) for x in grid])
    limits = [_through(model, term, grid) for term in (limits_of.lower, limits_of.upper)]
    return Curves(sizes, values, grid, bands, limits)


def verdict_of(one: Checked) -> tuple[str, str]:
    """Return the verdict with its mark, and its colour."""
    outcome = one.evaluation.outcome.value
    return f"{_MARKS[outcome]} {outcome}", _COLORS[outcome]


def title(one: Checked) -> str:
    """Return the title of a plot, without the verdict."""
    found = one.evaluation.growth.big_o(one.expectation.variable)
    return f"{one.stated.name}: expected {one.expectation}, found {found}"


def svg(one: Checked, mark: str = "") -> str:
    """Return the plot of one expectation; `mark` is its own where a page has several."""
    if not isinstance(one.measurement, Measurement):
        from tidings.scaling.two_parameters import engine, plot

        assert isinstance(one.model, engine.TwoModel), "a model is of what was measured"
        return plot.svg(one, one.measurement, one.model, mark)
    drawn = curves(one)
    low, high = value_range(drawn)
    axes = Axes((float(drawn.grid[0]), low), (float(drawn.grid[-1]) + 1e-9, high))
    parts = [
        frame(one, axes, one.expectation.variable, "line: model, band: 95 %, dashes: limits"),
        clip(mark),
        polygon(axes, drawn.grid, drawn.bands[:, 0], drawn.bands[:, 2]),
        *(line(axes, drawn.grid, limit, "#b06000", "6 4") for limit in drawn.limits),
        line(axes, drawn.grid, drawn.bands[:, 1], _BLUE, ""),
        "</g>",
        *(point(axes, float(x), float(y)) for x, y in zip(drawn.sizes, drawn.values)),
    ]
    return document(parts)


def document(parts: list[str]) -> str:
    """Return a picture of these parts."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="13" role="img">'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def clip(mark: str) -> str:
    """Return the begin of a group that is drawn inside the axes only."""
    return _CLIP.replace("plot", f"plot{mark}")


def value_range(drawn: Curves) -> tuple[float, float]:
    """Return the range of values: that of points and model; bands and limits may exceed it."""
    low = min(drawn.values.min(), float(np.min(drawn.bands[:, 1])))
    high = max(drawn.values.max(), float(np.max(drawn.bands[:, 1])))
    spare = max(_SPARE * (high - low), 0.2)
    return low - spare, high + spare


def _through(model: BayesModel, term: Term, grid: Floats) -> Floats:
    """Return a limit's curve: from the model at the first size on, with its constant."""
    logs = term.log_value(np.exp(grid))
    finite = np.flatnonzero(np.isfinite(logs))
    first = int(finite[0]) if len(finite) else 0
    size = float(np.exp(grid[first]))
    start = float(model.posterior.quantiles(size, np.array([0.5]))[0])
    grown = model.posterior.growing_share(size)
    apart = np.clip(np.where(np.isfinite(logs), logs - logs[first], 0.0), -700, 700)
    return np.asarray(start + np.log((1 - grown) + grown * np.exp(apart)))


_CLIP = (
    f'<clipPath id="plot"><rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" '
    f'height="{_HEIGHT - _TOP - _BOTTOM}"/></clipPath><g clip-path="url(#plot)">'
)


def frame(one: Checked, axes: Axes, variable: str, legend: str) -> str:
    """Return axes, ticks, title and verdict."""
    named = escape(title(one))
    verdict, color = verdict_of(one)
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [
        f"<title>{named}: {verdict}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<rect width="{_WIDTH}" height="5" fill="{color}"/>',
        f'<text x="{_LEFT}" y="24" font-weight="bold">{named}</text>',
        f'<text x="{right}" y="24" font-weight="bold" text-anchor="end" fill="{color}">'
        f"{verdict}</text>",
        f'<path d="M{_LEFT},{_TOP}V{bottom}H{right}" fill="none" stroke="#444"/>',
    ]
    for value in ticks(axes.low[0], axes.high[0]):
        x, _ = axes.at(math.log(value), axes.low[1])
        parts.append(
            f'<path d="M{x:.1f},{bottom}v4" stroke="#444"/>'
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{label(value)}</text>'
        )
    for value in ticks(axes.low[1], axes.high[1]):
        _, y = axes.at(axes.low[0], math.log(value))
        parts.append(
            f'<path d="M{_LEFT},{y:.1f}h-4" stroke="#444"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label(value)}</text>'
        )
    middle = (_LEFT + right) / 2
    unit = escape(one.measurement.unit or one.measurement.metric)
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(variable)}</text>'
    )
    parts.append(f'<text x="8" y="{_TOP - 6}">{unit}</text>')
    parts.append(f'<text x="{right}" y="{_TOP - 6}" text-anchor="end">{escape(legend)}</text>')
    return "\n".join(parts)


def ticks(low: float, high: float) -> list[float]:
    """Return round values between logarithms: 1, 2 and 5 times powers of ten, or powers alone."""
    first, last = math.floor(low / math.log(10)), math.ceil(high / math.log(10))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [
            digit * 10.0**power
            for power in range(first, last + 1)
            for digit in digits
            if low <= math.log(digit * 10.0**power) <= high
        ]
        if 2 <= len(found) <= _MOST_TICKS:
            return found
    if len(found) > _MOST_TICKS:
        return found[:: math.ceil(len(found) / _MOST_TICKS)]
    return [float(f"{math.exp(value):.3g}") for value in np.linspace(low, high, 3)]


def label(value: float) -> str:
    """Return a number as a tick's label: 200, 5k, 10µ; beyond the prefixes as 1e15."""
    exponent = 3 * math.floor(math.log10(value * (1 + 1e-12)) / 3)
    if exponent not in _PREFIXES:
        return f"{value:.3g}".replace("e+", "e")
    return f"{value / 10.0**exponent:.4g}{_PREFIXES[exponent]}"


def polygon(axes: Axes, grid: Floats, low: Floats, high: Floats, color: str = _BLUE) -> str:
    """Return a band."""
    around = f"{axes.path(grid, low)} {axes.path(grid[::-1], high[::-1])}"
    return f'<polygon points="{around}" fill="{color}" opacity="0.18"/>'


def line(axes: Axes, grid: Floats, values: Floats, color: str, dashes: str) -> str:
    """Return a curve."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    path = axes.path(grid, values)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"{dashed}/>'


def point(axes: Axes, size: float, value: float, color: str = "#222") -> str:
    """Return a measured value."""
    x, y = axes.at(size, value)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
