"""Cliffs: growth that is smooth on both sides of a jump; no single curve is fitted through it.

For each split of the sizes the values are compared with two kinds of growth: one term with one
coefficient below the split and another above, where two sizes or more are on either side; and two
powers, one below and one above, where three are, since a function that changes its method at some
size may grow otherwise from there on. Evidence is compared with that of all smooth candidates; the
jump's logarithm has a flat prior over a factor of e^±4, powers one from -3 to 4, and a cliff itself
a small prior, so that noise rarely produces one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.terms import log_values_of

Floats = NDArray[np.float64]

PRIOR = 0.01
"""Prior probability of a cliff."""

SMALLEST_JUMP = 1.3
"""The smallest factor, up or down, that is called a cliff."""

_JUMP_RANGE = 8.0
_POWER_RANGE = 7.0
_SIDE = 2
_POWER_SIDE = 3
_FEWEST = 6
_CLIP = 300.0


@dataclass(frozen=True)
class Cliff:
    """A jump by `factor` between two sizes, and its probability."""

    below: float
    above: float
    factor: float
    probability: float


@dataclass(frozen=True)
class _Splits:
    """Ways to split the sizes: indices, log weights, and logarithms of jumps."""

    places: NDArray[np.intp]
    log_weights: Floats
    jumps: Floats


def find(
    problem: Problem, exponents: Floats, log_prior: Floats, log_evidence: float
) -> Cliff | None:
    """Return the likeliest cliff, if there are enough sizes to see one.

    `log_prior` is that of the terms; `log_evidence` that of all smooth candidates together.
    """
    if len(problem.sizes) < _FEWEST:
        return None
    kinds = (_one_growth(problem, exponents, log_prior), _two_powers(problem))
    logs = np.concatenate([kind.log_weights for kind in kinds]) - math.log(len(kinds))
    evidence = float(np.logaddexp.reduce(logs))
    odds = math.log(PRIOR / (1 - PRIOR)) + evidence - log_evidence
    best = int(logs.argmax())
    at = int(np.concatenate([kind.places for kind in kinds])[best])
    jump = float(np.concatenate([kind.jumps for kind in kinds])[best])
    if abs(jump) < math.log(SMALLEST_JUMP):
        return None
    probability = 1.0 / (1.0 + math.exp(min(max(-odds, -700.0), 700.0)))
    sizes = problem.sizes
    return Cliff(float(sizes[at - 1]), float(sizes[at]), math.exp(jump), probability)


def _one_growth(problem: Problem, exponents: Floats, log_prior: Floats) -> _Splits:
    """Weigh one term on both sides, for each split and term."""
    count = len(problem.sizes)
    logs = problem.logs - np.clip(log_values_of(exponents, problem.sizes), -_CLIP, _CLIP)
    logs = logs - logs.mean(axis=1, keepdims=True)
    places = np.arange(_SIDE, count - _SIDE + 1)
    squares = np.stack([_squares(logs, problem.noise.weights, at) for at in places.tolist()])
    weights = _weighed(problem, squares, places[:, None])
    weights += log_prior - np.logaddexp.reduce(log_prior)
    jumps = np.stack([logs[:, at:].mean(axis=1) - logs[:, :at].mean(axis=1) for at in places])
    return _Splits(np.repeat(places, len(logs)), weights.ravel(), jumps.ravel())


def _two_powers(problem: Problem) -> _Splits:
    """Weigh a power of its own on each side, for each split; the jump is half-way between."""
    x = np.log(problem.sizes)
    places = np.arange(_POWER_SIDE, len(x) - _POWER_SIDE + 1)
    squares, jumps, sharpness = [], [], []
    for at in places:
        between = 0.5 * (x[at - 1] + x[at])
        below = _line(problem, slice(None, at), between)
        above = _line(problem, slice(at, None), between)
        squares.append(below[1] + above[1])
        jumps.append(above[0] - below[0])
        sharpness.append(below[2] * above[2])
    found = np.array(squares)
    weights = _weighed(problem, found, places)
    variance = problem.noise.variance(found)
    weights += np.log(2 * math.pi * variance / np.sqrt(np.array(sharpness)))
    return _Splits(places, weights - 2 * math.log(_POWER_RANGE), np.array(jumps))


def _line(problem: Problem, side: slice, between: float) -> tuple[float, float, float]:
    """Fit a straight line through the logarithms of a side.

    Returns its value at `between`, its weighted squares, and those of the sizes' logarithms.
    """
    weights = problem.noise.weights[side]
    share = weights / weights.sum()
    x, y = np.log(problem.sizes[side]), problem.logs[side]
    x_mean, y_mean = float(x @ share), float(y @ share)
    spread = float(weights @ (x - x_mean) ** 2)
    slope = float((weights * (x - x_mean)) @ (y - y_mean)) / spread
    rest = y - y_mean - slope * (x - x_mean)
    return y_mean + slope * (between - x_mean), float(weights @ rest**2), spread


def _weighed(problem: Problem, squares: Floats, places: NDArray[np.intp]) -> Floats:
    """Return log weights of squares at splits, integrated over the jump."""
    count = len(problem.sizes)
    balance = count / (places * (count - places))
    splits = count - 2 * _SIDE + 1
    spread = 0.5 * np.log(2 * math.pi * problem.noise.variance(squares) * balance)
    likelihood = problem.noise.log_likelihood(squares)
    return np.asarray(likelihood + spread - math.log(_JUMP_RANGE * splits))


def _squares(logs: Floats, weights: Floats, at: int) -> Floats:
    """Return the weighted squares around separate levels below and above a split."""
    total = np.zeros(len(logs))
    for side in (slice(None, at), slice(at, None)):
        share = weights[side] / weights[side].sum()
        rest = logs[:, side] - (logs[:, side] @ share)[:, None]
        total = total + (rest * rest) @ weights[side]
    return total
