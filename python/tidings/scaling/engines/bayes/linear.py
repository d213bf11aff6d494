"""Linear fits: least squares of relative deviations, in which coefficients are linear.

A term beside a constant, or two of them, is fitted to all values by a few products of arrays. That
chooses sums (`pairs`), and begins searches near their ends (`free`): what counts as evidence is
integrated elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.terms import log_values_of

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_CLIP = 300.0
_TINY = 1e-300
_LARGEST_START = 6.0
_CONSTANT = np.zeros((1, 3))


class Linear:
    """Terms and a constant relative to the values, as weighted unit vectors.

    `projected` are terms and target without what the constant takes up.
    """

    def __init__(self, problem: Problem, exponents: Floats) -> None:
        """Compute all that fits have in common."""
        self.exponents = exponents
        self.target = np.sqrt(problem.weights)
        vectors = _relative(problem, np.concatenate([exponents, _CONSTANT]))
        self.terms, self.constant = vectors[:-1], vectors[-1]
        self.along = self.terms @ self.constant
        self.level = float(self.target @ self.constant)
        self.projected = (
            self.terms - self.along[:, None] * self.constant,
            self.target - self.level * self.constant,
        )
        self.middle = len(problem.sizes) // 2

    def at_middle(self, places: Places, coefficients: Floats) -> Floats:
        """Return parts of the value at the middle size."""
        return np.asarray(self.terms[places, self.middle] * coefficients)

    def best(self, places: Places) -> tuple[int, float, float]:
        """Return the term that fits best, beside a constant if that is positive.

        With it the parts of the term and of the constant at the middle size (alone: 1 and 0).
        """
        terms, target = self.projected[0].take(places, axis=0), self.projected[1]
        heights, own = terms @ target, (terms * terms).sum(axis=1) + _TINY
        grown = heights / own
        left = self.level - grown * self.along.take(places)
        mixed = (grown > 0) & (left > 0)
        alone = self.terms.take(places, axis=0) @ self.target
        squares = np.where(mixed, target @ target - heights * grown, 1.0 - alone * alone)
        at = int(squares.argmin())
        if not mixed[at]:
            return int(places[at]), 1.0, 0.0
        part = float(grown[at] * self.terms[places[at], self.middle])
        return int(places[at]), part, float(left[at] * self.constant[self.middle])


def odds(part: Floats, other: Floats) -> Floats:
    """Return ln of a part over another, as a search may begin at."""
    apart = np.log(np.maximum(part, _TINY)) - np.log(np.maximum(other, _TINY))
    return np.asarray(np.minimum(np.maximum(apart, -_LARGEST_START), _LARGEST_START))


def _relative(problem: Problem, exponents: Floats) -> Floats:
    logs = log_values_of(exponents, problem.sizes)
    logs = np.minimum(np.maximum(logs, -_CLIP), _CLIP) - problem.logs
    vectors = np.exp(logs - logs.max(axis=1, keepdims=True)) * np.sqrt(problem.weights)
    return np.asarray(vectors / np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)))
