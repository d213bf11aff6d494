"""Pairs: the choice of the sums of two terms to be weighed.

There are hundreds of sums of a leading and a lower term, and the values at ten sizes distinguish
few of them, so only those that fit best are weighed. All are fitted at once, beside a constant and
without one, by least squares of relative deviations: these are linear in the coefficients, so that
a few products of arrays are enough. A sum whose best coefficients are not all positive fits no
better than one of its terms, which is a candidate of its own.

The fit only chooses; the chosen pairs are integrated as all other candidates are. They also stand
for the rest, and get the prior weight of the rest as far as that fits: noise that hides all lower
terms must not take the weight from sums, or predictions are too confident.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.candidates import Candidates, Floats, Places
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.terms import log_values_of

WEIGHED = 20
"""How many pairs are weighed: twelve name growth as well as forty; predictions need the others."""

_CLIP = 300.0
_TINY = 1e-12
_UNFIT = 50.0
"""How much less likely a pair counts, in logarithms, whose coefficients are not all positive."""


def chosen(problem: Problem, listed: Candidates) -> Candidates:
    """Return the candidates with those of their pairs that fit best."""
    squares, positive = fitted(problem, listed)
    height = problem.noise.log_likelihood(squares) + np.log(listed.pair_weights)
    height -= np.where(positive, 0.0, _UNFIT)
    best = (-height).argsort(kind="stable")[:WEIGHED]
    mass = np.exp(height - height[best[0]])
    share = mass[best].sum() / mass.sum()
    return replace(
        listed,
        leads=listed.leads[best],
        lowers=listed.lowers[best],
        pair_weights=listed.pair_weights[best] / share,
    )


def fitted(problem: Problem, listed: Candidates) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the squares of each pair's residuals, and whether its coefficients are positive."""
    leads, lowers = listed.leads, listed.lowers
    target = np.sqrt(problem.weights)
    terms, constant = _relative(problem, listed.exponents), _relative(problem, np.zeros((1, 3)))[0]
    projected = _without(terms, constant), _without(target, constant)
    with_constant = _coefficients(*projected, leads, lowers)
    along = terms @ constant
    left = constant @ target - with_constant[0] * along[leads] - with_constant[1] * along[lowers]
    mixed = (left > 0) & (with_constant > 0).all(axis=0)
    lead, lower = np.where(mixed, with_constant, _coefficients(terms, target, leads, lowers))
    positive = (lead > 0) & (lower > 0)
    fit = np.maximum(lead, _TINY)[:, None] * terms[leads]
    fit += np.maximum(lower, _TINY)[:, None] * terms[lowers]
    fit += np.where(mixed, left, 0.0)[:, None] * constant
    return problem.residuals(problem.logs + np.log(fit / target + 1e-300))[1], positive


def _relative(problem: Problem, exponents: Floats) -> Floats:
    """Return terms, relative to the values and weighted, as unit vectors."""
    logs = np.clip(log_values_of(exponents, problem.sizes), -_CLIP, _CLIP) - problem.logs
    vectors = np.exp(logs - logs.max(axis=1, keepdims=True)) * np.sqrt(problem.weights)
    return np.asarray(vectors / np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)))


def _without(vectors: Floats, constant: Floats) -> Floats:
    """Return the parts of vectors orthogonal to a unit vector."""
    return np.asarray(vectors - (vectors @ constant)[..., None] * constant)


def _coefficients(vectors: Floats, target: Floats, leads: Places, lowers: Places) -> Floats:
    """Return the coefficients of two vectors nearest to the target, pair by pair."""
    norms = np.sqrt((vectors * vectors).sum(axis=1)) + 1e-300
    units = vectors / norms[:, None]
    cosines = (units @ units.T)[leads, lowers]
    heights = units @ target
    own = np.stack([heights[leads] / norms[leads], heights[lowers] / norms[lowers]])
    other = np.stack([heights[lowers] / norms[leads], heights[leads] / norms[lowers]])
    return np.asarray((own - cosines * other) / np.maximum(1 - cosines * cosines, _TINY))
