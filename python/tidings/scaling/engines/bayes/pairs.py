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

    That is ln of the leading part and of the constant over the lower part (2 × pairs).
    """
    fits = fitted(problem, listed, linear)
    height = problem.noise.log_likelihood(fits.squares) + listed.log_pair_weights
    height[~fits.positive] -= _UNFIT
    best = _largest(height, WEIGHED)
    mass = np.exp(height - height[best[0]])
    share = mass[best].sum() / mass.sum()
    made = replace(
        listed,
        leads=listed.leads[best],
        lowers=listed.lowers[best],
        pair_weights=listed.pair_weights[best] / share,
    )
    parts = np.array(
        [
            linear.at_middle(made.leads, fits.lead[best]),
            fits.constant[best] * linear.constant[linear.middle],
        ]
    )
    begins = odds(parts, linear.at_middle(made.lowers, fits.lower[best]))
    return made, np.where(fits.positive[best], begins, 0.0)


def fitted(problem: Problem, listed: Candidates, linear: Linear | None = None) -> Fitted:
    """Fit each pair, beside a constant where that is positive."""
    linear = linear or Linear(problem, listed.exponents)
    used, both = listed.in_pairs
    terms = linear.terms.take(used, axis=0)
    vectors = np.array([linear.projected[0].take(used, axis=0), terms])
    (lead, lower), alone = _coefficients(vectors, (linear.projected[1], linear.target), both)
    along = linear.along.take(used)
    left = linear.level - lead * along.take(both[0]) - lower * along.take(both[1])
    mixed = (left > 0) & (lead > 0) & (lower > 0)
    lead, lower = np.where(mixed, lead, alone[0]), np.where(mixed, lower, alone[1])
    left = np.where(mixed, left, 0.0)
    # Sizes are rows here: hundreds of pairs along an array are faster than five sizes.
    columns = np.ascontiguousarray(terms.T)
    fit = np.maximum(lead, _TINY) * columns.take(both[0], axis=1)
    fit += np.maximum(lower, _TINY) * columns.take(both[1], axis=1)
    fit += left * linear.constant[:, None]
    fit /= linear.target[:, None]
    fit += 1e-300
    shapes = np.log(fit, out=fit)
    shapes += problem.logs[:, None]
    squares = problem.fitted(np.ascontiguousarray(shapes.T))[0]
    return Fitted(squares, (lead > 0) & (lower > 0), lead, lower, left)


def _coefficients(vectors: Floats, targets: tuple[Floats, Floats], both: Places) -> Floats:
    """Return the coefficients of two vectors nearest to a target, pair by pair.

    For either set of vectors (sets × terms × sizes) and its target. `both` are the places of
    leading terms and of lower ones (2 × pairs); the result is sets × 2 × pairs.
    """
    norms = np.sqrt((vectors * vectors).sum(axis=2)) + 1e-300
    units = vectors / norms[:, :, None]
    products = units @ units.transpose(0, 2, 1)
    cosines = products.reshape(2, -1).take(both[0] * norms.shape[1] + both[1], axis=1)[:, None]
    heights = np.array([unit @ target for unit, target in zip(units, targets)])
    norms_of, heights_of = norms.take(both, axis=1), heights.take(both, axis=1)
    solved = heights_of / norms_of
    solved -= cosines * (heights_of[:, ::-1] / norms_of)
    solved /= np.maximum(1 - cosines * cosines, _TINY)
    return np.asarray(solved)


def _largest(values: Floats, count: int) -> Places:
    """Return the places of the largest values, the largest first, the first of equal ones."""
    if len(values) > count:
        near = (values >= np.partition(values, -count)[-count]).nonzero()[0]
    else:
        near = np.arange(len(values))
    return np.asarray(near[(-values[near]).argsort(kind="stable")[:count]])
