"""Forms: sums of terms some of which are subtracted, for counts without noise.

Comparisons of a bubble sort are n(n-1)/2, of a merge sort n log n - n + 1, moves of the towers of
Hanoi 2^n - 1: exact, and with negative coefficients. Other candidates have positive ones, because
in noise a subtracted term fits anything. So forms are weighed only where values show their trace:
the repetitions of a size are equal or nearly so, and no other candidate has hit them exactly.

A form is a leading term with up to four slower ones, linear in its coefficients: all forms are
fitted at once, by least squares of relative deviations. Evidence is comparable to that of other
candidates: Laplace's approximation over the logarithms of the slower terms' shares, which have the
same prior, with either sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes.candidates import pair_share
from tidings.scaling.engines.bayes.evidence import Problem
from tidings.scaling.terms import CONSTANT, Term, log_values_of

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Which = NDArray[np.bool_]

LARGEST_SD = 0.003
"""Scatter of a size's mean above which subtracted terms are not looked for."""

EXACT = 1e-7
"""Where another candidate's residuals are below this, it is exact already."""

PRIOR = 0.03
"""Prior probability of all forms together."""

_SHARES = {2: 0.5, 3: 0.35, 4: 0.1, 5: 0.05}
_LOWER = tuple(
    Term.of(*parts)
    for parts in ((0,), (0, 1), ("1/2",), (1,), (1, 1), ("3/2",), (2,), (2, 1), (3,))
)
_POLYNOMIAL = tuple(Term.of(power) for power in range(5))
_LOGARITHMIC = tuple(Term.of(*parts) for parts in ((1, 1), (1,), (0, 1), (0,)))
_LEADS_DENOMINATOR = 3
_HALVING = {
    Term.of("1.58496"): (math.log2(3), 0.0, 0.0),
    Term.of("2.80735"): (math.log2(7), 0.0, 0.0),
}
_SIMPLE = 24
_NEAR_SDS = 4.0
"""A coefficient is written as a fraction up to 1/24 that is so near, in standard deviations."""
_LEAST_SHARE = 0.1
"""A leading term must reach a tenth of each other at some size, as in pairs."""
_KEPT = 25.0
_TINY = 1e-300
_NOTHING = 1e-30
_CLIP = 300.0


@dataclass(frozen=True)
class Forms:
    """Forms that are likely: terms' exponents and coefficients (padded by zeros), lead first.

    `leads` are indices of the candidates' terms; `roots` the columns of a square root of the
    coefficients' covariance.
    """

    exponents: Floats
    coefficients: Floats
    roots: Floats
    leads: Places
    log_evidence: Floats
    log_prior: Floats
    squares: Floats

    def points(self) -> tuple[Places, Floats, Floats]:
        """Return form, coefficients and share of points that have a form's mean and covariance."""
        count = (np.abs(self.coefficients) > 0).sum(axis=1)
        form, listed, share = [], [], []
        for index, k in enumerate(count.tolist()):
            steps = math.sqrt(k) * self.roots[index, :, :k].T
            listed.append(self.coefficients[index] + np.concatenate([steps, -steps]))
            form.append(np.full(2 * k, index))
            share.append(np.full(2 * k, 0.5 / k))
        return np.concatenate(form), np.concatenate(listed), np.concatenate(share)

    def log_values(self, form: Places, coefficients: Floats, sizes: Floats) -> Floats:
        """Return ln of the value of points at sizes; a value below zero counts as almost none."""
        logs = log_values_of(self.exponents[form].reshape(-1, 3), sizes)
        logs = logs.reshape(len(form), -1, len(sizes))
        top = np.where(np.isfinite(logs), logs, -np.inf).max(axis=1, keepdims=True)
        sums = (coefficients[:, :, None] * np.exp(logs - top)).sum(axis=1)
        return np.asarray(np.log(np.maximum(sums, _TINY)) + top[:, 0])

    def text(self, index: int, scale: float, variable: str) -> str:
        """Return a form as text, such as ``0.5 n^2 - 0.5 n``, its values times `scale`."""
        used = np.flatnonzero(self.coefficients[index])
        sd = np.sqrt((self.roots[index] ** 2).sum(axis=1))[used]
        return written(
            self.exponents[index, used],
            scale * self.coefficients[index, used],
            scale * sd,
            variable,
        )


@dataclass(frozen=True)
class _Fit:
    """Forms of one number of terms: places of terms, coefficients, squares of residuals.

    `parts` are the terms' shares of the value at each size.
    """

    places: Places
    coefficients: Floats
    squares: Floats
    fitted: Which
    parts: Floats


def written(exponents: Floats, coefficients: Floats, sds: Floats, variable: str) -> str:
    """Return a sum as text, fastest term first; coefficients are simple where they may be."""
    terms = [Term.of(*map(float, row)) for row in exponents]
    parts = []
    for at in sorted(range(len(terms)), key=lambda at: terms[at].order, reverse=True):
        simple = float(Fraction(coefficients[at]).limit_denominator(_SIMPLE))
        near = abs(simple - coefficients[at]) <= _NEAR_SDS * sds[at]
        value = simple if near else float(coefficients[at])
        if value:
            size, term = f"{abs(value):.6g}", terms[at].text(variable)
            shown = size if term == "1" else term if size == "1" else f"{size} {term}"
            parts.append(f"{'-' if value < 0 else '+'} {shown}")
    return " ".join(parts).removeprefix("+ ")


def plain(sizes: Floats, logs: Floats, exponents: Floats) -> tuple[Floats, Floats] | None:
    """Return coefficients and their deviations of a sum that is exact, or None."""
    vectors = np.exp(log_values_of(exponents, sizes) - logs)
    norms = np.sqrt((vectors**2).sum(axis=1))
    found = np.linalg.lstsq((vectors / norms[:, None]).T, np.ones(len(sizes)), rcond=None)[0]
    left = np.abs((found / norms) @ vectors - 1).max()
    return (found / norms, 10 * EXACT / norms) if left <= EXACT else None


def find(problem: Problem, terms: tuple[Term, ...], expected: Term | None) -> Forms | None:
    """Return the likely forms, if there are any."""
    groups = [places for places in _places(terms, expected) if places.shape[1] < len(problem.sizes)]
    if not groups:
        return None
    exponents = np.array([_precise(term) for term in terms])
    in_pairs = np.array([pair_share(term) > 0 for term in terms])
    no_growth = np.array([term.is_constant for term in terms])
    found = []
    for places in groups:
        used = np.unique(places)
        vectors = np.zeros((len(terms), len(problem.sizes)))
        logs = log_values_of(exponents[used], problem.sizes) - problem.logs
        vectors[used] = np.exp(np.minimum(logs, _CLIP))
        fit = _fitted(problem, vectors, places)
        known = _known(fit.coefficients, places, in_pairs, no_growth)
        fit = replace(fit, fitted=fit.fitted & ~known)
        found.append((fit, _log_evidence(problem, fit)))
    best = max(float(evidence.max()) for _, evidence in found)
    if best == -math.inf:
        return None
    made = [_made(problem, exponents, fit, ev, best) for fit, ev in found]
    return _joined([one for one in made if one is not None])


def _precise(term: Term) -> tuple[float, float, float]:
    """Return a term's exponents; log2 3 and log2 7, whose names are rounded, in full."""
    return _HALVING.get(term) or (float(term.power), float(term.logs), float(term.rate))


@lru_cache(maxsize=64)
def _places(terms: tuple[Term, ...], expected: Term | None) -> tuple[Places, ...]:
    """Return the forms as indices of terms, lead first: one array for each number of terms."""
    index = {term: at for at, term in enumerate(terms)}
    leads = [term for term in terms if _leads(term) or term == expected]
    lower = [term for term in _LOWER if term in index]
    listed: dict[int, set[tuple[Term, ...]]] = {2: set(), 3: set(), 4: set(), 5: set()}
    for lead in leads:
        slower = [term for term in lower if term < lead]
        if lead.rate > 0 and lead.power > 0:
            slower.append(Term(rate=lead.rate))
        for count in (1, 2):
            listed[count + 1] |= {(lead, *some) for some in combinations(slower, count)}
    for degree in (3, 4):
        listed[degree + 1].add(_POLYNOMIAL[degree::-1])
    listed[4] |= {_LOGARITHMIC, (_POLYNOMIAL[4], *_POLYNOMIAL[3:0:-1])}
    known = [sorted(s for s in some if all(t in index for t in s)) for some in listed.values()]
    return tuple(np.array([[index[t] for t in s] for s in some]) for some in known if some)


def _leads(term: Term) -> bool:
    """Whether a term may lead a form: the simpler ones, and products by halves."""
    if term in _HALVING:
        return True
    simple = term.power.denominator <= _LEADS_DENOMINATOR and term.logs in (0, 1, 2)
    return term > CONSTANT and simple and term.rate >= 0 and term.power >= 0


def _fitted(problem: Problem, vectors: Floats, places: Places) -> _Fit:
    """Fit all forms of one number of terms: the Gram-Schmidt process, twice, for all at once."""
    root = np.sqrt(problem.weights)
    columns = (vectors * root)[places]
    norms = np.sqrt((columns**2).sum(axis=2, keepdims=True)) + _TINY
    units = columns / norms
    count = places.shape[1]
    basis = np.zeros_like(units)
    triangle = np.zeros((len(places), count, count))
    for at in range(count):
        rest = units[:, at].copy()
        for _ in range(2):
            along = np.einsum("fkn,fn->fk", basis[:, :at], rest)
            triangle[:, :at, at] += along
            rest -= np.einsum("fk,fkn->fn", along, basis[:, :at])
        length = np.sqrt((rest**2).sum(axis=1))
        triangle[:, at, at] = length
        basis[:, at] = rest / (length + _TINY)[:, None]
    heights = basis @ root
    solved = np.zeros_like(heights)
    for at in range(count - 1, -1, -1):
        above = np.einsum("fk,fk->f", triangle[:, at, at + 1 :], solved[:, at + 1 :])
        solved[:, at] = (heights[:, at] - above) / (triangle[:, at, at] + _TINY)
    coefficients = solved / norms[:, :, 0]
    parts = coefficients[:, :, None] * vectors[places]
    total = parts.sum(axis=1)
    independent = triangle[:, np.arange(count), np.arange(count)].min(axis=1) > 1e-9
    squares = problem.residuals(problem.logs + np.log(np.maximum(total, _TINY)))[1]
    fitted = independent & (coefficients[:, 0] > 0) & (total > 0).all(axis=1)
    fitted &= _leading(parts)
    shares = parts / np.where(total > 0, total, 1.0)[:, None, :]
    return _Fit(places, coefficients, squares, fitted, shares)


def _leading(parts: Floats) -> Which:
    lead, others = np.abs(parts[:, :1]), np.abs(parts[:, 1:])
    shares = (lead / (others + _TINY)).max(axis=2).min(axis=1)
    return np.asarray(shares >= _LEAST_SHARE)


def _known(coefficients: Floats, places: Places, in_pairs: Which, no_growth: Which) -> Which:
    """Whether forms are candidates already: a term and a constant or lower one, both positive.

    A sum of three is one as well, but its constant is searched for near its lower term only.
    """
    if places.shape[1] > 2:
        return np.zeros(len(places), bool)
    listed = in_pairs[places].all(axis=1) | no_growth[places[:, 1]]
    return np.asarray((coefficients > 0).all(axis=1) & listed)


def _log_evidence(problem: Problem, fit: _Fit) -> Floats:
    count = fit.places.shape[1]
    noise = problem.noise
    slower = fit.parts[:, 1:]
    middle = len(problem.sizes) // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.log(np.abs(slower) + _NOTHING) - np.log(np.abs(fit.parts[:, :1]) + _NOTHING)
        at_middle = apart[:, :, middle]
        scale = 1.0 + 0.2 * (apart.max(axis=2) - apart.min(axis=2))
        z = np.abs(at_middle / scale)
        prior = (-z - 2 * np.log1p(np.exp(-z)) - np.log(scale)).sum(axis=1)
    slopes = slower - (slower @ problem.weights)[..., None]
    sharp = np.einsum("fin,fjn,n->fij", slopes, slopes, problem.weights) * problem.count_weight
    sharp = sharp * (2 * noise.slope(fit.squares))[:, None, None]
    sharp += np.eye(count - 1) / (scale[:, None, :] ** 2)
    sharp = np.where(fit.fitted[:, None, None], sharp, np.eye(count - 1))
    volume = 0.5 * (count - 1) * math.log(2 * math.pi) - 0.5 * np.linalg.slogdet(sharp)[1]
    logs = noise.log_likelihood(fit.squares) + prior + volume - (count - 1) * math.log(2)
    spare = len(problem.sizes) - count
    hit = fit.squares <= spare * LARGEST_SD**2
    return np.where(fit.fitted & hit & np.isfinite(logs), logs, -np.inf)


def _made(
    problem: Problem, exponents: Floats, fit: _Fit, evidence: Floats, best: float
) -> Forms | None:
    kept = np.flatnonzero(evidence > best - _KEPT)
    if not len(kept):
        return None
    places, count, most = fit.places[kept], fit.places.shape[1], max(_SHARES)
    # Near the best coefficients ln f is linear in them: its derivatives are parts / coefficient.
    slopes = fit.parts[kept] / fit.coefficients[kept][:, :, None]
    sharp = np.einsum("fin,fjn,n->fij", slopes, slopes, problem.weights) * problem.count_weight
    size = np.sqrt(np.einsum("fii->fi", sharp))
    scaled = sharp / size[:, :, None] / size[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    sd = np.sqrt(problem.noise.variance(fit.squares[kept]))[:, None, None]
    roots = vectors / np.sqrt(np.maximum(values, 1e-14))[:, None, :] / size[:, :, None] * sd
    padded = np.zeros((len(kept), most, 3))
    padded[:, :count] = exponents[places]
    coefficients = np.zeros((len(kept), most))
    coefficients[:, :count] = fit.coefficients[kept]
    wide = np.zeros((len(kept), most, most))
    wide[:, :count, :count] = roots
    prior = math.log(PRIOR * _SHARES[count] / len(fit.places))
    return Forms(
        padded, coefficients, wide, places[:, 0], evidence[kept],
        np.full(len(kept), prior), fit.squares[kept],
    )  # fmt: skip


def _joined(parts: list[Forms]) -> Forms:
    names = Forms.__dataclass_fields__
    return Forms(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
