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

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.summary import Summary

Floats = NDArray[np.float64]

SCATTER_ALONE = 0.5
"""Prior probability that the repetitions' scatter is all the noise there is."""

_FLOOR_SD = 3e-8
_EXTRA_FACTORS = (2.0, 4.0, 10.0, 25.0)
_EXTRA_SHARE = 0.7
_EXTRA_FREEDOM = 3.0
_SD_GRID = (1e-7, 1e-5, 1e-4, 1e-3, 4e-3, 0.015, 0.05, 0.15)
_GRID_FREEDOM = 2.0
_LOG_SQUARES = np.linspace(math.log(1e-20), math.log(1e5), 384)


@dataclass(frozen=True)
class Noise:
    """The log likelihood of R as a table, the part of wider noise, and the sizes' weights."""

    weights: Floats
    table: Floats
    variances: Floats
    beyond_scatter: Floats

    def log_likelihood(self, squares: Floats) -> Floats:
        """Return ln p(data | R), up to a constant of the sizes alone."""
        return np.interp(np.log(squares + 1e-20), _LOG_SQUARES, self.table)

    def variance(self, squares: Floats) -> Floats:
        """Return the expected variance of one size's logarithm at a sum of squares R."""
        return np.exp(np.interp(np.log(squares + 1e-20), _LOG_SQUARES, self.variances))

    def slope(self, squares: Floats) -> Floats:
        """Return -d ln p / dR, which is how sharply the likelihood falls around a minimum."""
        step = 0.05
        return (
            self.log_likelihood(squares) - self.log_likelihood(squares * (1 + step) + 1e-18)
        ) / (squares * step + 1e-18)

    def wider(self, squares: float) -> float:
        """Return the probability that there is more noise than the repetitions show."""
        return float(np.interp(math.log(squares + 1e-20), _LOG_SQUARES, self.beyond_scatter))


def noise_of(summary: Summary, apart: float = 0.0) -> Noise:
    """Make the noise model of a summary; sizes are known to scatter by `apart` at least."""
    count = len(summary.sizes)
    mean_count = count / float((1.0 / summary.counts).sum())
    weights = 2.0 / (1.0 + mean_count / summary.counts)
    scales, freedoms, shares = _components(summary, mean_count, apart)
    squares = np.exp(_LOG_SQUARES)[:, None]
    total = freedoms * scales**2
    half = (freedoms + count - 1) / 2
    constant = [math.lgamma(h) - math.lgamma(f / 2) for h, f in zip(half, freedoms)]
    logs = (
        np.log(shares)
        + np.array(constant)
        + freedoms / 2 * np.log(total)
        - half * np.log(total + squares)
    )
    top = logs.max(axis=1, keepdims=True)
    parts = np.exp(logs - top)
    sums = parts.sum(axis=1, keepdims=True)
    shares_of = parts / sums
    variance = (shares_of * (total + squares) / np.maximum(2 * half - 2, 1.0)).sum(axis=1)
    alone = shares_of[:, 0] if summary.freedom else np.zeros(len(squares))
    table = (top + np.log(sums))[:, 0]
    return Noise(weights, table, np.log(variance), 1.0 - alone)


def _components(summary: Summary, mean_count: float, apart: float) -> tuple[Floats, Floats, Floats]:
    """Return scales (standard deviations of a size's logarithm), degrees of freedom and shares."""
    grid = np.array(_SD_GRID)
    if not summary.freedom:
        return grid, np.full(len(grid), _GRID_FREEDOM), np.full(len(grid), 1.0 / len(grid))
    own = max(math.hypot(math.sqrt(summary.variance / mean_count), apart), _FLOOR_SD)
    extra = own * np.array(_EXTRA_FACTORS)
    rest = 1.0 - SCATTER_ALONE
    scales = np.concatenate([[own], extra, grid])
    freedoms = np.concatenate(
        [
            [float(summary.freedom)],
            np.full(len(extra), _EXTRA_FREEDOM),
            np.full(len(grid), _GRID_FREEDOM),
        ]
    )
    shares = np.concatenate(
        [
            [SCATTER_ALONE],
            np.full(len(extra), rest * _EXTRA_SHARE / len(extra)),
            np.full(len(grid), rest * (1 - _EXTRA_SHARE) / len(grid)),
        ]
    )
    larger = scales >= 0.99 * own
    return np.maximum(scales[larger], own), freedoms[larger], shares[larger] / shares[larger].sum()
