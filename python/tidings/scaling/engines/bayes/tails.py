"""Tails: how far out an interval ends, so that its coverage is as stated in every kind of growth.

The posterior's own quantiles achieve that on average. A simple power that fits is usually the
growth, and all other candidates only widen its interval. An unusual exponent or a sum of two terms
that fits may equally be another one, and no candidate is quite the growth. So each kind has an
exponent e, and an interval of probability `level` leaves (1 - level)^e / 2 beyond either bound: at
e = 1 the stated probability, above 1 a wider interval, and at level 0 the median whatever e is. The
exponent of a posterior is the mean over kinds, by their probabilities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.posterior import Posterior

Floats = NDArray[np.float64]

POWER = 0.53
"""A term alone or beside a constant: x^a, where a is positive and in quarters or thirds."""

POWER_LOG = 0.94
"""The same with logarithms beside it."""

CONSTANT = 0.73
"""No growth at all."""

ODD = 0.68
"""x^a with any other positive a."""

SUM = 3.7
"""All sums of two terms."""

LOGARITHM = 1.38
"""Logarithms alone."""

DECAY = 0.94
EXPONENTIAL = 0.98

# Fitted to the coverage by family, at 4 and at 64 times the largest size, as by tails.py, to
# 4,000 cases each on lists that no table is of, of random seeds 22000 and 23000 and following.
# SUM stays below the 4.0 that fits best: from 3.8 on, forecasts of exact counts are less exact.

EXPONENTS = np.array([POWER, POWER_LOG, CONSTANT, ODD, SUM, LOGARITHM, DECAY, EXPONENTIAL])
"""The kinds' exponents, in the order of `kinds`."""

_MULTIPLE = 12
"""The common denominator of quarters, thirds and halves."""
_ROUNDING = 1e-9


def exponent(posterior: Posterior) -> float:
    """Return the mean exponent of the tails of a posterior."""
    return float(kinds(posterior) @ EXPONENTS)


def kinds(posterior: Posterior) -> Floats:
    """Return the probability of each kind, in the order of `EXPONENTS`."""
    rows = posterior.rows
    power, logs, rate = rows.growing.T
    parts = _MULTIPLE * power
    listed = posterior.group < len(posterior.terms)
    simple = listed & (np.abs(parts - np.rint(parts)) < _ROUNDING)
    grows = (power > 0) & (rate == 0)
    kind = np.where(rate != 0, 7, 6)
    kind[grows & simple] = np.where(logs[grows & simple] == 0, 0, 1)
    kind[(power == 0) & (logs == 0) & (rate == 0)] = 2
    kind[grows & ~simple] = 3
    kind[(power == 0) & (logs > 0) & (rate == 0)] = 5
    kind[np.isfinite(rows.lower_scale)] = 4
    return np.bincount(kind, posterior.shares, len(EXPONENTS)).astype(float)
