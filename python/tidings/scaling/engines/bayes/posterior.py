"""The posterior: which growth the data favour, how probably, and what to expect at any size.

It is held as weighted points, one for each candidate and node of its share, so that every question
is a sum: the probability of a growth, of a limit being kept, the distribution of the value at a
size. The growth that is named is the one with the most probability in and closely around it (the
same logarithms aside, an exponent within 1/4), so that a tie between neighbours is settled among
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import averaging, free
from tidings.scaling.engines.bayes.averaging import NEAR, NEAR_SHARE, probability
from tidings.scaling.engines.bayes.evidence import Relative, Rows
from tidings.scaling.engines.bayes.forms import Forms
from tidings.scaling.terms import Term

Floats = NDArray[np.float64]

EXPECTED_SHARE = 0.7
"""Prior share of the expectation itself among all growth that keeps its limits."""

BEYOND_REACH = 0.7
"""Growth beyond a limit is less likely by e for so much more in the exponent of x.

Code that breaks an expectation is mostly a little worse than it was. All growth alike would make
little of it likely where nearly everything that is listed is beyond the limit, as for O(1).
"""

BEYOND_LOG = 0.1
BEYOND_EXPONENTIAL = 2.0
"""What a logarithm and an exponential count for as exponents of x, there."""

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

    `exponents` are those of `terms`. `group` is a row's leading term: an index into them, or behind
    them the families of free exponents.
    """

    rows: Rows
    terms: tuple[Term, ...]
    exponents: Floats
    group: NDArray[np.intp]
    log_evidence: Floats
    log_prior: Floats
    made_points: Callable[[], Points]
    middle: float
    reference: float
    forms: Forms | None = None

    @cached_property
    def points(self) -> Points:
        """The weighted points, made when they are first asked for."""
        return self.made_points()

    @cached_property
    def shares(self) -> Floats:
        """The probability of each row."""
        return averaging.shares(self.log_prior, self.log_evidence)

    @cached_property
    def _by_place(self) -> tuple[tuple[Term, ...], Floats, Floats]:
        """Leading terms, their exponents and probabilities; a free exponent is already named."""
        mass = self.shares
        known = len(self.terms)
        by_group = np.bincount(self.group, mass, known + len(free.LOGS))
        terms, exponents = list(self.terms), np.zeros((known + len(free.LOGS), 3))
        exponents[:known] = self.exponents
        for family, logs_of in enumerate(free.LOGS.tolist()):
            term, at = self.terms[0], tuple(self.exponents[0])
            if by_group[known + family] > _NEGLIGIBLE:
                own = self.group == known + family
                power = free.named(self.rows.growing[own, 0], mass[own])
                term, at = Term(power, Fraction(int(logs_of))), (float(power), logs_of, 0.0)
            terms.append(term)
            exponents[known + family] = at
        return tuple(terms), exponents, np.asarray(by_group, dtype=float)

    @property
    def first_form(self) -> int:
        """The first row that is a form."""
        return len(self.log_evidence) - (len(self.forms.leads) if self.forms else 0)

    def by_term(self) -> dict[Term, float]:
        """Return the probability of each leading term, the largest first."""
        summed: dict[Term, float] = {}
        terms, _, mass = self._by_place
        for term, share in zip(terms, mass.tolist()):
            summed[term] = summed.get(term, 0.0) + share
        # Terms ascend already, so that equal shares stay in the order of growth.
        return dict(sorted(summed.items(), key=lambda pair: -pair[1]))

    @cached_property
    def growth(self) -> Term:
        """The growth that the data favour."""
        terms, exponents, mass = self._by_place
        likely = np.flatnonzero(mass > _LIKELY)
        mass, (power, logs, rate) = mass[likely], exponents[likely].T
        apart = np.abs(power[:, None] - power)
        near = (apart <= NEAR) & (rate[:, None] == rate)
        same = near & (apart == 0) & (logs[:, None] == logs)
        chosen = int(likely[int(((same + NEAR_SHARE * near) @ mass).argmax())])
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
        beyond = _distance(self.rows.growing, upper)
        if lower is not None:
            beyond = np.minimum(beyond, _distance(self.rows.growing, lower))
        return averaging.for_and_against(
            self.log_prior, self.log_evidence, kept, exact, EXPECTED_SHARE, -beyond / BEYOND_REACH
        )

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
        beside, growing = self.rows.parts(Relative(np.asarray(sizes, float), self.middle), math.inf)
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
        beside, growing = self.rows.parts(Relative(np.array([size]), self.middle), math.inf)
        row = self.points.row[best]
        odds = float(self.points.node[best] + growing[row, 0] - np.log(beside[row, 0]))
        return 1.0 / (1.0 + math.exp(min(max(-odds, -700.0), 700.0)))

    def quantiles(self, size: float, shares: Floats, extra_variance: float = 0.0) -> Floats:
        """Return quantiles of ln of the value at a size."""
        logs, weights = self.values(np.array([size]))
        spread = np.sqrt(self.points.variance + extra_variance)
        spots = (logs + spread[:, None] * _SPREAD).ravel()
        masses = (weights[:, None] * _SPREAD_WEIGHTS).ravel()
        return averaging.quantiles(spots, masses, shares)


def _key(exponents: Floats) -> Floats:
    """Return one number per row that orders (power, logs, rate) by growth at large sizes."""
    return np.asarray(exponents @ np.array([1e3, 1.0, 1e7]))


def _at_most(exponents: Floats, term: Term) -> NDArray[np.bool_]:
    return np.asarray(_key(exponents) <= _key(_of(term)) + _ROUNDING)


def _equal(exponents: Floats, term: Term) -> NDArray[np.bool_]:
    return np.asarray(np.abs(_key(exponents) - _key(_of(term))) <= _ROUNDING)


def _distance(exponents: Floats, term: Term) -> Floats:
    """Return how far growth is from a term, as an exponent of x."""
    power, logs, rate = np.abs(exponents - _of(term)).T
    exponential = BEYOND_EXPONENTIAL * (1.0 + rate)
    return np.asarray(np.where(rate > _ROUNDING, exponential, power + BEYOND_LOG * logs))


def _of(term: Term) -> Floats:
    return np.array([float(term.power), float(term.logs), float(term.rate)])
