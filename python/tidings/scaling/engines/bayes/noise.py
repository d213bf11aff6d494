"""Noise: how probable a sum of squared residuals is, the noise itself being unknown.

Residuals of the sizes' logarithms are normal with a variance that is itself uncertain: a mixture of
scaled inverse χ² distributions. One component means that the scatter of repetitions is all the
noise; others mean that runs of different sizes differ by more than that, by some factor or by some
per cent. Integrated over the variance (and over the overall coefficient, which has a flat prior in
the logarithm) each gives a Student density in the sum of squares R, so all of the noise model is
one function of R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.summary import Summary

Floats = NDArray[np.float64]

SCATTER_ALONE = 0.5
"""Prior probability that the repetitions' scatter is all the noise there is."""

_FLOOR_SD = 3e-8
_EXTRA_FACTORS = np.array([1.0, 2.0, 4.0, 10.0, 25.0])
"""Scales over that of the repetitions, which is the first."""
_EXTRA_SHARE = 0.7
_EXTRA_FREEDOM = 3.0
_SD_GRID = np.array([1e-7, 1e-5, 1e-4, 1e-3, 4e-3, 0.015, 0.05, 0.15])
_GRID_FREEDOM = 2.0
_KINDS = (1, len(_EXTRA_FACTORS) - 1, len(_SD_GRID))
"""How many scales: the repetitions' own, factors of it, and some per cent."""

_FREEDOMS = np.repeat([0.0, _EXTRA_FREEDOM, _GRID_FREEDOM], _KINDS)
"""Degrees of freedom of all scales; the first are the repetitions'."""

_SHARES = np.repeat(
    [
        SCATTER_ALONE,
        (1.0 - SCATTER_ALONE) * _EXTRA_SHARE / _KINDS[1],
        (1.0 - SCATTER_ALONE) * (1 - _EXTRA_SHARE) / _KINDS[2],
    ],
    _KINDS,
)
_LOG_SQUARES = np.linspace(math.log(1e-20), math.log(1e5), 384)
_SQUARES = np.exp(_LOG_SQUARES)
"""The sums of squares that the tables are of."""


@dataclass(frozen=True)
class Noise:
    """The sizes' weights, and the log likelihood of R as a table.

    `shares` are the components' parts of the likelihood (rows) there, the repetitions' scatter
    first if there `is_scatter`; `scales` their sums of squares, one each, and `freedoms` what
    variances have.
    """

    weights: Floats
    table: Floats
    shares: Floats
    scales: Floats
    freedoms: Floats
    is_scatter: bool

    @cached_property
    def variances(self) -> Floats:
        """Logarithms of the expected variance as a table, made when it is first asked for."""
        squares = self.scales[:, None] + _SQUARES
        return np.log(_summed(self.shares * squares / self.freedoms[:, None]))

    def log_likelihood(self, squares: Floats) -> Floats:
        """Return ln p(data | R), up to a constant of the sizes alone."""
        return np.interp(np.log(squares + 1e-20), _LOG_SQUARES, self.table)

    def variance(self, squares: Floats) -> Floats:
        """Return the expected variance of one size's logarithm at a sum of squares R."""
        return np.exp(np.interp(np.log(squares + 1e-20), _LOG_SQUARES, self.variances))

    def slope(self, squares: Floats, height: Floats | None = None) -> Floats:
        """Return -d ln p / dR, which is how sharply the likelihood falls around a minimum.

        `height` is ln p(data | R), where it is known.
        """
        step = 0.05
        height = self.log_likelihood(squares) if height is None else height
        fall = height - self.log_likelihood(squares * (1 + step) + 1e-18)
        return np.asarray(fall / (squares * step + 1e-18))

    def wider(self, squares: float) -> float:
        """Return the probability that there is more noise than the repetitions show."""
        if not self.is_scatter:
            return 1.0
        return float(np.interp(math.log(squares + 1e-20), _LOG_SQUARES, 1.0 - self.shares[0]))


def noise_of(summary: Summary, apart: float = 0.0) -> Noise:
    """Make the noise model of a summary; sizes are known to scatter by `apart` at least."""
    count = len(summary.sizes)
    mean_count = count / float((1.0 / summary.counts).sum())
    weights = 2.0 / (1.0 + mean_count / summary.counts)
    scales, freedoms, shares = _components(summary, mean_count, apart)
    total = freedoms * scales**2
    half = (freedoms + count - 1) / 2
    listed = freedoms.tolist()
    known = {f: math.lgamma((f + count - 1) / 2) - math.lgamma(f / 2) for f in set(listed)}
    constant = np.array([known[f] for f in listed])
    outer = np.log(shares) + constant + freedoms / 2 * np.log(total)
    # Components are rows: along a row all is the same, and the maximum of short ones is slow.
    # All in one array: memory that is taken and given back takes longer than what is computed.
    parts = total[:, None] + _SQUARES
    np.log(parts, out=parts)
    parts *= -half[:, None]
    parts += outer[:, None]
    top = parts.max(axis=0)
    parts -= top
    np.exp(parts, out=parts)
    sums = _summed(parts)
    parts /= sums
    table, left = top + np.log(sums), np.maximum(2 * half - 2, 1.0)
    return Noise(weights, table, parts, total, left, summary.freedom > 0)


def _summed(parts: Floats) -> Floats:
    """Return sums over the rows, added up as those of contiguous values are, in pairs."""
    return np.asarray(np.ascontiguousarray(parts.T).sum(axis=1))


def _components(summary: Summary, mean_count: float, apart: float) -> tuple[Floats, Floats, Floats]:
    """Return scales (standard deviations of a size's logarithm), degrees of freedom and shares."""
    if not summary.freedom:
        count = len(_SD_GRID)
        return _SD_GRID, np.full(count, _GRID_FREEDOM), np.full(count, 1.0 / count)
    own = max(math.hypot(math.sqrt(summary.variance / mean_count), apart), _FLOOR_SD)
    scales = np.concatenate([own * _EXTRA_FACTORS, _SD_GRID])
    larger = scales >= 0.99 * own
    freedoms = _FREEDOMS[larger]
    freedoms[0] = summary.freedom
    shares = _SHARES[larger]
    return np.maximum(scales[larger], own), freedoms, shares / shares.sum()
