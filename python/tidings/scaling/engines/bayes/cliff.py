"""Cliffs: growth that is smooth on both sides of a jump; no curve is to be bent through it.

For each split of the sizes with two or more on either side, and each term, the values are held
against that term with one coefficient below the split and another above. Evidence is compared with
that of all smooth candidates; the jump's logarithm has a flat prior over a factor of e^±4, and a
cliff as such a small prior, so that noise rarely makes one.
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
_SIDE = 2
_FEWEST = 6
_CLIP = 300.0


@dataclass(frozen=True)
class Cliff:
    """A jump by `factor` between two sizes, and its probability."""

    below: float
    above: float
    factor: float
    probability: float


def find(
    problem: Problem, exponents: Floats, log_prior: Floats, log_evidence: float
) -> Cliff | None:
    """Return the likeliest cliff, if there are sizes enough to see one.

    `log_prior` is that of the terms; `log_evidence` that of all smooth candidates together.
    """
    count = len(problem.sizes)
    if count < _FEWEST:
        return None
    logs = problem.logs - np.clip(log_values_of(exponents, problem.sizes), -_CLIP, _CLIP)
    logs = logs - logs.mean(axis=1, keepdims=True)
    splits = range(_SIDE, count - _SIDE + 1)
    squares = np.stack([_squares(logs, problem.noise.weights, at) for at in splits])
    likelihood = problem.noise.log_likelihood(squares)
    variance = problem.noise.variance(squares)
    balance = np.array([count / (at * (count - at)) for at in splits])[:, None]
    spread = 0.5 * np.log(2 * math.pi * variance * balance) - math.log(_JUMP_RANGE * len(splits))
    weights = likelihood + spread + log_prior - np.logaddexp.reduce(log_prior)
    evidence = float(np.logaddexp.reduce(weights.ravel()))
    odds = math.log(PRIOR / (1 - PRIOR)) + evidence - log_evidence
    place, term = np.unravel_index(int(weights.argmax()), weights.shape)
    at = splits[int(place)]
    jump = float(logs[term, at:].mean() - logs[term, :at].mean())
    if abs(jump) < math.log(SMALLEST_JUMP):
        return None
    probability = 1.0 / (1.0 + math.exp(min(max(-odds, -700.0), 700.0)))
    sizes = problem.sizes
    return Cliff(float(sizes[at - 1]), float(sizes[at]), math.exp(jump), probability)


def _squares(logs: Floats, weights: Floats, at: int) -> Floats:
    """Return the weighted squares around separate levels below and above a split."""
    total = np.zeros(len(logs))
    for side in (slice(None, at), slice(at, None)):
        share = weights[side] / weights[side].sum()
        rest = logs[:, side] - (logs[:, side] @ share)[:, None]
        total = total + (rest * rest) @ weights[side]
    return total
