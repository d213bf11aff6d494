"""Candidates: the terms in each parameter that models in two parameters are made of.

Along a line, with the other parameter fixed, every model is a constant and a term: whatever depends
on the other parameter alone is constant there. So the terms of a parameter are fitted to its lines,
each with two coefficients of its own, and those that fit best are kept. A model may have a second
term in a parameter, as n log p + p has: along lines of four values or more, sums of two terms are
fitted as well, and the best are kept. The lists and their prior weights are those of the engine for
one parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import pairs
from tidings.scaling.engines.bayes.candidates import Candidates, candidates
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.terms import CONSTANT, Term, log_values

Floats = NDArray[np.float64]

KEPT = 16
"""How many terms of each parameter are weighed, besides those that are expected."""

KEPT_PAIRS = 6
"""How many sums of two terms of each parameter are weighed."""

KEPT_PAIRS_EXPECTED = 2
"""How many more, of those that a term of the expectation leads: it may be in no listed sum."""

_FEWEST_FOR_A_PAIR = 4
_UNFIT = 50.0
_CLIP = 300.0
_TINY = 1e-300


@dataclass(frozen=True)
class Axis:
    """Terms in one parameter with prior weights, and their logarithms at the points.

    Logarithms are relative to those at the middle point. The constant is not among them. `leads`
    and `lowers` are the indices of sums of two terms.
    """

    terms: tuple[Term, ...]
    weights: Floats
    logs: Floats
    leads: NDArray[np.intp]
    lowers: NDArray[np.intp]


def axis(
    problem: Problem,
    at: Floats,
    lines: list[NDArray[np.intp]],
    middle: int,
    expected: list[Term],
) -> Axis:
    """Choose the terms of the parameter whose values at the points are `at`."""
    asked = [term for term in dict.fromkeys(expected) if not term.is_constant]
    listed = candidates(np.unique(at))
    weights = dict(zip(listed.terms, listed.weights.tolist()))
    del weights[CONSTANT]
    for term in asked:
        weights.setdefault(term, 0.5)
    terms = list(weights)
    logs = log_values(terms, at)
    finite = np.isfinite(logs[:, middle])
    logs = np.clip(logs - np.where(finite, logs[:, middle], 0.0)[:, None], -_CLIP, _CLIP)
    squares = sum(_squares(problem, logs, line) for line in lines)
    prior = np.array([weights[term] for term in terms])
    height = problem.noise.log_likelihood(np.asarray(squares)) + np.log(prior)
    best = {terms[i] for i in (-height).argsort(kind="stable")[:KEPT].tolist()}
    sums = _pairs(problem, at, lines, listed, KEPT_PAIRS)
    for term in asked:
        sums += _pairs(problem, at, lines, _led_by(listed, term), KEPT_PAIRS_EXPECTED)
    sums += [(lead, lower) for lead in asked for lower in asked if lower < lead]
    sums = list(dict.fromkeys(sums))
    best.update(asked, *sums)
    kept = [i for i, term in enumerate(terms) if term in best]
    index = {terms[i]: number for number, i in enumerate(kept)}
    leads, lowers = (np.array([index[s[k]] for s in sums], dtype=int) for k in (0, 1))
    return Axis(tuple(terms[i] for i in kept), prior[kept], logs[kept], leads, lowers)


def _led_by(listed: Candidates, lead: Term) -> Candidates:
    """Return the sums of a term that is expected and each slower one that is in sums at all."""
    lowers = [at for at in np.unique(listed.lowers).tolist() if listed.terms[at] < lead]
    exponents = [float(lead.power), float(lead.logs), float(lead.rate)]
    return replace(
        listed,
        terms=(*listed.terms, lead),
        exponents=np.vstack([listed.exponents, exponents]),
        leads=np.full(len(lowers), len(listed.terms)),
        lowers=np.array(lowers, dtype=int),
        pair_weights=np.ones(len(lowers)),
    )


def _pairs(
    problem: Problem,
    at: Floats,
    lines: list[NDArray[np.intp]],
    listed: Candidates,
    most: int,
) -> list[tuple[Term, Term]]:
    """Return the sums of two terms, the leading one first, that fit the lines best."""
    long = [line for line in lines if len(line) >= _FEWEST_FOR_A_PAIR]
    if not long or not len(listed.leads):
        return []
    squares = np.zeros(len(listed.leads))
    unfit = np.zeros(len(listed.leads))
    for line in long:
        weights = problem.noise.weights[line]
        part = Problem(at[line], problem.logs[line], replace(problem.noise, weights=weights))
        found = pairs.fitted(part, listed)
        squares += found.squares
        unfit += np.where(found.positive, 0.0, _UNFIT / len(long))
    height = problem.noise.log_likelihood(squares) + np.log(listed.pair_weights) - unfit
    best = (-height).argsort(kind="stable")[:most]
    return [(listed.terms[listed.leads[i]], listed.terms[listed.lowers[i]]) for i in best]


def _squares(problem: Problem, logs: Floats, line: NDArray[np.intp]) -> Floats:
    """Return the squares that a constant and each term leave along a line."""
    root = np.sqrt(problem.noise.weights[line])
    values = problem.logs[line]
    term = np.exp(logs[:, line] - logs[:, line].max(axis=1, keepdims=True) - values) * root
    constant = np.exp(-values) * root
    along = term @ constant
    own, other = (term * term).sum(axis=1), float(constant @ constant)
    right, level = term @ root, float(constant @ root)
    spread = np.maximum(own * other - along**2, _TINY)
    grown = (right * other - level * along) / spread
    fixed = (level * own - right * along) / spread
    alone = np.maximum(right / np.maximum(own, _TINY), 0.0)
    both = (grown > 0) & (fixed > 0)
    grown = np.where(both, grown, np.where(grown > 0, alone, 0.0))
    fixed = np.where(both, fixed, np.where(grown > 0, 0.0, level / other))
    left = root - grown[:, None] * term - fixed[:, None] * constant
    return np.asarray((left * left).sum(axis=1))
