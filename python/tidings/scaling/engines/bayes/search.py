"""Search: the best values of two unknowns, row by row, by a damped Gauss–Newton search.

One is u, the logarithm of the growing part's share, the other q: a free exponent, or the logarithm
of the constant beside a pair of terms. The widths of q's peaks say where a few values of q are
placed, which are rows like all others then (`evidence`).

There are some sixteen rows of a few sizes, so that the number of calls is what takes time: both
derivatives, and all products of them, are one array each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.evidence import CLIP, Problem, Rows, within

Floats = NDArray[np.float64]

_STEPS = 4
"""Searches begin near their ends."""

_RIDGE = 1e-12
_SQUARES = 2
"""The row of the squares in normal equations."""


@dataclass(frozen=True)
class Found:
    """The best u and q of rows, the standard deviation of q, and R there."""

    u: Floats
    q: Floats
    width: Floats
    squares: Floats


def best(
    problem: Problem, rows: Rows, slope_of: Floats, free: NDArray[np.bool_], starts: Floats
) -> Found:
    """Search the best (u, q) of rows from `starts` (2 × rows).

    For rows where `free` is true, q is added to the growing part's power, whose derivative is
    `slope_of` (ln x relative to the middle); elsewhere q is the logarithm of the constant.
    """
    search = _Search(problem, rows, slope_of, free)
    damping = np.full(starts.shape[1], 1e-2)
    at, normal = starts, search.at(starts)
    for _ in range(_STEPS):
        tried = at + _damped(normal, damping)
        trial = search.at(tried)
        better = trial[_SQUARES] < normal[_SQUARES]
        at, normal = np.where(better, tried, at), np.where(better, trial, normal)
        damping *= np.where(better, 0.1, 10.0)
    squares = normal[_SQUARES]
    a, d, b = problem.count_weight * normal[[0, 1, 3]]
    variance = (a + _RIDGE) / np.maximum((a + _RIDGE) * (d + _RIDGE) - b * b, 1e-30)
    width = np.sqrt(variance / np.maximum(2 * problem.noise.slope(squares), 1e-30))
    return Found(at[0], at[1], width, squares)


class _Search:
    """Normal equations of rows with a second unknown."""

    def __init__(
        self, problem: Problem, rows: Rows, slope_of: Floats, free: NDArray[np.bool_]
    ) -> None:
        self.problem = problem
        self.beside, self.growing = rows.parts(problem.relative)
        self.slopes = free[:, None] * slope_of
        self.fixed = np.where(free, 0.0, 1.0)

    def at(self, unknown: Floats) -> Floats:
        """Return the products a, d of either derivative, the squares, b of both, the right sides.

        `unknown` are u and q of each row (2 × rows), the result is 6 × rows.
        """
        problem = self.problem
        u, q = unknown[:, :, None]
        constant = (np.exp(within(unknown[1], -40.0, 40.0)) * self.fixed)[:, None]
        grown = np.exp(within(u + self.growing + q * self.slopes, -CLIP, CLIP))
        total = self.beside + constant
        total += grown
        # The derivatives of ln f by u and by q, and the distance, all without the level.
        three = np.empty((3, *grown.shape))
        share = np.divide(grown, total, out=three[0])
        np.multiply(share, self.slopes, out=three[1])
        three[1] += constant / total
        np.subtract(problem.logs, np.log(total), out=three[2])
        three = problem.centred(three)
        products = np.empty((6, *grown.shape))
        np.multiply(three, three, out=products[:3])
        np.multiply(three[0], three[1], out=products[3])
        np.multiply(three[:2], three[2], out=products[4:])
        normal = products @ problem.weights
        normal[_SQUARES] *= problem.count_weight
        return np.asarray(normal)


def _damped(normal: Floats, damping: Floats) -> Floats:
    """Solve the damped normal equations of two unknowns, row by row."""
    a, d = normal[:2] * (1 + damping) + 1e-14
    b, first, second = normal[3:]
    solved = np.array([d * first - b * second, a * second - b * first])
    solved /= np.maximum(a * d - b * b, 1e-30)
    return within(solved, -2.0, 2.0)
