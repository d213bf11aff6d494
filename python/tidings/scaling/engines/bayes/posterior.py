"""The posterior: which growth the data favour, how probably, and what to expect at any size.

It is held as weighted points, one for each candidate and node of its share, so that every question
is a sum: the probability of a growth, of a limit being kept, the distribution of the value at a
size. The growth that is named is the one with the most probability in and closely around it (the
same logarithms aside, an exponent within 1/4), so that a tie between neighbours is settled among
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import free
from tidings.scaling.engines.bayes.evidence import Rows
from tidings.scaling.engines.bayes.forms import Forms
from tidings.scaling.terms import Term

Floats = NDArray[np.float64]

NEAR = 0.25 + 1e-9
NEAR_SHARE = 0.7
"""The weight of near neighbours' probability beside a term's own, where one is named."""

EXPECTED_SHARE = 0.5
"""Prior share of the expectation itself among all growth that keeps its limits."""

_NEGLIGIBLE = 1e-7
_LIKELY = 1e-4
_ROUNDING = 1e-6
_SPREAD = np.array([-3.2, -2.3, -1.65, -1.1, -0.55, 0.0, 0.55, 1.1, 1.65, 2.3, 3.2])
_SPREAD_WEIGHTS = np.exp(-(_SPREAD**2) / 2) * np.gradient(_SPREAD)
_SPREAD_WEIGHTS /= _SPREAD_WEIGHTS.sum()


@dataclass(frozen=True)
class Points:
    """Weighted points of the posterior; `row` and `node` are the candidate and its share.

    `alone` marks candidates with nothing beside the growing part. `level` is ln A, `variance` of
    it. `coefficients` are those of the last points, which are of forms.
    """

    row: NDArray[np.intp]
    node: Floats
    alone: NDArray[np.bool_]
    level: Floats
    variance: Floats
    residual: Floats
    weight: Floats
    coefficients: Floats | None = None


@dataclass(frozen=True)
class Posterior:
    """The evidence for the candidates. `log_evidence` and `log_prior` have one value per row.

    `group` is a row's leading term: an index into `terms`, or behind them the families of free
    exponents.
    """

    rows: Rows
    terms: tuple[Term, ...]
    group: NDArray[np.intp]
    log_evidence: Floats
    log_prior: Floats
    points: Points
    middle: float
    reference: float
    forms: Forms | None = None

    @cached_property
    def shares(self) -> Floats:
        """The probability of each row."""
        logs = self.log_prior + self.log_evidence
        mass = np.exp(logs - logs.max())
        return np.asarray(mass / mass.sum())

    @cached_property
    def _by_place(self) -> tuple[tuple[Term, ...], Floats]:
        """Leading terms and their probabilities; a free exponent is already named."""
        mass = self.shares
        known = len(self.terms)
        by_group = np.bincount(self.group, mass, known + len(free.LOGS))
        terms = list(self.terms)
        for family, logs_of in enumerate(free.LOGS):
            if by_group[known + family] > _NEGLIGIBLE:
                own = self.group == known + family
                power = free.named(self.rows.growing[own, 0], mass[own])
                terms.append(Term(power, Fraction(int(logs_of))))
                continue
            terms.append(self.terms[0])
        return tuple(terms), np.asarray(by_group, dtype=float)

    @property
    def first_form(self) -> int:
        """The first row that is a form."""
        return len(self.log_evidence) - (len(self.forms.leads) if self.forms else 0)

    def by_term(self) -> dict[Term, float]:
        """Return the probability of each leading term, the largest first."""
        summed: dict[Term, float] = {}
        for term, share in zip(*self._by_place):
            summed[term] = summed.get(term, 0.0) + float(share)
        return dict(sorted(summed.items(), key=lambda pair: (-pair[1], pair[0].order)))

    @cached_property
    def growth(self) -> Term:
        """The growth that the data favour."""
        terms, mass = self._by_place
        likely = np.flatnonzero(mass > _LIKELY)
        mass = mass[likely]
        exponents = np.array([_of(terms[place]) for place in likely])
        apart = np.abs(exponents[:, None, :] - exponents)
        same = apart.max(axis=2) == 0
        near = (apart[..., 0] <= NEAR) & (apart[..., 2] == 0)
        own = same @ mass
        chosen = int(likely[int((own + NEAR_SHARE * (near @ mass)).argmax())])
        return terms[chosen]

    def holds(self, expected: Term, lower: Term | None, upper: Term) -> float:
        """Return P(limits are kept), with even prior odds for and against the expectation."""
        return probability(*self.for_and_against(expected, lower, upper))

    def for_and_against(
        self, expected: Term, lower: Term | None, upper: Term
    ) -> tuple[float, float]:
        """Return ln of the mean evidence of growth that keeps the limits, and of all other."""
        kept = _at_most(self.rows.growing, upper)
        if lower is not None:
            kept &= ~_at_most(self.rows.growing, lower) | _equal(self.rows.growing, lower)
        exact = _equal(self.rows.growing, expected)
        prior, evidence = self.log_prior, self.log_evidence
        parts = [(EXPECTED_SHARE, exact), (1 - EXPECTED_SHARE, kept & ~exact)]
        within = average(prior, evidence, parts)
        return within, average(prior, evidence, [(1.0, ~kept)])

    def against(
        self, expected: Term, lower: Term | None, upper: Term
    ) -> tuple[NDArray[np.bool_], Floats]:
        """Return which points keep the limits, and weights with even odds, as in `holds`."""
        exponents = self.rows.growing[self.points.row]
        kept = _at_most(exponents, upper)
        if lower is not None:
            kept &= ~_at_most(exponents, lower) | _equal(exponents, lower)
        probability = self.holds(expected, lower, upper)
        weights = self.points.weight.copy()
        weights[_equal(exponents, expected)] *= len(self.terms)
        for side, share in ((kept, probability), (~kept, 1.0 - probability)):
            total = weights[side].sum()
            if total > 0:
                weights[side] *= share / total
        return kept, weights

    def values(self, sizes: Floats) -> tuple[Floats, Floats]:
        """Return ln of the expected value at each size (columns) at each point, and the weights."""
        points = self.points
        beside, growing = self.rows.parts(np.asarray(sizes, float), self.middle, math.inf)
        beside = beside[points.row]
        growing = growing[points.row]
        with np.errstate(divide="ignore", over="ignore"):
            mixed = np.logaddexp(np.log(beside), points.node[:, None] + growing)
        shapes = np.where(points.alone[:, None], growing, mixed)
        if self.forms and points.coefficients is not None and len(points.coefficients):
            first = len(points.row) - len(points.coefficients)
            form = points.row[first:] - self.first_form
            shapes[first:] = self.forms.log_values(form, points.coefficients, np.asarray(sizes))
        return shapes + points.level[:, None] + self.reference, points.weight

    def growing_share(self, size: float) -> float:
        """Return the share of the growing part in the value at a size, of the likeliest point."""
        best = int(self.points.weight.argmax())
        if self.points.alone[best] or self.points.row[best] >= self.first_form:
            return 1.0
        beside, growing = self.rows.parts(np.array([size]), self.middle, math.inf)
        row = self.points.row[best]
        odds = float(self.points.node[best] + growing[row, 0] - np.log(beside[row, 0]))
        return 1.0 / (1.0 + math.exp(min(max(-odds, -700.0), 700.0)))

    def quantiles(self, size: float, shares: Floats, extra_variance: float = 0.0) -> Floats:
        """Return quantiles of ln of the value at a size."""
        logs, weights = self.values(np.array([size]))
        spread = np.sqrt(self.points.variance + extra_variance)
        spots = (logs + spread[:, None] * _SPREAD).ravel()
        masses = (weights[:, None] * _SPREAD_WEIGHTS).ravel()
        order = spots.argsort(kind="stable")
        spots, masses = spots[order], masses[order]
        cumulated = np.cumsum(masses) - masses / 2
        return np.asarray(np.interp(np.asarray(shares) * masses.sum(), cumulated, spots))


def probability(within: float, beyond: float) -> float:
    """Return the probability of the first of two hypotheses by ln of their evidence."""
    if beyond == -math.inf:
        return 1.0
    return float(1.0 / (1.0 + math.exp(min(max(beyond - within, -700.0), 700.0))))


def _key(exponents: Floats) -> Floats:
    """Return one number per row that orders (power, logs, rate) by growth at large sizes."""
    return np.asarray(exponents @ np.array([1e3, 1.0, 1e7]))


def _at_most(exponents: Floats, term: Term) -> NDArray[np.bool_]:
    return np.asarray(_key(exponents) <= _key(_of(term)) + _ROUNDING)


def _equal(exponents: Floats, term: Term) -> NDArray[np.bool_]:
    return np.asarray(np.abs(_key(exponents) - _key(_of(term))) <= _ROUNDING)


def _of(term: Term) -> Floats:
    return np.array([float(term.power), float(term.logs), float(term.rate)])


def average(prior: Floats, evidence: Floats, parts: list[tuple[float, NDArray[np.bool_]]]) -> float:
    """Return ln of the prior-weighted mean evidence, with given shares for parts of the rows."""
    present = [(share, rows) for share, rows in parts if rows.any()]
    total = sum(share for share, _ in present)
    logs = [math.log(share / total) + _mean(prior[rows], evidence[rows]) for share, rows in present]
    return float(np.logaddexp.reduce(np.array(logs))) if logs else -math.inf


def _mean(prior: Floats, evidence: Floats) -> float:
    return float(np.logaddexp.reduce(prior + evidence) - np.logaddexp.reduce(prior))
