"""Free exponents: growth x^a and x^a log x with an exponent a that is in no list.

Rows are placed at a few exponents around the best one, close together where the data are sharp and
far apart where they are not, each with the prior mass of its interval. With a constant beside it
the best exponent comes from a search, without one from a straight line through the logarithms. If
such a growth is to be named, the exponent is the simplest fraction within the uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.candidates import FREE_LOGS, FREE_WEIGHT, Places
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.engines.bayes.linear import Linear, odds

Floats = NDArray[np.float64]

LOGS = np.array(FREE_LOGS)
"""The two families: without a logarithm and with one."""

_LOG_SHARES = np.array([[0.75], [0.25]])
_RANGE = (-2.5, 3.6)
_SMALLEST = 0.02
_WIDEST = 0.4
_NODES = np.array([-3.2, -2.2, -1.4, -0.7, 0.0, 0.7, 1.4, 2.2, 3.2])
_GAPS = np.gradient(_NODES)
_DENSITY = FREE_WEIGHT / (_RANGE[1] - _RANGE[0]) * _LOG_SHARES
_DENOMINATORS = (1, 2, 3, 4, 5, 10, 20, 100)
NODES = len(_NODES)


def starts(linear: Linear, families: Sequence[Places]) -> tuple[Floats, Floats]:
    """Return exponents (power, logs, rate) that a search begins at: the best listed ones.

    `families` are the places of those listed. With them ln of their part over the constant's.
    """
    found = [linear.best(places) for places in families]
    begins = odds(*np.array([parts for _, *parts in found]).T)
    return linear.exponents[[at for at, *_ in found]], begins


def straight(problem: Problem) -> tuple[Floats, Floats]:
    """Return the best power without a constant in either family, and its standard deviation."""
    x = problem.centred(np.log(problem.sizes))
    log_part = np.log(np.maximum(np.log2(problem.sizes), 1e-9))
    logs = problem.logs - LOGS[:, None] * log_part
    power_of_x = float((x * x) @ problem.weights)
    power = (logs * problem.weights) @ x / power_of_x
    _, squares, _ = problem.residuals(LOGS[:, None] * log_part + power[:, None] * x)
    sharpness = 2 * problem.noise.slope(squares) * power_of_x * problem.count_weight
    return power, 1.0 / np.sqrt(sharpness + 1e-300)


def rows(power: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Return exponents around the best powers, family by family, and their prior weights.

    Powers and widths are those of both families, for each of some sets (sets × 2); results are
    those of the nodes of both (sets × nodes, and three exponents each).
    """
    width = np.minimum(width, _WIDEST)[:, :, None]
    at = power[:, :, None] + width * _NODES
    inside = (at > _RANGE[0]) & (at < _RANGE[1]) & (np.abs(at) > _SMALLEST)
    exponents = np.zeros((*at.shape, 3))
    exponents[..., 0] = at
    exponents[..., 1] = LOGS[:, None]
    weights = np.where(inside, _DENSITY * width * _GAPS, 1e-300)
    return exponents.reshape(len(at), -1, 3), weights.reshape(len(at), -1)


def named(power: Floats, mass: Floats) -> Fraction:
    """Return the fraction that names weighted powers: the simplest within the uncertainty."""
    total = mass.sum()
    mean = float((power * mass).sum() / total)
    spread = math.sqrt(float((((power - mean) ** 2) * mass).sum() / total))
    for denominator in _DENOMINATORS:
        parts = round(mean * denominator)
        if abs(parts / denominator - mean) <= max(0.8 * spread, 1e-5):
            return Fraction(parts, denominator)
    return Fraction(mean).limit_denominator(10_000)
