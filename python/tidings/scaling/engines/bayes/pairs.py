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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.candidates import Candidates, Floats, Places
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.engines.bayes.linear import Linear, odds

WEIGHED = 14
"""How many pairs are weighed: twelve name growth as well as forty."""

_TINY = 1e-12
_UNFIT = 50.0
"""How much less likely a pair counts, in logarithms, whose coefficients are not all positive."""


@dataclass(frozen=True)
class Fitted:
    """Fits of pairs: squares of residuals, whether both coefficients are positive, and all three.

    `constant` is 0 where it would be negative.
    """

    squares: Floats
    positive: NDArray[np.bool_]
    lead: Floats
    lower: Floats
    constant: Floats


def chosen(problem: Problem, listed: Candidates, linear: Linear) -> tuple[Candidates, Floats]:
    """Return the candidates with those of their pairs that fit best, and where searches begin.

    That is ln of the leading part and of the constant over the lower part, for each pair.
    """
    fits = fitted(problem, listed, linear)
    height = problem.noise.log_likelihood(fits.squares) + listed.log_pair_weights
    height -= np.where(fits.positive, 0.0, _UNFIT)
    best = (-height).argsort(kind="stable")[:WEIGHED]
    mass = np.exp(height - height[best[0]])
    share = mass[best].sum() / mass.sum()
    made = replace(
        listed,
        leads=listed.leads[best],
        lowers=listed.lowers[best],
        pair_weights=listed.pair_weights[best] / share,
    )
    lower = linear.at_middle(made.lowers, fits.lower[best])
    begins = np.stack(
        [
            odds(linear.at_middle(made.leads, fits.lead[best]), lower),
            odds(fits.constant[best] * linear.constant[linear.middle], lower),
        ],
        axis=1,
    )
    return made, np.where(fits.positive[best, None], begins, 0.0)


def fitted(problem: Problem, listed: Candidates, linear: Linear | None = None) -> Fitted:
    """Fit each pair, beside a constant where that is positive."""
    linear = linear or Linear(problem, listed.exponents)
    used, leads, lowers = listed.in_pairs
    terms, along = linear.terms[used], linear.along[used]
    vectors = linear.projected[0][used]
    with_constant = _coefficients(vectors, linear.projected[1], leads, lowers)
    left = linear.level - with_constant[0] * along[leads] - with_constant[1] * along[lowers]
    mixed = (left > 0) & (with_constant > 0).all(axis=0)
    lead, lower = np.where(mixed, with_constant, _coefficients(terms, linear.target, leads, lowers))
    left = np.where(mixed, left, 0.0)
    fit = np.maximum(lead, _TINY)[:, None] * terms[leads]
    fit += np.maximum(lower, _TINY)[:, None] * terms[lowers]
    fit += left[:, None] * linear.constant
    squares = problem.residuals(problem.logs + np.log(fit / linear.target + 1e-300))[1]
    return Fitted(squares, (lead > 0) & (lower > 0), lead, lower, left)


def _coefficients(vectors: Floats, target: Floats, leads: Places, lowers: Places) -> Floats:
    """Return the coefficients of two vectors nearest to the target, pair by pair."""
    norms = np.sqrt((vectors * vectors).sum(axis=1)) + 1e-300
    units = vectors / norms[:, None]
    cosines = (units @ units.T)[leads, lowers]
    heights = units @ target
    own = np.array([heights[leads] / norms[leads], heights[lowers] / norms[lowers]])
    other = np.array([heights[lowers] / norms[leads], heights[leads] / norms[lowers]])
    return np.asarray((own - cosines * other) / np.maximum(1 - cosines * cosines, _TINY))
