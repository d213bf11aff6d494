"""Fits: sums of terms in two parameters against values at points, many sums at once.

A model is a sum of up to four terms with positive coefficients. Relative deviations are linear in
these, so a weighted least-squares fit comes first; a few Gauss-Newton steps in the coefficients'
logarithms then fit the values' logarithms. Evidence is Laplace's approximation around that: the
overall scale integrates out (`noise`), and each other coefficient is a share relative to the
leading term's, whose logarithm has the logistic prior of the engine for one parameter.

A sum whose best coefficients are not all positive fits no better than one without those terms,
which is another model: it counts nothing itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.evidence import Problem

Floats = NDArray[np.float64]

LEAST_SHARE = 0.1
"""A leading term must reach a tenth of each other somewhere, as in one parameter."""

_ROUNDS = 5
_CLIP = 300.0
_RIDGE = 1e-10
_SMALLEST = 1e-7
_LARGEST_STEP = 1.5


@dataclass(frozen=True)
class Fits:
    """Models of the same number of terms: `logs` of their coefficients, evidence, squares.

    `roots` are square roots of the coefficients' covariance, for noise of variance one.
    """

    logs: Floats
    log_evidence: Floats
    squares: Floats
    roots: Floats


def fitted(problem: Problem, terms: Floats, leads: int, middle: int) -> Fits:
    """Fit models (first axis) of terms (second) given as logarithms at points (third).

    The last `leads` terms of a model lead it. Shares have their prior at the point `middle`.
    """
    logs, positive = _linear(problem, terms)
    for _ in range(_ROUNDS):
        shares, total = _shares(logs, terms)
        slopes = problem.free(shares)
        sharp = np.einsum("min,mjn->mij", slopes * problem.weights, slopes)
        sharp += _RIDGE * np.eye(terms.shape[1])
        toward = np.einsum("min,mn->mi", slopes * problem.weights, problem.logs - total)
        step = np.linalg.solve(sharp, toward[..., None])[..., 0]
        logs = logs + np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
    shares, total = _shares(logs, terms)
    squares, _, *more = problem.fitted(total)
    evidence = _log_evidence(problem, shares, squares, middle)
    evidence += problem.likelihood(squares, *more)
    counted = positive & _leading(shares, leads) & np.isfinite(evidence)
    sharp = np.einsum("min,mjn->mij", shares * problem.weights, shares) * problem.count_weight
    values, vectors = np.linalg.eigh(sharp + _RIDGE * np.eye(terms.shape[1]))
    roots = vectors / np.sqrt(np.maximum(values, _RIDGE))[:, None, :]
    return Fits(logs, np.where(counted, evidence, -np.inf), squares, roots)


def _linear(problem: Problem, terms: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return logarithms of the least-squares coefficients, and whether all are positive.

    Beyond a jump by the factor J a sum of terms is to be 1/J of the value: 1/J is linear, too.
    """
    relative = terms - problem.logs
    top = relative.max(axis=2, keepdims=True)
    vectors = np.exp(np.maximum(relative - top, -_CLIP))
    goal = np.ones(terms.shape[2])
    if problem.above is not None:
        goal = 1.0 - problem.above
        jump = np.broadcast_to(-problem.above, (len(terms), 1, len(goal)))
        vectors = np.concatenate([vectors, jump], axis=1)
    weighted = vectors * problem.weights
    sharp = np.einsum("min,mjn->mij", weighted, vectors)
    scale = np.sqrt(np.einsum("mii->mi", sharp))
    sharp = sharp / scale[:, :, None] / scale[:, None, :] + _RIDGE * np.eye(vectors.shape[1])
    target = weighted @ goal / scale
    found = np.linalg.solve(sharp, target[..., None])[..., 0] / scale
    size = np.abs(found).max(axis=1, keepdims=True)
    positive = (found > _SMALLEST * size).all(axis=1)
    logs = np.log(np.maximum(found, _SMALLEST * size))[:, : terms.shape[1]]
    return logs - top[..., 0], positive


def _shares(logs: Floats, terms: Floats) -> tuple[Floats, Floats]:
    """Return the shares of terms in the value at each point, and the value's logarithm."""
    parts = logs[:, :, None] + terms
    total = np.logaddexp.reduce(parts, axis=1)
    return np.exp(parts - total[:, None, :]), total


def _leading(shares: Floats, leads: int) -> NDArray[np.bool_]:
    """Whether each leading term reaches a tenth of all others together somewhere."""
    lead = shares[:, shares.shape[1] - leads :]
    return np.asarray(((lead / (1 - lead + 1e-300)).max(axis=2) >= LEAST_SHARE).all(axis=1))


def _log_evidence(problem: Problem, shares: Floats, squares: Floats, middle: int) -> Floats:
    """Return ln of the evidence without the likelihood."""
    slower = shares[:, :-1]
    count = slower.shape[1]
    apart = np.log(slower + 1e-300) - np.log(shares[:, -1:] + 1e-300)
    scale = 1.0 + 0.2 * (apart.max(axis=2) - apart.min(axis=2))
    z = np.abs(apart[:, :, middle] / scale)
    prior = (-z - 2 * np.log1p(np.exp(-z)) - np.log(scale)).sum(axis=1)
    slopes = problem.centred(slower)
    sharp = np.einsum("min,mjn,n->mij", slopes, slopes, problem.weights) * problem.count_weight
    sharp = sharp * (2 * problem.noise.slope(squares))[:, None, None]
    sharp += np.eye(count) / (scale[:, None, :] ** 2)
    volume = 0.5 * count * math.log(2 * math.pi) - 0.5 * np.linalg.slogdet(sharp)[1]
    return np.asarray(prior + volume)
