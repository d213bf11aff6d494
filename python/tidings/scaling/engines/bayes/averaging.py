"""Averaging: from the evidence for many candidates to probabilities, odds and quantiles.

Posteriors of growth in one parameter and in two are both a log prior and a log evidence for each
candidate; what is computed from these alone stands here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Which = NDArray[np.bool_]

NEAR = 0.25 + 1e-9
NEAR_SHARE = 0.4
"""The weight of near neighbours' probability beside a term's own, where one is named."""

EXPECTED_SHARE = 0.5
"""Prior share of the expectation itself among all growth that keeps its limits."""


def shares(prior: Floats, evidence: Floats) -> Floats:
    """Return the probability of each candidate."""
    logs = prior + evidence
    mass = np.exp(logs - logs.max())
    return np.asarray(mass / mass.sum())


def for_and_against(
    prior: Floats,
    evidence: Floats,
    kept: Which,
    exact: Which,
    expected_share: float = EXPECTED_SHARE,
    beyond: Floats | float = 0.0,
) -> tuple[float, float]:
    """Return ln of the mean evidence of growth that keeps the limits, and of all other.

    `exact` is the expectation itself, which has a share of its own of what is kept. `beyond` is
    added to ln of the prior of growth that does not keep the limits.
    """
    parts = [(expected_share, exact & kept), (1 - expected_share, kept & ~exact)]
    within = average(prior, evidence, parts)
    return within, average(prior + beyond, evidence, [(1.0, ~kept)])


def average(prior: Floats, evidence: Floats, parts: list[tuple[float, Which]]) -> float:
    """Return ln of the prior-weighted mean evidence, with given shares for parts of the rows."""
    present = [(share, rows) for share, rows in parts if rows.any()]
    total = sum(share for share, _ in present)
    logs = [math.log(share / total) + _mean(prior[rows], evidence[rows]) for share, rows in present]
    return float(np.logaddexp.reduce(np.array(logs))) if logs else -math.inf


def _mean(prior: Floats, evidence: Floats) -> float:
    return float(np.logaddexp.reduce(prior + evidence) - np.logaddexp.reduce(prior))


def probability(within: float, beyond: float) -> float:
    """Return the probability of the first of two hypotheses by ln of their evidence."""
    if beyond == -math.inf:
        return 1.0
    return float(1.0 / (1.0 + math.exp(min(max(beyond - within, -700.0), 700.0))))


def quantiles(spots: Floats, masses: Floats, at: Floats) -> Floats:
    """Return quantiles of weighted values."""
    order = spots.argsort(kind="stable")
    spots, masses = spots[order], masses[order]
    cumulated = np.cumsum(masses) - masses / 2
    return np.asarray(np.interp(np.asarray(at) * masses.sum(), cumulated, spots))
